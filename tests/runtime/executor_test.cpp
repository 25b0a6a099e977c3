// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor.h"

#include <gtest/gtest.h>

#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

// A device that only writes down what it is asked to run.
class Recorder final : public Executor {
public:
    explicit Recorder(const Program& program) : Executor(program, RankId{0}) {}
    TensorView view(TensorId tensor, std::int32_t micro_batch) override {
        return rank_.instance(tensor, micro_batch);
    }
    ConstTensorView read(TensorId tensor, std::int32_t micro_batch) override {
        return rank_.instance(tensor, micro_batch);
    }
    Communicator* world() override { return nullptr; }
    std::string device_name() const override { return "recorder"; }

    std::vector<std::pair<Walk, const LaunchPlan*>> runs;

private:
    Result<void> run_launches(Walk walk, const LaunchPlan& plan) override {
        runs.emplace_back(walk, &plan);
        return {};
    }
};

TEST(Executor, PlansEachWalkOnce) {
    const Program program = lower(tiny_gpt(), tiny_plan());
    Recorder executor{program};
    ASSERT_TRUE(executor.run_step());
    ASSERT_TRUE(executor.run_forward());
    ASSERT_TRUE(executor.run_step());
    ASSERT_EQ(executor.runs.size(), 3u);
    EXPECT_EQ(executor.runs[0], executor.runs[2]);
    EXPECT_EQ(executor.runs[1].first, Walk::forward);
    EXPECT_NE(executor.runs[0].second, executor.runs[1].second);
}

TEST(Executor, HasWhatOutlivesSlotsOnly) {
    const Program program = lower(tiny_gpt(), tiny_plan());
    const Recorder executor{program};
    int outlive = 0;
    for (std::size_t t = 0; t < program.tensors.size(); ++t) {
        const bool has = executor.has(to_id<TensorId>(t)) || executor.has(to_id<TensorId>(t), 0);
        EXPECT_EQ(has, program.tensors[t].lifetime != Lifetime::slot) << program.tensors[t].name;
        outlive += has ? 1 : 0;
    }
    EXPECT_GT(outlive, 10);
}

}  // namespace
}  // namespace orrery
