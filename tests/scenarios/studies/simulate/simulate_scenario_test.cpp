// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/simulate_scenario.h"

#include <gtest/gtest.h>

#include <numbers>

#include "models/plan/flops.h"
#include "models/transformer/transformer.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/report/trace/perfetto_trace.h"
#include "scenarios/studies/validate/published_cases.h"
#include "tests/scenarios/each_small_scenario.h"
#include "tests/scenarios/small_scenarios.h"
#include "tests/test_folder.h"

namespace orrery {
namespace simulate_scenario_test {

Answer answer_of(const Scenario& scenario, const SimulationOptions& options = {}) {
    auto answer = simulate_scenario(scenario, options);
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer ? *answer : Answer{};
}

class SimulateScenario : public EachSmallScenario {};

TEST_P(SimulateScenario, ItsFiguresFitTogether) {
    const Scenario& s = scenario;
    const Answer a = answer_of(s);
    EXPECT_EQ(a.ranks, s.cluster.num_gpus());
    EXPECT_EQ(a.parameters, num_parameters(s.model));
    const double seconds = a.iteration.seconds();
    EXPECT_NEAR(a.tokens_per_s * seconds,
                static_cast<double>(s.plan.global_batch_size * s.model.seq_length),
                1e-6 * a.tokens_per_s);
    const double peak = s.device.peak(s.plan.precision).per_second() * static_cast<double>(a.ranks);
    EXPECT_NEAR(a.mfu * peak * seconds, a.model_flops_per_step.count(), 1e-9 * peak);
    EXPECT_NEAR(a.hfu * peak * seconds, a.hardware_flops_per_step.count(), 1e-9 * peak);
    EXPECT_LE(a.mfu_causal, a.mfu);
    EXPECT_LE(a.mfu, a.hfu);
    EXPECT_LT(a.hfu, 1);
    EXPECT_GT(a.uncertainty, 0);
    EXPECT_LT(a.uncertainty, 1);
    EXPECT_EQ(a.critical_path.total(), a.iteration);
}

// Of software that no fitted step ran on nothing is known of the host either: the spread is that of
// whole steps, however little of this one the kernels are.
TEST(SimulateScenarioUncertainty, WidensWhereTheSoftwareWasNotSeen) {
    const auto rows =
        read_published_cases(ORRERY_SOURCE_DIR "/scenarios/catalogue/published/host_bound.csv");
    ASSERT_TRUE(rows);
    Scenario scenario = scenario_of(rows->front(), Catalogue{default_catalogue()}).value();
    SimulationOptions options;
    EfficiencyTable table;
    const auto set =
        [&](const char* name, const char* generation, const char* dtype, double value) {
            table.set(name, generation, dtype, {.value = value, .sigma = 0, .source = "test"});
        };
    set("step.residual", "*", "*", 0.05);
    set("step.residual.software", "*", "*", 0.3);
    set("step.residual.device", "*", "*", 0.4);
    set("step.seen.known", "ampere", "fp16", 1);
    options.step_table = table;
    scenario.software = "known-1.0";
    const Answer seen = answer_of(scenario, options);
    EXPECT_EQ(seen.unseen, Unseen::nothing);
    EXPECT_LT(seen.uncertainty, 0.06);
    scenario.software = "other";
    const Answer other = answer_of(scenario, options);
    EXPECT_EQ(other.unseen, Unseen::lineage);
    EXPECT_GE(other.uncertainty, 0.3);
    EXPECT_EQ(other.iteration, seen.iteration);
    scenario.device.generation = "hopper";
    EXPECT_EQ(answer_of(scenario, options).unseen, Unseen::device);
}

TEST_P(SimulateScenario, SharesAndSumsAreWhole) {
    const Answer a = answer_of(scenario);
    const CostSources& c = a.cost_sources;
    EXPECT_NEAR(c.measured + c.interpolated + c.roofline, 1, 1e-12);
    Bytes memory;
    for (const Bytes bytes : a.memory.of) {
        memory += bytes;
    }
    EXPECT_EQ(memory, a.memory.in_use);
    EXPECT_LE(a.memory.in_use, a.memory.peak);
    EXPECT_EQ(a.memory.fits, a.memory.peak <= a.memory.device);
    for (const LinkUse& use : a.network) {
        EXPECT_GT(use.max, 0) << use.link_class;
        EXPECT_LE(use.max, 1) << use.link_class;
        EXPECT_LE(use.mean, use.max + 1e-12) << use.link_class;
    }
    for (const CollectiveUse& use : a.collectives) {
        EXPECT_GT(use.count, 0) << use.name;
        EXPECT_GT(use.ranks, 0U) << use.name;
    }
}

TEST_P(SimulateScenario, FoldedAndUnfoldedTakeTheSameTime) {
    SimulationOptions unfolded;
    unfolded.fold = false;
    const Answer folded = answer_of(scenario);
    const Answer whole = answer_of(scenario, unfolded);
    EXPECT_EQ(folded.iteration, whole.iteration);
    EXPECT_EQ(folded.simulated_ops, whole.simulated_ops);
    EXPECT_EQ(whole.fold_classes, whole.ranks);
    EXPECT_LE(folded.fold_classes, whole.fold_classes);
}

INSTANTIATE_TEST_SUITE_P(All,
                         SimulateScenario,
                         ::testing::ValuesIn(named_small_scenarios()),
                         [](const auto& named) { return test_name(named.param); });

TEST(SimulateScenarioOptions, ACpuThatWasNeverProfiledIsUncertainByAFactorOfTwo) {
    const auto cpu = read_scenario(ORRERY_SOURCE_DIR "/scenarios/train-tiny-cpu.yaml");
    ASSERT_TRUE(cpu);
    const Answer a = answer_of(*cpu);
    EXPECT_TRUE(a.unprofiled_cpu);
    EXPECT_GE(a.uncertainty, std::numbers::ln2);
    EXPECT_FALSE(answer_of(small_scenario("gpu", {})).unprofiled_cpu);
}

TEST(SimulateScenarioOptions, RecomputationRaisesHfuAgainstMfu) {
    const Answer none = answer_of(small_scenario("none", {}));
    const Answer full = answer_of(small_scenario("full", {"plan.recompute_granularity=full"}));
    EXPECT_EQ(none.mfu, none.hfu);
    EXPECT_GT(full.hfu, 1.2 * full.mfu);
    EXPECT_GT(full.iteration, none.iteration);
    EXPECT_LT(full.memory.peak, none.memory.peak);
    EXPECT_EQ(full.model_flops_per_step.count(), none.model_flops_per_step.count());
}

// optim_grads frees gradients after the step's one reduction: its peak, in the last backward pass,
// is that of optim.
TEST(SimulateScenarioOptions, ShardingSavesMemoryStageByStage) {
    Bytes last = Bytes{INT64_MAX};
    for (const char* stage : {"no_shard", "optim", "optim_grads", "optim_grads_params"}) {
        const Answer a =
            answer_of(small_scenario(stage,
                                     {std::string{"plan.data_parallel_sharding_strategy="} + stage,
                                      "plan.overlap_grad_reduce=true",
                                      "plan.overlap_param_gather=true"}));
        // What tensors use: places leave gaps where gradients end among blocks of other lifetimes.
        if (std::string{stage} == "optim_grads") {
            EXPECT_LE(a.memory.in_use, last);
        } else {
            EXPECT_LT(a.memory.in_use, last) << stage;
        }
        last = a.memory.in_use;
    }
}

TEST(SimulateScenarioOptions, TheAnalyticNetworkIsNeverSlowedBySharing) {
    const std::vector<std::string> shared{"plan.pipeline_model_parallel_size=4",
                                          "cluster.fabric.nics_per_node=1",
                                          "plan.rank_order=tp-cp-pp-dp"};
    std::vector<std::string> analytic = shared;
    analytic.emplace_back("network=analytic");
    const Answer fluid = answer_of(small_scenario("fluid", shared));
    const Answer alone = answer_of(small_scenario("alone", analytic));
    EXPECT_EQ(alone.critical_path[Cause::network_contention], Time{});
    EXPECT_EQ(alone.rate_solves, 0);
    EXPECT_GT(fluid.rate_solves, 0);
    EXPECT_GT(fluid.iteration, alone.iteration);
    EXPECT_EQ(alone.network_model, "analytic");
}

TEST(SimulateScenarioOptions, ProgressGrowsFromZeroToOne) {
    double last = 0;
    int calls = 0;
    SimulationOptions options;
    options.progress = [&](double share) {
        EXPECT_GE(share, last);
        EXPECT_LE(share, 1);
        last = share;
        ++calls;
    };
    answer_of(small_scenario("x", {"plan.pipeline_model_parallel_size=4", "job.steps=200"}),
              options);
    EXPECT_GT(calls, 0);
}

TEST(SimulateScenarioOptions, ATraceChangesNoAnswer) {
    const TestFolder folder;
    const Scenario scenario = small_scenario("x", {"plan.pipeline_model_parallel_size=4"});
    SimulationOptions options;
    std::string file = (folder / "trace").string();
    options.trace = [&](const Program& program, const std::vector<TracedOp>& trace) {
        return write_perfetto_trace(file, program, trace);
    };
    const Answer traced = answer_of(scenario, options);
    EXPECT_EQ(traced.iteration, answer_of(scenario).iteration);
    EXPECT_GT(std::filesystem::file_size(folder / "trace"), 1'000U);
    file = (folder / "no/trace").string();
    const auto refused = simulate_scenario(scenario, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().where, file);
}

}  // namespace simulate_scenario_test
}  // namespace orrery
