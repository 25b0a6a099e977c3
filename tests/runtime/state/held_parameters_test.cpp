// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/held_parameters.h"

#include <set>

#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

TEST(HeldParameters, AreTheModelsParametersOnce) {
    for (const Transformer& model : {tiny_gpt(), tiny_llama()}) {
        TinyRun run{model, tiny_plan()};
        std::int64_t elements = 0;
        std::set<std::string> names;
        for (const HeldParameter& p : held_parameters(run.executor())) {
            EXPECT_TRUE(names.insert(p.name).second) << p.name;
            EXPECT_EQ(p.block, ParameterBlock::whole(p.block.rows, p.block.columns));
            EXPECT_EQ(p.weight.data, run.view(p.name).data);
            EXPECT_EQ(p.own, (ElementRange{0, p.weight.size}));
            EXPECT_EQ(p.first_moment.size, p.weight.size);
            EXPECT_EQ(p.second_moment.size, p.weight.size);
            EXPECT_TRUE(p.master.empty());
            elements += p.weight.size;
        }
        EXPECT_EQ(elements, num_parameters(model));
    }
}

// After one step from zero the first moment is (1 - beta1) of the clipped gradient.
TEST(HeldParameters, FindTheMomentsOfEachWeight) {
    TinyRun run{tiny_gpt(), tiny_plan()};
    run.set(DeviceScalar::beta1, 0.5);
    run.set(DeviceScalar::clip_norm, 0);
    ASSERT_TRUE(run.executor().run_step());
    for (const HeldParameter& p : held_parameters(run.executor())) {
        const TensorView gradient = run.view(p.name + " gradient");
        bool any = false;
        for (std::int64_t i = 0; i < p.weight.size; ++i) {
            ASSERT_EQ(load(p.first_moment, i), 0.5f * load(gradient, i)) << p.name;
            any = any || load(gradient, i) != 0;
        }
        EXPECT_TRUE(any) << p.name;
    }
}

TEST(SetWeights, SetsTheMastersToo) {
    ParallelPlan plan = tiny_plan();
    plan.precision = Dtype::bf16;
    TinyRun run{tiny_gpt(), plan};
    for (const HeldParameter& p : held_parameters(run.executor())) {
        std::vector<float> whole(static_cast<std::size_t>(p.block.rows * p.block.columns));
        for (std::size_t i = 0; i < whole.size(); ++i) {
            whole[i] = 1.0f + static_cast<float>(i) * 0x1p-20f;
        }
        set_weights(p, whole);
        for (std::int64_t i = 0; i < p.weight.size; ++i) {
            const float value = whole[static_cast<std::size_t>(i)];
            ASSERT_EQ(load(p.master, i), value);
            ASSERT_EQ(load(p.weight, i), float_of_bf16(bf16_of_float(value)));
        }
    }
}

}  // namespace
}  // namespace orrery
