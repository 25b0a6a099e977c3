// SPDX-License-Identifier: Apache-2.0
// Products that take a GELU or a bias gradient with them, on the simulated device: whichever are
// used, the bits are the CPU's, since the simulated library rounds before the GELU.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/fused_products.h"
#include "tests/runtime/cuda/simulated_training.h"

namespace orrery {
namespace {

std::string fused_note(const std::vector<std::string>& notes) {
    const auto line = std::ranges::find_if(
        notes, [](const std::string& note) { return note.find("GELU") != note.npos; });
    return line == notes.end() ? "" : *line;
}

TEST(CudaFusedProducts, TrainToTheBitsOfTheCpuWhereverTheyAreUsed) {
    for (const Dtype precision : {Dtype::fp32, Dtype::bf16}) {
        ParallelPlan plan = tiny_plan();
        plan.precision = precision;
        simulated::begin_device(5);
        simulated::fuse_always(true);
        std::vector<std::string> notes;
        const TrainedRank gpu = train_rank(tiny_gpt(), plan, DeviceChoice::cuda, nullptr, &notes);
        auto products = simulated::counts().fused_products;
        for (const GemmEpilogue epilogue :
             {GemmEpilogue::gelu, GemmEpilogue::dgelu, GemmEpilogue::bias_gradient}) {
            EXPECT_GT(products[epilogue], 4);
        }
        EXPECT_EQ(gpu, train_rank(tiny_gpt(), plan, DeviceChoice::cpu, nullptr));
        EXPECT_NE(fused_note(notes).substr(0, 1), "0") << fused_note(notes);
    }
}

TEST(CudaFusedProducts, AreNotUsedWhereTheyAreWrong) {
    simulated::begin_device(5);
    simulated::break_epilogues(true);
    std::vector<std::string> notes;
    const TrainedRank gpu =
        train_rank(tiny_gpt(), tiny_plan(), DeviceChoice::cuda, nullptr, &notes);
    EXPECT_EQ(gpu, train_rank(tiny_gpt(), tiny_plan(), DeviceChoice::cpu, nullptr));
    EXPECT_EQ(fused_note(notes).substr(0, 4), "0 of") << fused_note(notes);
}

// The simulated device times what its CPU does: some are used or none, and the bits are the same.
TEST(CudaFusedProducts, AreTriedOnTheDevice) {
    simulated::begin_device(6);
    std::vector<std::string> notes;
    const TrainedRank gpu =
        train_rank(tiny_gpt(), tiny_plan(), DeviceChoice::cuda, nullptr, &notes);
    EXPECT_EQ(simulated::counts().fused_products.size(), 3u);
    EXPECT_NE(fused_note(notes), "");
    EXPECT_EQ(gpu, train_rank(tiny_gpt(), tiny_plan(), DeviceChoice::cpu, nullptr));
}

// Both ops of a fused product have times: shares of its own.
TEST(CudaFusedProducts, ShareTheirTime) {
    simulated::begin_device(7);
    simulated::fuse_always(true);
    const TrainingJob job{.device = DeviceChoice::cuda, .steps = 50, .seed = 5, .eval_steps = 0};
    auto trainer = Trainer::create(tiny_gpt(), tiny_plan(), job, some_text());
    ASSERT_TRUE(trainer);
    OpTimes times{(*trainer)->program()};
    (*trainer)->executor().measure(&times);
    for (int s = 0; s < 4; ++s) {
        ASSERT_TRUE((*trainer)->step());
    }
    const Profile profile = times.profile("simulated");
    EXPECT_TRUE(std::ranges::any_of(profile, [](const ProfileEntry& row) {
        return row.call.kind == KernelKind::gelu_forward && row.median.seconds() > 0;
    }));
}

}  // namespace
}  // namespace orrery
