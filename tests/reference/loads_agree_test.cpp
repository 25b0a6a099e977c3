// SPDX-License-Identifier: Apache-2.0
// Every rank's own rows: the simulated executor against the reference, to the picosecond, with any
// set of accelerations, on lowered Programs of models with experts over NCCL on a fabric.
#include <gtest/gtest.h>

#include <string>

#include "engine/world/simulated_executor.h"
#include "models/experts/routed_step.h"
#include "models/lowering/lowering.h"
#include "network/fluid/fluid.h"
#include "network/nccl_network.h"
#include "tests/models/expert_models.h"
#include "tests/network/dgx_clusters.h"
#include "tests/network/mixed_clusters.h"
#include "tests/reference/drawn_accelerations.h"
#include "tests/reference/reference_executor.h"
#include "tests/reference/trace_difference.h"

namespace orrery::reference {
namespace loads_agree_test {

using namespace literals;

struct LoadedCase {
    std::string name;
    Transformer model;
    ParallelPlan plan;
    std::uint32_t gpus_per_node = 4;
    int slow_rank = -1;
};

// In proportion to FLOP and bytes, so that rows decide.
KernelTime made_up_time(const KernelCall& call, std::size_t k, std::int64_t percent) {
    const double work_ps = call.flop / 2e2 + static_cast<double>(call.bytes) / 2.0;
    KernelTime time;
    time.duration =
        Time::picoseconds((1'000'000 + static_cast<std::int64_t>(work_ps)) * percent / 100);
    time.ideal = Time::picoseconds(time.duration.picoseconds() / 2);
    time.sm_sensitivity_permille = static_cast<std::uint32_t>(1000 - k * 137 % 700);
    return time;
}

class Case {
public:
    explicit Case(const LoadedCase& c)
        : program_(lower(c.model, c.plan, tensors_)),
          routed_(route_step(c.model, c.plan, program_, tensors_)),
          network_(built(cluster_of(c)), {.compute_capability = 90, .num_sms = 132}) {
        input_.program = &program_;
        input_.network = &network_;
        for (const std::int64_t percent : {100, 140}) {
            DeviceTimings device{.num_sms = 132};
            device.restart = 20_us;
            for (std::size_t k = 0; k < program_.kernels.size() + routed_->kernels.size(); ++k) {
                const KernelCall& call = k < program_.kernels.size()
                                             ? program_.kernels[k]
                                             : routed_->kernels[k - program_.kernels.size()];
                device.kernels.push_back(made_up_time(call, k, percent));
            }
            input_.devices.push_back(std::move(device));
        }
        if (c.slow_rank >= 0) {
            input_.device_class.resize(program_.num_ranks());
            input_.device_class[static_cast<std::size_t>(c.slow_rank)] = 1;
        }
        input_.load = &routed_->load;
        input_.launch_cost = 2_us;
    }

    SimulationInput& input() { return input_; }
    const RoutedStep& routed() const { return *routed_; }

private:
    static ClusterSpec cluster_of(const LoadedCase& c) {
        const auto ranks =
            static_cast<std::uint32_t>(c.plan.model_parallel_size() * c.plan.data_parallel_size);
        ClusterSpec cluster = ecmp_cluster(ranks / c.gpus_per_node, dgx_h100());
        cluster.node.gpus_per_node = c.gpus_per_node;
        cluster.fabric.nics_per_node = c.gpus_per_node;
        cluster.fabric.nic_latency = 1_us;
        cluster.fabric.oversubscription = 2;
        return cluster;
    }

    std::vector<RoutedTensor> tensors_;
    Program program_;
    std::optional<RoutedStep> routed_;
    NcclNetwork network_;
    SimulationInput input_;
};

SimulationResult run(SimulationInput input, const Accelerations& accelerations) {
    input.accelerations = accelerations;
    FluidRates rates(input.network->links());
    SimulationOutcome outcome = simulate(input, rates);
    EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().to_string());
    return outcome ? std::move(*outcome) : SimulationResult{};
}

ParallelPlan plan_of(std::int64_t tp, std::int64_t pp, std::int64_t dp, std::int64_t ep) {
    return {.tensor_model_parallel_size = tp,
            .pipeline_model_parallel_size = pp,
            .data_parallel_size = dp,
            .sequence_parallel = tp > 1,
            .global_batch_size = dp * (pp > 1 ? 2 * pp : 2),
            .overlap_p2p = pp > 1,
            .expert_model_parallel_size = ep,
            .moe_router_load = RouterLoad::uniform};
}

Transformer model_of(std::int64_t layers) {
    Transformer model = small_experts();
    model.num_layers = layers;
    model.seq_length = 512;
    return model;
}

std::vector<LoadedCase> cases() {
    std::vector<LoadedCase> all;
    all.push_back({"pp 2, ep 8", model_of(4), plan_of(1, 2, 8, 8)});
    all.push_back({"tp 2, etp 1, ep 8, zipf", model_of(2), plan_of(2, 1, 8, 8)});
    all.back().plan.expert_tensor_parallel_size = 1;
    all.back().plan.moe_router_load = RouterLoad::zipf;
    all.push_back({"etp 2, ep 4", model_of(2), plan_of(2, 1, 8, 4)});
    all.back().plan.expert_tensor_parallel_size = 2;
    all.push_back({"one slow rank", model_of(2), plan_of(1, 1, 16, 8)});
    all.back().slow_rank = 5;
    all.push_back({"hot expert", model_of(2), plan_of(1, 1, 16, 4)});
    all.back().plan.moe_router_load = RouterLoad::hot;
    all.back().plan.moe_router_load_alpha = 2;
    for (const TokenDispatcher by : {TokenDispatcher::deepep,
                                     TokenDispatcher::hierarchical,
                                     TokenDispatcher::two_dimensional}) {
        all.push_back({"dispatcher " + std::to_string(static_cast<int>(by)),
                       model_of(2),
                       plan_of(1, 1, 16, 8)});
        all.back().plan.moe_token_dispatcher_type = by;
    }
    all.push_back({"both ends of a pipeline", model_of(4), plan_of(1, 2, 8, 8)});
    all.back().plan.schedule = ScheduleKind::dual_pipe;
    all.back().plan.overlap_moe_expert_parallel_comm = true;
    all.push_back({"a module of prediction, recomputed layers", model_of(4), plan_of(1, 2, 8, 4)});
    all.back().model.mtp_num_layers = 1;
    all.back().plan.recompute_granularity = Recompute::full;
    all.push_back({"passes that take turns", model_of(4), plan_of(1, 1, 8, 8)});
    all.back().plan.global_batch_size = 8 * 4;
    all.back().plan.overlap_moe_expert_parallel_comm = true;
    all.back().plan.moe_router_load = RouterLoad::bias_balanced;
    return all;
}

TEST(Loads, AnySetOfAccelerationsAgreesWithTheReference) {
    std::uint64_t seed = 1;
    for (const LoadedCase& c : cases()) {
        SCOPED_TRACE(c.name);
        Case loaded(c);
        SimulationInput& input = loaded.input();
        input.traced_ranks = {RankId{0}, RankId{3}, RankId{7}};
        const SimulationOutcome expected = reference_simulate(input);
        ASSERT_TRUE(expected.has_value()) << expected.error().to_string();
        for (int set = 0; set < 6; ++set) {
            Accelerations chosen = set == 0   ? Accelerations{}
                                   : set == 1 ? accelerations_of(0)
                                              : drawn_accelerations(seed++, false);
            chosen.step_barrier = false;
            SCOPED_TRACE(describe(chosen));
            const SimulationResult traced = run(input, chosen);
            EXPECT_EQ(first_difference(expected->trace, traced.trace), "");
            SimulationInput untraced = input;
            untraced.traced_ranks.clear();  // traced ranks keep out of lockstep groups
            const SimulationResult actual = run(untraced, chosen);
            EXPECT_EQ(actual.step_end, expected->step_end);
            EXPECT_EQ(actual.iteration, expected->iteration);
            EXPECT_EQ(actual.slowest_rank, expected->slowest_rank);
            EXPECT_EQ(actual.critical_path.total(), expected->iteration);
            chosen.step_barrier = true;
            EXPECT_EQ(last_step_difference(actual, run(untraced, chosen)), "");
        }
    }
}

// Without the load all ranks have the rows of the busiest one of their layer, which are not
// rounded.
TEST(Loads, AHotRanksStepGrowsAsItsRowsSay) {
    LoadedCase c{"hot", model_of(2), plan_of(1, 1, 16, 4)};
    c.plan.moe_router_load = RouterLoad::hot;
    Time before;
    for (const double alpha : {1.0, 1.5, 2.0, 3.0}) {
        c.plan.moe_router_load_alpha = alpha;
        Case loaded(c);
        const SimulationResult own = run(loaded.input(), {});
        SimulationInput busiest = loaded.input();
        busiest.load = nullptr;
        EXPECT_LE(own.iteration.seconds(), run(busiest, {}).iteration.seconds() * 1.001);
        EXPECT_GT(own.iteration, before);
        before = own.iteration;
    }
}

// A device that gets slower in the middle of the step takes its own rows along.
TEST(Loads, AnySetOfAccelerationsAgreesWhenDevicesChange) {
    std::uint64_t seed = 50;
    for (const LoadedCase& c : cases()) {
        SCOPED_TRACE(c.name);
        Case loaded(c);
        SimulationInput& input = loaded.input();
        const Time whole = run(input, {}).step_end.back();
        input.events.devices = {
            {.at = Time::picoseconds(whole.picoseconds() / 3), .device = 0, .becomes = 1}};
        const SimulationResult plain = run(input, accelerations_of(0));
        EXPECT_GT(plain.step_end.back(), whole);
        for (int set = 0; set < 3; ++set) {
            const Accelerations chosen = drawn_accelerations(seed++, false);
            SCOPED_TRACE(describe(chosen));
            EXPECT_EQ(last_step_difference(plain, run(input, chosen)), "");
        }
    }
}

// Four groups of four: the ranks of equal load are one class each.
TEST(Loads, RanksOfEqualLoadFold) {
    LoadedCase c{"hot", model_of(2), plan_of(1, 1, 16, 4)};
    c.plan.moe_router_load = RouterLoad::hot;
    c.plan.moe_router_load_alpha = 2;
    Case loaded(c);
    EXPECT_LT(run(loaded.input(), {}).fold_classes, 16u);
}

}  // namespace loads_agree_test
}  // namespace orrery::reference
