// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/norm_lowering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "models/lowering/lowering.h"

namespace orrery {
namespace norm_lowering_test {

constexpr std::int64_t kSequenceLength = 8;
constexpr std::int64_t kMicroBatch = 2;

Program lowered(Normalization normalization, const ParallelPlan& plan) {
    return lower({.num_layers = 2,
                  .hidden_size = 16,
                  .ffn_hidden_size = 32,
                  .num_attention_heads = 4,
                  .num_query_groups = 4,
                  .kv_channels = 4,
                  .seq_length = kSequenceLength,
                  .vocab_size = 32,
                  .normalization = normalization},
                 plan);
}

bool is_forward(const Program& program, const Op& op) {
    const KernelKind kind = program.kernel(op).kind;
    return kind == KernelKind::layernorm_forward || kind == KernelKind::rmsnorm_forward;
}
bool is_backward(const Program& program, const Op& op) {
    const KernelKind kind = program.kernel(op).kind;
    return kind == KernelKind::layernorm_backward || kind == KernelKind::rmsnorm_backward;
}

// How often each tensor of row statistics is written by norms and read by their backward passes.
struct StatisticsUses {
    int writes = 0;
    int reads = 0;
};
std::map<TensorId, StatisticsUses> statistics_uses(const Program& program) {
    std::map<TensorId, StatisticsUses> uses;
    const auto is_statistics = [&](const Operand& operand) {
        return program.tensors[index(operand.tensor)].name.ends_with(" statistics");
    };
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (op.kind() != OpKind::kernel) {
                continue;
            }
            for (std::uint32_t i = 0; i < op.num_operands; ++i) {
                const Operand& operand = program.operands[op.first_operand + i];
                if (is_forward(program, op) && is_statistics(operand)) {
                    EXPECT_EQ(operand.access, Access::write);
                    ++uses[operand.tensor].writes;
                } else if (is_backward(program, op) && is_statistics(operand)) {
                    EXPECT_EQ(operand.access, Access::read);
                    ++uses[operand.tensor].reads;
                }
            }
        }
    }
    return uses;
}

// The backward pass of each norm reads the statistics that its forward pass has written: four bytes
// a row and statistic, mean and deviation under LayerNorm, the root mean square under RMSNorm.
TEST(NormLowering, BackwardPassesReadTheRowStatisticsOfTheirForwardPass) {
    for (const auto& [normalization, bytes] :
         {std::pair{Normalization::layernorm, 8}, std::pair{Normalization::rmsnorm, 4}}) {
        for (const bool fused : {false, true}) {
            const Program program = lowered(normalization,
                                            {.micro_batch_size = kMicroBatch,
                                             .global_batch_size = kMicroBatch,
                                             .fused_norm = fused});
            const auto uses = statistics_uses(program);
            EXPECT_EQ(uses.size(), 5U);  // two a layer and the final norm
            for (const auto& [tensor, use] : uses) {
                EXPECT_EQ(use.writes, 1);
                EXPECT_EQ(use.reads, 1);
                const Tensor& statistics = program.tensors[index(tensor)];
                EXPECT_EQ(statistics.bytes.count(), kSequenceLength * kMicroBatch * bytes);
                EXPECT_EQ(statistics.lifetime, Lifetime::micro_batch);
            }
        }
    }
}

// A recomputed norm writes statistics that live as long as its backward pass needs them.
TEST(NormLowering, RecomputedNormsKeepNoStatisticsOfTheForwardPass) {
    const Program program = lowered(Normalization::layernorm,
                                    {.micro_batch_size = kMicroBatch,
                                     .global_batch_size = kMicroBatch,
                                     .recompute_granularity = Recompute::full});
    int kept = 0;
    int read = 0;
    for (const auto& [tensor, use] : statistics_uses(program)) {
        EXPECT_EQ(use.writes, 1);
        kept += program.tensors[index(tensor)].lifetime == Lifetime::micro_batch ? 1 : 0;
        read += use.reads;
    }
    EXPECT_EQ(kept, 1);  // the final norm's
    EXPECT_EQ(read, 5);
}

// The operators of an eager RMSNorm move 36 bytes an element of 16 bits, and those of its backward
// pass 92: 32 and 86 more than two kernels.
TEST(NormLowering, OperatorsOfAnEagerNormMoveWhatTheyReadAndWrite) {
    const auto bytes_of = [](bool eager) {
        const Program program = lowered(Normalization::rmsnorm,
                                        {.micro_batch_size = kMicroBatch,
                                         .global_batch_size = kMicroBatch,
                                         .fused_norm = false,
                                         .eager_norm = eager});
        std::int64_t bytes = 0;
        for (const Segment& segment : program.segments) {
            for (const Op& op : segment.ops) {
                bytes += op.kind() == OpKind::kernel ? program.kernel(op).bytes : 0;
            }
        }
        return bytes;
    };
    constexpr std::int64_t kNorms = 5;
    constexpr std::int64_t kElements = kSequenceLength * kMicroBatch * 16;
    EXPECT_EQ(bytes_of(true) - bytes_of(false), kNorms * kElements * (32 + 86));
}

// Sequence parallelism gives each rank its rows' statistics.
TEST(NormLowering, SequenceParallelRanksHaveTheStatisticsOfTheirRows) {
    const Program program = lowered(Normalization::layernorm,
                                    {.tensor_model_parallel_size = 4,
                                     .sequence_parallel = true,
                                     .micro_batch_size = kMicroBatch,
                                     .global_batch_size = kMicroBatch});
    const auto uses = statistics_uses(program);
    EXPECT_EQ(uses.size(), 5U);
    for (const auto& [tensor, use] : uses) {
        EXPECT_EQ(program.tensors[index(tensor)].bytes.count(),
                  kSequenceLength / 4 * kMicroBatch * 8);
    }
}

}  // namespace norm_lowering_test
}  // namespace orrery
