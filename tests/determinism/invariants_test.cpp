// SPDX-License-Identifier: Apache-2.0
// What has to hold of any scenario, on drawn ones: no link carries more than it can, folding
// changes nothing, a faster network is never slower, and no collective beats its bandwidth.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>

#include "engine/world/rate_alone.h"
#include "network/nccl_network.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

template <class T>
T drawn(std::vector<T> from) {
    return *rc::gen::elementOf(from);
}

std::vector<std::string> drawn_settings() {
    using Words = std::vector<std::string>;
    const auto choice = [](const char* key, const Words& values) {
        return std::string{"plan."} + key + "=" + drawn(values);
    };
    const Words yes_no{"true", "false"};
    return {choice("tensor_model_parallel_size", {"1", "2", "4"}),
            choice("pipeline_model_parallel_size", {"1", "2"}),
            choice("context_parallel_size", {"1", "1", "2"}),
            choice("micro_batch_size", {"1", "2"}),
            choice("sequence_parallel", yes_no),
            choice("recompute_granularity", {"none", "selective", "full"}),
            choice("data_parallel_sharding_strategy",
                   {"no_shard", "optim", "optim_grads", "optim_grads_params"}),
            choice("overlap_grad_reduce", yes_no),
            choice("overlap_param_gather", yes_no),
            choice("overlap_p2p", yes_no),
            choice("schedule", {"1f1b", "gpipe"}),
            choice("rank_order", {"tp-cp-dp-pp", "tp-cp-pp-dp"}),
            "cluster.fabric.nics_per_node=" + drawn(Words{"1", "2", "4"})};
}

// Settings that do not go together are drawn again.
Scenario drawn_scenario(std::vector<std::string>& settings) {
    for (;;) {
        settings = drawn_settings();
        try {
            return small_scenario("drawn", settings);
        } catch (const std::runtime_error&) {
        }
    }
}

RC_GTEST_PROP(Invariants, NoLinkCarriesMoreThanItCan, ()) {
    std::vector<std::string> settings;
    const Scenario scenario = drawn_scenario(settings);
    const auto answer = simulate_scenario(scenario);
    RC_ASSERT(answer.has_value());
    for (const LinkUse& use : answer->network) {
        RC_ASSERT(use.mean <= use.max * (1 + 1e-9));
        RC_ASSERT(use.max <= 1.0);
    }
}

RC_GTEST_PROP(Invariants, FoldingChangesNothing, ()) {
    std::vector<std::string> settings;
    const Scenario scenario = drawn_scenario(settings);
    const auto folded = simulate_scenario(scenario);
    const auto unfolded = simulate_scenario(scenario, {.fold = false});
    RC_ASSERT(folded.has_value() && unfolded.has_value());
    RC_ASSERT(folded->iteration == unfolded->iteration);
    RC_ASSERT(folded->critical_path.of == unfolded->critical_path.of);
}

// What NCCL runs for each collective; its tuner goes by the rate of the network.
std::vector<std::string> choices(const Answer& answer) {
    std::vector<std::string> all;
    for (const CollectiveUse& use : answer.collectives) {
        all.push_back(fmt::format("{} {} {} {} {}",
                                  use.name,
                                  use.bytes.count(),
                                  use.algorithm,
                                  use.protocol,
                                  use.channels));
    }
    return all;
}

// As long as NCCL does the same on it: its tuner may turn to what is slower (from trees to rings,
// by its own estimates), and an operator would see just that.
RC_GTEST_PROP(Invariants, AFasterNetworkIsNeverSlower, ()) {
    std::vector<std::string> settings;
    const Scenario scenario = drawn_scenario(settings);
    settings.emplace_back("cluster.fabric.nic_bandwidth=" +
                          drawn(std::vector<std::string>{"125 Gbps", "200 Gbps", "800 Gbps"}));
    const Scenario faster = small_scenario("faster", settings);
    const auto slow = simulate_scenario(scenario);
    const auto fast = simulate_scenario(faster);
    RC_ASSERT(slow.has_value() && fast.has_value());
    RC_CLASSIFY(choices(*slow) == choices(*fast), "the same choices");
    if (choices(*slow) == choices(*fast)) {
        RC_ASSERT(fast->iteration <= slow->iteration);
    }
    // What a wrong choice costs is little.
    RC_ASSERT(fast->iteration / slow->iteration <= 1.02);
}

// All vectors but NVLink SHARP's, where the switch adds up, pass each port this often.
double passes(CollectiveKind kind, double ranks) {
    return (kind == CollectiveKind::all_reduce ? 2 : 1) * (ranks - 1) / ranks;
}

RC_GTEST_PROP(Invariants, NoCollectiveBeatsItsBandwidth, ()) {
    Scenario scenario = small_scenario("collective", {});
    NodeSpec& node = scenario.cluster.node;
    node.gpus_per_node = 8;
    node.nvlink_bandwidth = Bandwidth::bits_per_second(8 * 400'000'000'000);
    node.nvlink_efficiency = 1;
    scenario.cluster.num_nodes = 1;
    auto fabric = build_fabric(scenario.cluster);
    RC_ASSERT(fabric.has_value());
    const NcclNetwork network{
        std::move(*fabric),
        {.compute_capability = scenario.device.compute_capability, .num_sms = 108}};
    const auto ranks = static_cast<std::uint32_t>(*rc::gen::inRange(2, 9));
    std::vector<RankId> members;
    for (std::uint32_t r = 0; r < ranks; ++r) {
        members.push_back(RankId{r});
    }
    const CollectiveCall call{.kind = drawn<CollectiveKind>({CollectiveKind::all_reduce,
                                                             CollectiveKind::all_gather,
                                                             CollectiveKind::reduce_scatter}),
                              .bytes = Bytes{*rc::gen::inRange<std::int64_t>(1, 1LL << 31)}};
    const TransferPlan plan = network.plan(call, members);
    const Time taken = time_without_contention(plan, network.links());
    const double bound = passes(call.kind, ranks) * static_cast<double>(call.bytes.count()) / 400e9;
    RC_ASSERT(taken.seconds() >= bound);
}

}  // namespace
}  // namespace orrery
