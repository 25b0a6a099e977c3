// SPDX-License-Identifier: Apache-2.0
#include "models/segments/quantised_operands.h"

#include <gtest/gtest.h>

#include <string_view>

#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

ParallelPlan in_fp8(bool saves_copies) {
    return {.precision = Dtype::fp8, .fp8_saved_inputs = saves_copies};
}

// The inputs of four products of a layer: norms (twice), attention's output, and the activation.
// The copies of the first three widths take half of the 16 bits, which are freed; attention's
// backward pass reads its output in 16 bits, too.
TEST(SavedInputs, AreCopiesInFp8) {
    const Transformer model = small_llama(4);
    const Program in_16_bits = verified(model, in_fp8(false));
    const Program copies = verified(model, in_fp8(true));
    const std::int64_t tokens = 4096;
    const std::int64_t saved_of_layer =
        tokens * (2 * model.hidden_size + model.ffn_hidden_size - model.hidden_size);
    EXPECT_EQ(activation_peak(in_16_bits) - activation_peak(copies), 4 * saved_of_layer);
}

// The same products and casts run, and weight gradients read the copies.
TEST(SavedInputs, ChangeNoWork) {
    const Transformer model = small_llama(4);
    const Program in_16_bits = verified(model, in_fp8(false));
    const Program copies = verified(model, in_fp8(true));
    for (const char* name : {"fc1", "fc1 wgrad", "fc1 cast", "fc2 cast", "proj cast"}) {
        EXPECT_DOUBLE_EQ(flop_of(in_16_bits, name), flop_of(copies, name)) << name;
        EXPECT_EQ(ops_called(in_16_bits, name).size(), ops_called(copies, name).size()) << name;
    }
    const auto reads_fp8 = [](const Program& program) {
        const Op& op = *ops_called(program, "fc1 wgrad").front();
        const Operand& x = program.operands[op.first_operand];
        return program.tensors[index(x.tensor)].dtype == Dtype::fp8;
    };
    EXPECT_TRUE(reads_fp8(copies));
    EXPECT_FALSE(reads_fp8(in_16_bits));
}

// Deferred products of weights read FP8 copies of gradients, so that these end with the backward
// pass that makes them.
TEST(SavedInputs, AreGradientsOfDeferredProducts) {
    const Transformer model = small_llama(4);
    const auto program = [&](bool saves_copies) {
        ParallelPlan plan = in_fp8(saves_copies);
        plan.pipeline_model_parallel_size = 2;
        plan.schedule = ScheduleKind::zero_bubble;
        plan.global_batch_size = 4;
        return verified(model, plan);
    };
    const Program in_16_bits = program(false);
    const Program copies = program(true);
    const auto gradient = [](const Program& p) {
        const Op& op = *ops_called(p, "fc1 wgrad").front();
        return p.tensors[index(p.operands[op.first_operand + 1].tensor)];
    };
    EXPECT_EQ(gradient(copies).dtype, Dtype::fp8);
    EXPECT_EQ(gradient(copies).lifetime, Lifetime::micro_batch);
    EXPECT_EQ(gradient(in_16_bits).dtype, Dtype::bf16);
    const auto lifetime = [](const Program& p, std::string_view name) {
        for (const Tensor& tensor : p.tensors) {
            if (tensor.name == name) {
                return tensor.lifetime;
            }
        }
        return Lifetime::step;
    };
    EXPECT_EQ(lifetime(copies, "activation backward"), Lifetime::slot);
    EXPECT_EQ(lifetime(in_16_bits, "activation backward"), Lifetime::micro_batch);
}

}  // namespace
}  // namespace orrery
