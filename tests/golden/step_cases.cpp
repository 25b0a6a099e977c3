// SPDX-License-Identifier: Apache-2.0
// What a step and its faults cost (V7 … V11): campaigns and the simulated executor against
// arithmetic and order statistics.
#include <fmt/format.h>

#include "engine/base/check.h"
#include "engine/campaign/statistics.h"
#include "engine/world/simulated_executor.h"
#include "network/collectives/ring.h"
#include "network/fluid/fluid.h"
#include "tests/engine/program_builder.h"
#include "tests/engine/scripted_network.h"
#include "tests/golden/control_variates.h"
#include "tests/golden/golden_case.h"
#include "tests/network/dgx_clusters.h"
#include "tests/network/plan_time.h"
#include "tests/scenarios/network_cluster.h"

namespace orrery {
namespace {

WallTime wall(double seconds) {
    return WallTime::seconds(seconds);
}

// FT-HSDP: a fault every 18 minutes, one of twelve replicas is lost for some of them.
CampaignSpec cycle() {
    CampaignSpec spec;
    spec.cluster.nodes = 12;
    spec.job = {.slots = 12, .units = 12};
    spec.horizon = wall(18 * 60);
    spec.faults = {{.name = "script",
                    .kind = FaultKind::host_fault,
                    .events = {{.nodes = {5, 1}, .kind = FaultKind::host_fault}}}};
    spec.detection.node_agent = false;
    spec.detection.collective_timeout = wall(60);
    spec.checkpoint.interval = WallTime{};
    spec.speed.shrunk = {1.0, 11.0 / 12};
    return spec;
}

GoldenCase synchronous_cycle() {
    return {.id = "V7",
            .what = "18 minutes of which 10 are lost",
            .expected = 8.0 / 18,
            .tolerance = 1e-5,
            .simulate = [](double) {
                CampaignSpec spec = cycle();
                spec.repair.time = {DistributionKind::fixed, wall(600 - 60)};
                return Measured{run_campaign(spec, 1).goodput()};
            }};
}

// A minute each to notice, to go on without and to take back; 7 minutes with 11 of 12.
GoldenCase elastic_cycle() {
    return {.id = "V7",
            .what = "3 minutes stalled, 7 with 11 of 12, 8 whole",
            .expected = (7.0 * 11 / 12 + 8) / 18,
            .tolerance = 1e-5,
            .simulate = [](double) {
                CampaignSpec spec = cycle();
                spec.repair.time = {DistributionKind::fixed, wall(60 + 420)};
                spec.costs.reconfigure = wall(60);
                spec.policies = {ElasticDataParallel{}};
                return Measured{run_campaign(spec, 1).goodput()};
            }};
}

// Machines drawn to be slow, each with its probability; the slowest says how long a step is.
GoldenCase stragglers(std::uint32_t nodes, double expected, std::uint32_t jobs) {
    return {.id = "V8",
            .what = fmt::format("step of {} nodes, 0.5 % of them 10 % slower", nodes),
            .expected = expected,
            .tolerance = 0.001,
            .simulate = [=](double share) {
                CampaignSpec spec;
                spec.cluster.nodes = nodes;
                spec.job = {.slots = nodes};
                spec.horizon = wall(1e6);
                spec.faults = {{.name = "slow",
                                .kind = FaultKind::slow_host,
                                .at = {Scope::node, kEvery},
                                .once = WallTime{},
                                .probability = 0.005,
                                .factor = 1.1}};
                spec.checkpoint.interval = WallTime{};
                std::vector<Controlled> runs;
                const auto count = std::max(64U, static_cast<std::uint32_t>(share * jobs));
                for (const CampaignResult& run : run_seeds(spec, 1, count, 2)) {
                    runs.push_back({1 / run.goodput(), 0});
                }
                return measured_of(runs);
            }};
}

SimulationResult simulated(const ProgramBuilder& program, const NetworkModel& network) {
    FluidRates rates(network.links());
    const SimulationOutcome outcome = simulate(program.input(network), rates);
    ORRERY_CHECK(outcome.has_value());
    return *outcome;
}

// Eight stages hand 32 micro-batches on, over links that take no time.
GoldenCase pipeline(double slowest, double expected) {
    return {.id = "V9",
            .what = fmt::format("8 stages, 32 micro-batches, one stage takes {:.1f}", slowest),
            .expected = expected,
            .tolerance = 1e-8,
            .simulate = [=](double) {
                constexpr std::uint32_t kStages = 8;
                ProgramBuilder b({{"pp", kStages}});
                ScriptedNetwork network(std::vector<std::int64_t>(kStages, 800'000'000'000'000));
                for (std::uint32_t stage = 0; stage < kStages; ++stage) {
                    b.role(stage);
                    const double units = stage == 3 ? slowest : 1.0;
                    for (int m = 0; m < 32; ++m) {
                        ProgramBuilder::Waits arrived;
                        if (stage > 0) {
                            arrived.push_back(
                                b.exchange({{false, 0, -1, -1, Bytes{1}, 0}}, kOther));
                        }
                        const std::uint32_t done =
                            b.kernel(Time::seconds(1e-3 * units), kCompute, arrived);
                        if (stage + 1 < kStages) {
                            b.exchange({{true, 0, 1, -1, Bytes{1}, 0}}, kNet, {done});
                        }
                    }
                    if (stage + 1 < kStages) {
                        network.sends[{to_id<RankId>(stage), to_id<RankId>(stage + 1)}] =
                            plan_over({stage}, {});
                    }
                }
                return Measured{simulated(b, network).iteration.seconds() * 1e3};
            }};
}

// Eight servers at 50 GB/s in one ring; one of them may send slower.
GoldenCase ring(std::int64_t slowest_bps, double expected_ms) {
    return {.id = "V10",
            .what = fmt::format("all-reduce of 1 GB, 8 ranks at 50 GB/s, one at {:.0f}, ms",
                                static_cast<double>(slowest_bps) / 8e9),
            .expected = expected_ms,
            .tolerance = 1e-8,
            .simulate = [=](double) {
                Scenario scenario = leaf_spine_scenario(4);
                scenario.cluster.fabric.nic_bandwidth = Bandwidth::bits_per_second(400'000'000'000);
                Fabric fabric = fabric_of(scenario);
                fabric.set_capacity(fabric.nic_out({.node = 3, .nic = 0}),
                                    Bandwidth::bits_per_second(slowest_bps));
                const std::vector<RankId> members = first_ranks(8);
                const GroupLayout layout(fabric, members);
                const ChannelRouter router(fabric, layout, 0);
                const std::int64_t edge =
                    ring_edge_bytes(CollectiveKind::all_reduce, 1'000'000'000, 8);
                TransferPhase phase;
                for (const PartShape& part : ring_parts(router, 1, 1)) {
                    phase.parts.push_back(
                        {.footprint = part.footprint, .bytes = Bytes{edge / part.divisor}});
                }
                ScriptedNetwork network({});
                network.link_table.assign(fabric.links().begin(), fabric.links().end());
                return Measured{1e3 * plan_time(network, {.phases = {phase}}).seconds()};
            }};
}

// The retransmission timer of InfiniBand: seconds that a flap stalls the job, or its connections
// die.
double flapped(std::uint32_t timeout, double down) {
    CampaignSpec spec;
    spec.cluster.nodes = 2;
    spec.job = {.slots = 2};
    spec.horizon = wall(1000);
    spec.faults = {{.name = "flap",
                    .kind = FaultKind::link_flap,
                    .events = {{.time = wall(100),
                                .nodes = {0, 1},
                                .kind = FaultKind::link_flap,
                                .duration = wall(down)}}}};
    spec.flap_timeout = timeout;
    spec.checkpoint.interval = WallTime{};
    const CampaignResult run = run_campaign(spec, 1);
    const auto stall = run.use_us[static_cast<std::size_t>(NodeUse::stall)];
    return run.interruptions > 0 ? INFINITY : static_cast<double>(stall) * 1e-6;
}

GoldenCase flap(std::uint32_t timeout, double down, double expected) {
    return {.id = "V11",
            .what = fmt::format("stall by a flap of {} s, s: timer {}", down, timeout),
            .expected = expected,
            .tolerance = 1.1e-6 / expected,  // the clock's microsecond
            .simulate = [=](double) { return Measured{flapped(timeout, down)}; }};
}

// Of the table's 16 pairs of timer and flap.
GoldenCase deadly_flaps() {
    return {.id = "V11",
            .what = "flaps of 0.3, 3, 10 and 60 s that kill, timers 14, 18, 20 and 22",
            .expected = 6,
            .simulate = [](double) {
                double dead = 0;
                for (const std::uint32_t timeout : {14U, 18U, 20U, 22U}) {
                    for (const double down : {0.3, 3.0, 10.0, 60.0}) {
                        dead += std::isinf(flapped(timeout, down)) ? 1 : 0;
                    }
                }
                return Measured{dead};
            }};
}

}  // namespace

std::vector<GoldenCase> step_cases() {
    std::vector<GoldenCase> cases{synchronous_cycle(),
                                  elastic_cycle(),
                                  stragglers(16, 1.0077069, 40000),
                                  stragglers(128, 1.0473553, 40000),
                                  stragglers(1536, 1.0999547, 400),
                                  pipeline(1.0, 39.0),
                                  pipeline(1.1, 42.2),
                                  ring(400'000'000'000, 35.0),
                                  ring(200'000'000'000, 70.0)};
    struct Flap {
        std::uint32_t timeout;
        double down, stall;
    };
    for (const Flap& f : {Flap{14, 0.3, 0.335544},
                          Flap{18, 0.3, 1.073742},
                          Flap{18, 3, 3.221225},
                          Flap{20, 0.3, 4.294967},
                          Flap{20, 3, 4.294967},
                          Flap{20, 10, 12.884902},
                          Flap{22, 0.3, 17.179869},
                          Flap{22, 3, 17.179869},
                          Flap{22, 10, 17.179869},
                          Flap{22, 60, 68.719477}}) {
        cases.push_back(flap(f.timeout, f.down, f.stall));
    }
    cases.push_back(deadly_flaps());
    return cases;
}

}  // namespace orrery
