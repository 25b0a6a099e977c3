// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/rotary_lowering.h"

#include <gtest/gtest.h>

#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

std::int64_t launches_of(const Program& program) {
    std::int64_t sum = 0;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            sum += op.launches;
        }
    }
    return sum;
}

TEST(RotaryLowering, IsOneKernelOrAChainOnAnFp32Copy) {
    const Transformer model = small_llama(1);
    const Program fused = verified(model, {});
    const Program eager = verified(model, {.eager_rope = true});
    EXPECT_TRUE(ops_called(fused, "rotary embedding in fp32").empty());
    EXPECT_EQ(ops_called(eager, "rotary embedding in fp32").size(), 1U);
    EXPECT_EQ(ops_called(eager, "rotary embedding back").size(), 1U);
    EXPECT_EQ(ops_called(eager, "rotary embedding backward back").size(), 1U);
    // Q and K of all tokens: read in 2 bytes, written in 4, twice 4 for the rotation, and back.
    std::int64_t bytes = 0;
    for (const char* name :
         {"rotary embedding in fp32", "rotary embedding", "rotary embedding back"}) {
        for (const Op* op : ops_called(eager, name)) {
            bytes += eager.kernel(*op).bytes;
        }
    }
    const std::int64_t width = (model.num_attention_heads + model.num_query_groups) * 64;
    EXPECT_EQ(bytes, model.seq_length * width * (6 + 8 + 6));
}

TEST(RotaryLowering, ACompilerFusesIt) {
    const Transformer model = small_llama(1);
    const Program compiled = verified(model, {.eager_rope = true, .compiled = true});
    EXPECT_TRUE(ops_called(compiled, "rotary embedding in fp32").empty());
}

// Three products for Q, K and V and two for gate and up: forward, and both gradients; the gradients
// of what they read are added up.
TEST(RotaryLowering, ProjectionsThatAreNotFusedTakeMoreCalls) {
    const Transformer model = small_llama(1);
    const Program fused = verified(model, {});
    const Program apart = verified(model, {.fused_projections = false});
    EXPECT_EQ(ops_called(apart, "projection gradient sum").size(), 2U + 1U);
    EXPECT_EQ(launches_of(apart) - launches_of(fused), 3 * (2 + 1) + 3);
    EXPECT_DOUBLE_EQ(flop_of(apart, "fc1"), flop_of(fused, "fc1"));
}

}  // namespace
}  // namespace orrery
