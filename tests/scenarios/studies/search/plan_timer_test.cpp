// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/plan_timer.h"

#include <gtest/gtest.h>

#include <set>

#include "scenarios/studies/search/plan_space.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/models/changed_plans.h"
#include "tests/scenarios/small_scenarios.h"
#include "tests/scenarios/studies/search/timed_plans.h"

namespace orrery {
namespace {

// All plans of a space for 8 GPUs on 2 nodes, or some of them, evenly.
void expect_same_times(Scenario scenario, const PlanSpace& space, std::size_t most) {
    std::vector<PlanPoint> points;
    std::map<std::string, std::int64_t> refused;
    for_each_plan(
        space,
        scenario.model,
        scenario.plan,
        {scenario.cluster.num_gpus(), scenario.cluster.node.gpus_per_node},
        [&](PlanPoint point) { points.push_back(std::move(point)); },
        refused);
    scenario.network = NetworkFidelity::analytic;
    testing::TimedPlans timed{scenario};
    std::size_t folded = 0;
    std::size_t looked_at = 0;
    for (std::size_t i = 0; i < points.size(); i += 1 + points.size() / most) {
        scenario.plan = points[i].plan;
        const auto time = timed.timer.step_of(scenario.plan);
        ++looked_at;
        if (!time) {
            continue;
        }
        const auto answer = simulate_scenario(scenario);
        ASSERT_TRUE(answer);
        EXPECT_EQ(time->picoseconds(), answer->iteration.picoseconds())
            << answer->plan << ", point " << i << ", micro-batch " << scenario.plan.micro_batch_size
            << ", schedule " << static_cast<int>(scenario.plan.schedule) << ", sharding "
            << static_cast<int>(scenario.plan.data_parallel_sharding_strategy) << ", recompute "
            << static_cast<int>(scenario.plan.recompute_granularity) << ", overlap "
            << scenario.plan.overlap_p2p << scenario.plan.overlap_grad_reduce
            << scenario.plan.tp_comm_overlap;
        ++folded;
    }
    EXPECT_GE(folded * 2, looked_at) << "of " << points.size();
}

TEST(PlanTimer, GivesThePicosecondsOfTheSimulation) {
    expect_same_times(small_scenario("space", {}), {}, 250);
}

TEST(PlanTimer, GivesThePicosecondsOfRanksThatShareAKeyValueHead) {
    PlanSpace space;
    space.tensor_model_parallel_size = {4, 8};
    expect_same_times(small_scenario("heads", {"model.num_query_groups=2"}), space, 60);
}

TEST(PlanTimer, GivesThePicosecondsOfAFrameworksCalls) {
    expect_same_times(small_scenario("calls", {"plan.eager_framework=true"}), {}, 60);
}

// Pieces of overlapped products are one call of a framework, and a launch each: on a host this slow
// that counts.
TEST(PlanTimer, GivesThePicosecondsOfCallsLaunchesAndGraphsOfOneSpace) {
    Scenario scenario = small_scenario("pieces",
                                       {"plan.tensor_model_parallel_size=4",
                                        "plan.sequence_parallel=true",
                                        "plan.tp_comm_overlap=true"});
    scenario.network = NetworkFidelity::analytic;
    scenario.device.launch_cost = Time::picoseconds(40'000'000);
    scenario.device.graph_launch_cost = Time::picoseconds(30'000'000);
    testing::TimedPlans timed{scenario};
    const auto time = [&](bool eager_framework, bool cuda_graphs, bool compiled) {
        scenario.plan.eager_framework = eager_framework;
        scenario.plan.cuda_graphs = cuda_graphs;
        scenario.plan.compiled = compiled;
        const auto step = timed.timer.step_of(scenario.plan);
        EXPECT_TRUE(step) << step.error();
        const auto answer = simulate_scenario(scenario);
        EXPECT_EQ(step->picoseconds(), answer->iteration.picoseconds())
            << eager_framework << cuda_graphs << compiled;
        return *step;
    };
    const Time calls = time(true, false, false);
    const Time graph = time(true, true, false);
    const Time launches = time(false, false, false);
    EXPECT_GT(calls, launches);
    EXPECT_GT(launches, graph);
    EXPECT_EQ(time(false, true, false), graph);
    EXPECT_EQ(time(true, false, true), time(false, false, true));
    EXPECT_EQ(time(true, true, true), time(false, true, true));
}

// Without reduce_scatter ZeRO 1 reduces gradients to all ranks, and ZeRO 2 does not.
TEST(PlanTimer, GivesThePicosecondsOfGradientsThatAllRanksGet) {
    Scenario scenario = small_scenario("reduced", {"plan.reduce_scatter=false"});
    scenario.network = NetworkFidelity::analytic;
    testing::TimedPlans timed{scenario};
    const auto time = [&](ShardingStrategy strategy) {
        scenario.plan.data_parallel_sharding_strategy = strategy;
        const auto step = timed.timer.step_of(scenario.plan);
        EXPECT_TRUE(step) << step.error();
        EXPECT_EQ(step->picoseconds(), simulate_scenario(scenario)->iteration.picoseconds());
        return *step;
    };
    EXPECT_GT(time(ShardingStrategy::optim), time(ShardingStrategy::optim_grads));
}

// Rounds that are alike are left out.
TEST(PlanTimer, GivesThePicosecondsOfManyMicroBatches) {
    expect_same_times(small_scenario("rounds", {"plan.global_batch_size=512"}), {}, 60);
}

// Each flush fills the pipeline again. Rounds of one flush that are alike are left out, too.
TEST(PlanTimer, GivesThePicosecondsOfPipelinesThatDrainSeveralTimes) {
    for (const char* chunks : {"1", "2"}) {
        Scenario scenario = small_scenario(
            "flushes",
            {"plan.pipeline_model_parallel_size=4",
             std::string{"plan.virtual_pipeline_model_parallel_size="} + chunks,
             "plan.global_batch_size=256"});
        scenario.network = NetworkFidelity::analytic;
        testing::TimedPlans timed{scenario};
        Time before;
        for (const std::int64_t flushes : {1, 2, 4}) {
            scenario.plan.pipeline_flushes = flushes;
            const auto step = timed.timer.step_of(scenario.plan);
            ASSERT_TRUE(step) << step.error();
            EXPECT_EQ(step->picoseconds(), simulate_scenario(scenario)->iteration.picoseconds())
                << chunks << " chunks, " << flushes << " flushes";
            EXPECT_GT(*step, before);
            before = *step;
        }
    }
}

TEST(PlanTimer, RefusesParametersThatAreGatheredLayerByLayer) {
    const Scenario scenario =
        small_scenario("gathered", {"plan.data_parallel_sharding_strategy=optim_grads_params"});
    testing::TimedPlans timed{scenario};
    const auto step = timed.timer.step_of(scenario.plan);
    ASSERT_FALSE(step);
    EXPECT_EQ(step.error(), "parameters are gathered layer by layer");
}

TEST(PlanTimer, RefusesWhatFoldedStepsDoNotKnow) {
    const Scenario scenario =
        small_scenario("refused", {"plan.pipeline_model_parallel_size=2", "plan.overlap_p2p=true"});
    testing::TimedPlans timed{scenario};
    ASSERT_TRUE(timed.timer.step_of(scenario.plan));
    ParallelPlan plan = scenario.plan;
    plan.optimizer_cpu_offload = true;
    EXPECT_EQ(timed.timer.step_of(plan).error(), "the optimizer's state lies on the host");
    plan = scenario.plan;
    plan.tensor_model_parallel_size = 2;
    plan.stage_tensor_model_parallel_sizes = {2, 1};
    EXPECT_EQ(timed.timer.step_of(plan).error(), "stages have tensor-parallel sizes of their own");
}

TEST(PlanTimer, RefusesStepsThatOverlap) {
    const Scenario scenario = small_scenario("overlap",
                                             {"plan.pipeline_model_parallel_size=2",
                                              "plan.virtual_pipeline_model_parallel_size=2",
                                              "plan.data_parallel_sharding_strategy=optim",
                                              "plan.overlap_param_gather=true"});
    testing::TimedPlans timed{scenario};
    EXPECT_TRUE(timed.timer.step_of(scenario.plan));
    ParallelPlan plan = scenario.plan;
    plan.overlap_param_gather_with_optimizer_step = true;
    const auto step = timed.timer.step_of(plan);
    ASSERT_FALSE(step);
    EXPECT_EQ(step.error(), "steps overlap");
}

// Of models with experts, and of plans that the timer refuses.
constexpr const char* kNeverChanged[] = {
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
    "moe_token_dispatcher_type",
    "moe_shared_expert_overlap",
    "moe_router_load",
    "moe_router_load_alpha",
    "moe_router_load_seed",
    "moe_router_load_trace",
    "moe_expert_capacity_factor",
    "moe_pad_expert_input_to_capacity",
    "moe_dispatch_dtype",
    "moe_dispatcher_sms",
    "moe_router_fusion",
    "moe_permute_fusion",
    "moe_gradient_accumulation_fusion",
    "moe_fused_bias",
    "moe_fused_activation",
    "optimizer_offload_tier",
    "optimizer_offload_fraction",
    "delayed_param_update",
    "param_offload_tier",
    "param_offload_fraction",
    "grad_offload_tier",
    "offload_fp32_weights",
    "activation_offload_blocking",
    "distribute_saved_activations",
    "moe_expert_placement",
    "moe_lsh_compression_rate",
    "moe_pipeline_degree",
    "moe_mask_products",
    "moe_tile_overlap",
    "overlap_moe_expert_parallel_comm",
    "delay_wgrad_compute",
    "zero_quantized_gradients",
    "zero_quantized_gradients_uneven",
    "fp8_param_gather",
    "fp8_dot_product_attention",
    "vocabulary_parallel",
    "reduce_scatter",
    "reduce_every_micro_batch",
    "zero_copies_parts",
    "clear_lp_grads",
    "zero_lp_grads",
    "partition_pipeline_outputs",
    "gradient_bucket_copies",
    "reduce_bucket_size",
    "loss_copies",
    "fsdp_copy_out",
    "eager_attention",
};

// A timer that has timed other plans gives what a fresh one gives, whatever the field in which the
// plans differ.
TEST(PlanTimer, NoFieldOfAPlanIsForgottenByItsCaches) {
    std::set<std::string_view> changed;
    for (const auto& settings :
         std::vector<std::vector<std::string>>{{"plan.tensor_model_parallel_size=2",
                                                "plan.pipeline_model_parallel_size=2",
                                                "plan.sequence_parallel=true",
                                                "plan.tp_comm_overlap=true",
                                                "plan.overlap_grad_reduce=true",
                                                "plan.data_parallel_sharding_strategy=optim"},
                                               {"plan.context_parallel_size=2",
                                                "plan.pipeline_model_parallel_size=2",
                                                "plan.recompute_granularity=full"},
                                               {"plan.tensor_model_parallel_size=2",
                                                "plan.pipeline_model_parallel_size=4",
                                                "plan.virtual_pipeline_model_parallel_size=2",
                                                "plan.eager_framework=true"},
                                               {"model.activation=swiglu",
                                                "model.add_bias_linear=false"}}) {
        const Scenario scenario = small_scenario("one field", settings);
        testing::TimedPlans shared{scenario};
        ASSERT_TRUE(shared.timer.step_of(scenario.plan));
        testing::for_each_changed_plan(
            scenario.model, scenario.plan, [&](std::string_view field, const ParallelPlan& plan) {
                changed.insert(field);
                testing::TimedPlans alone{scenario};
                const auto expected = alone.timer.step_of(plan);
                const auto time = shared.timer.step_of(plan);
                ASSERT_EQ(time.has_value(), expected.has_value()) << field;
                if (time) {
                    EXPECT_EQ(time->picoseconds(), expected->picoseconds()) << field;
                }
            });
    }
    changed.insert("data_parallel_size");       // follows from the other sizes
    changed.insert("zero_hpz_partition_size");  // of plans that the timer refuses
    changed.insert("zero_quantized_weights");   // of the same
    changed.insert("reshard_after_forward");    // of the same
    changed.insert("stage_tensor_model_parallel_sizes");         // of the same
    changed.insert("overlap_param_gather_with_optimizer_step");  // of the same
    for (const char* key : kNeverChanged) {
        changed.insert(key);
    }
    for_each_plan_field(
        [&](const auto& field) { EXPECT_TRUE(changed.contains(field.name)) << field.name; });
}

}  // namespace
}  // namespace orrery
