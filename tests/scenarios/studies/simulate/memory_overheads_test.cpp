// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/memory_overheads.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/lowering/lowering.h"
#include "scenarios/studies/simulate/program_summary.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "scenarios/studies/simulate/step_network.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

MemoryUse use_of(const Scenario& scenario) {
    return whole_memory_use(lower(scenario.model, scenario.plan), scenario).value();
}

Bytes line_of(const MemoryUse& use, std::string_view name) {
    const auto found = std::ranges::find(use.overheads, name, &MemoryOverhead::name);
    return found == use.overheads.end() ? Bytes{} : found->bytes;
}

TEST(MemoryOverheads, AreLinesBesideAPlanThatStaysAsItIs) {
    const Scenario scenario = small_scenario("dp", {});
    const Program program = lower(scenario.model, scenario.plan);
    const MemoryUse use = use_of(scenario);
    EXPECT_EQ(use.peak, memory_use(program, scenario.device).peak);
    for (const char* name : {"driver", "CUDA context", "NCCL buffers"}) {
        EXPECT_GT(line_of(use, name), Bytes{}) << name;
    }
    Bytes sum;
    for (const MemoryOverhead& overhead : use.overheads) {
        sum += overhead.bytes;
    }
    EXPECT_EQ(use.beside_plan(), sum);
    EXPECT_EQ(use.needed(), use.peak + sum);
    EXPECT_EQ(simulate_scenario(scenario).value().memory.needed(), use.needed());
}

TEST(MemoryOverheads, CountInWhatFits) {
    Scenario scenario = small_scenario("tight", {});
    const MemoryUse use = use_of(scenario);
    // Room for the plan, not for what lies beside it.
    scenario.device.memory = use.peak + Bytes{1};
    EXPECT_FALSE(use_of(scenario).fits);
    scenario.device.memory = use.peak * 4;
    EXPECT_EQ(use_of(scenario).fits, use_of(scenario).needed() <= scenario.device.memory);
}

TEST(MemoryOverheads, OfNcclGrowWithCommunicators) {
    const auto buffers = [](const std::vector<std::string>& settings) {
        return line_of(use_of(small_scenario("nccl", settings)), "NCCL buffers");
    };
    EXPECT_EQ(
        buffers({"cluster.nodes=1", "cluster.node.gpus_per_node=1", "plan.global_batch_size=8"}),
        Bytes{});
    EXPECT_GT(buffers({"plan.tensor_model_parallel_size=2"}), buffers({}));
}

// A ring of messages needs a communicator of its own.
TEST(MemoryOverheads, OfNcclCountGroupsThatSendMessages) {
    const auto buffers = [](const std::vector<std::string>& settings) {
        return line_of(use_of(small_scenario("messages", settings)), "NCCL buffers");
    };
    const std::string context = "plan.context_parallel_size=2";
    EXPECT_GT(buffers({context}), buffers({}));
    EXPECT_GT(buffers({context, "plan.tensor_model_parallel_size=2"}), buffers({context}));
}

// The context-parallel group and the data-parallel group have the same ranks. PyTorch's frameworks
// make a process group for each.
TEST(MemoryOverheads, OfNcclCountAnAxisOfTheSameRanksOnPyTorch) {
    const auto buffers = [](const std::vector<std::string>& settings, const char* software) {
        Scenario scenario = small_scenario("axes", settings);
        scenario.software = software;
        return line_of(use_of(scenario), "NCCL buffers");
    };
    const std::vector<std::string> shared = {
        "cluster.nodes=1",
        "plan.eager_framework=true",
        "plan.context_parallel_size=4",
        "plan.context_parallel_comm=all_to_all",
        "plan.data_parallel_sharding_strategy=optim_grads_params"};
    EXPECT_GT(buffers(shared, ""), buffers(shared, "paxml"));
}

// DeepSpeed's pipeline engine makes groups of its own of replicas, of their tensor-parallel ranks
// and of neighbouring stages, of which an inner stage has two.
TEST(MemoryOverheads, OfNcclCountTheGroupsOfDeepSpeedsPipelineEngine) {
    const auto added = [](std::vector<std::string> settings) {
        const auto buffers = [&] {
            return line_of(use_of(small_scenario("engine", settings)), "NCCL buffers").count();
        };
        const std::int64_t before = buffers();
        settings.emplace_back("plan.pipeline_engine_groups=true");
        return buffers() - before;
    };
    EXPECT_EQ(added({}), 0);  // no model parallelism
    const std::int64_t two = added({"plan.pipeline_model_parallel_size=2"});
    EXPECT_GT(two, 0);
    EXPECT_GT(added({"plan.pipeline_model_parallel_size=4"}), two);
    EXPECT_GT(added({"plan.tensor_model_parallel_size=2", "plan.pipeline_model_parallel_size=2"}),
              two);
}

// Each of a server's GPUs has connections to all others for an all-to-all, and few of them if the
// communicator spans servers.
TEST(MemoryOverheads, OfNcclCountConnectionsOfMessagesInsideAServer) {
    const auto connections = [](const std::vector<std::string>& settings) {
        const auto buffers = [&](const char* exchange) {
            std::vector<std::string> all = settings;
            all.push_back(std::string{"plan.context_parallel_comm="} + exchange);
            return line_of(use_of(small_scenario("connections", all)), "NCCL buffers").count();
        };
        return buffers("all_to_all") - buffers("all_gather");
    };
    const std::int64_t inside = connections({"cluster.nodes=1", "plan.context_parallel_size=4"});
    const std::int64_t between = connections({"plan.context_parallel_size=8"});
    EXPECT_GT(inside, std::int64_t{500} << 20);
    EXPECT_LT(between, inside / 4);
}

TEST(MemoryOverheads, OfAnAllocatorAreOfPyTorchAlone) {
    Scenario scenario = small_scenario("allocator", {"model.num_layers=8"});
    const auto fragments = [&] { return line_of(use_of(scenario), "allocator's fragments"); };
    const MemoryUse use = use_of(scenario);
    // The plan's gaps are fragments, too.
    EXPECT_LE(use.in_use + fragments(), use.peak + fragments());
    EXPECT_GT(use.peak + fragments(), use.in_use);
    scenario.software = "paxml";
    EXPECT_EQ(fragments(), Bytes{});
    scenario.software = "";
    scenario.plan.eager_framework = false;
    EXPECT_EQ(fragments(), Bytes{});
}

TEST(MemoryOverheads, OfAContextHoldAllKernelsUnlessTheyAreLoadedLazily) {
    const auto context = [](const std::vector<std::string>& settings) {
        return line_of(use_of(small_scenario("context", settings)), "CUDA context");
    };
    EXPECT_GT(context({"plan.lazy_module_loading=false"}).count(), 2 * context({}).count());
}

TEST(MemoryOverheads, OfACpuAreNone) {
    Scenario scenario = small_scenario("cpu", {});
    scenario.device.generation = "cpu";
    EXPECT_TRUE(use_of(scenario).overheads.empty());
}

}  // namespace
}  // namespace orrery
