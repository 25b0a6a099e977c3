// SPDX-License-Identifier: Apache-2.0
// Nodes that fail, spares, copies in groups (V3 … V6): whole campaigns, the generator of faults and
// the placement of copies that recoveries ask, against queueing theory and combinatorics.
#include <fmt/format.h>

#include <cmath>

#include "engine/base/check.h"
#include "engine/campaign/statistics.h"
#include "engine/recovery/peer_placement.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/campaign/run_campaign.h"
#include "tests/golden/control_variates.h"
#include "tests/golden/golden_case.h"

namespace orrery {
namespace {

struct Spares {
    std::uint32_t nodes = 0;
    std::uint32_t spares = 0;
    double rate = 0;    // of a node and day
    double repair = 0;  // days
    double expected = 0;
    double tolerance = 0.003;
    double days = 0;  // of all runs
    DistributionKind kind = DistributionKind::exponential;
};

CampaignSpec crashing(std::uint32_t nodes, std::uint32_t spares, double rate) {
    CampaignSpec spec;
    spec.cluster.nodes = nodes + spares;
    spec.job = {.slots = nodes};
    spec.faults = {{.name = "crash",
                    .kind = FaultKind::node_crash,
                    .at = {Scope::node, kEvery},
                    .interval = {DistributionKind::exponential, WallTime::days(1 / rate)}}};
    spec.detection.heartbeat = WallTime::microseconds(1);
    spec.checkpoint.interval = WallTime{};
    spec.policies = {HotSpares{}};
    return spec;
}

// The share of time in which one node more is down than there are spares. Two sums of known mean 0
// take out most of a run's luck: failures beyond rate x time in which nodes run, and time of
// repairs beyond what that number takes on average.
Measured stall_share_of(const Spares& c, double share) {
    CampaignSpec spec = crashing(c.nodes, c.spares, c.rate);
    spec.repair.time = with_mean(c.kind, WallTime::days(c.repair), 1.0);
    const double days = share < 0.05 ? 4000 : 40000;  // of a run, which begins with all nodes well
    spec.horizon = WallTime::days(days);
    const auto count = std::max(32U, static_cast<std::uint32_t>(share * c.days / days));
    std::vector<Controlled> runs;
    std::vector<double> repairs;
    const auto part = [](std::int64_t us) { return static_cast<double>(us) / 8.64e10; };
    for (std::uint32_t first = 0; first < count; first += 8) {  // not all results at once
        const std::uint32_t some = std::min(8U, count - first);
        for (const CampaignResult& run : run_seeds(spec, 1 + first, some, 2)) {
            const double waited = part(run.use_us[static_cast<std::size_t>(NodeUse::waiting)]);
            const auto failures = static_cast<double>(run.faults);
            runs.push_back({waited / days, failures / (c.nodes * c.rate) - (days - waited)});
            repairs.push_back(part(run.nodes[NodeUse::repair]) - failures * c.repair);
        }
    }
    take_out(runs, 0);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].control = repairs[i];
    }
    take_out(runs, 0);
    // Nobody knows it better than to a stall more or less.
    Measured found = measured_of(runs);
    found.error = std::max(found.error, c.repair / (c.spares + 1) / (count * days));
    return found;
}

GoldenCase stall(const Spares& c) {
    const bool other = c.kind != DistributionKind::exponential;
    return {.id = "V3",
            .what = fmt::format("P(stall) of {} nodes, {} spares, {:.3g} failures in a {}repair",
                                c.nodes,
                                c.spares,
                                c.nodes * c.rate * c.repair,
                                other ? "lognormal " : ""),
            .expected = c.expected,
            .tolerance = c.tolerance,
            .simulate = [c](double share) { return stall_share_of(c, share); }};
}

// The spares that a scenario's plan takes for its own faults. The generator has to draw that many
// failing nodes or fewer in that share of the days, and one fewer in less: else there is no answer.
double spares_of_plan(std::uint32_t nodes, double p, double quantile, std::uint64_t days) {
    auto scenario = read_scenario(
        ORRERY_SOURCE_DIR "/scenarios/megascale-weeks.yaml",
        {.overrides = {
             fmt::format("cluster.nodes={}", nodes),
             fmt::format("faults=[{{process: exponential, kind: node_crash, at: 'node:*', "
                         "mtbf: {:.9f} d}}]",
                         1 / p),
             fmt::format("recovery.policies=[{{spares: {{quantile: {}, window: 1 d}}}}]",
                         quantile)}});
    ORRERY_CHECK(scenario.has_value());
    const auto steps = degraded_steps(*scenario, {});
    ORRERY_CHECK(steps.has_value());
    const CampaignSpec spec = campaign_spec(*scenario, scenario->recovery.at(0), *steps);
    const std::uint32_t spares = spec.cluster.nodes - spec.job.slots;
    const FaultProcess draw{.name = "drawn",
                            .kind = FaultKind::node_crash,
                            .at = {Scope::node, kEvery},
                            .once = WallTime{},
                            .probability = p};
    double enough = 0;
    double with_one_less = 0;
    for (std::uint64_t seed = 0; seed < days; ++seed) {
        const auto failed =
            make_schedule({draw}, {}, {.nodes = nodes}, WallTime::days(1), seed).size();
        enough += failed <= spares ? 1 : 0;
        with_one_less += failed < spares ? 1 : 0;
    }
    const auto n = static_cast<double>(days);
    const double chance = 4 * std::sqrt(quantile * (1 - quantile) / n);
    const bool drawn = enough / n > quantile - chance && with_one_less / n < quantile + chance;
    return drawn ? spares : std::nan("");
}

GoldenCase spares_needed(std::uint32_t nodes, double p, double quantile, double expected) {
    return {
        .id = "V4",
        .what = fmt::format("spares for {:.1f} % of the days: {} nodes, {:.2f} failures a 1,000",
                            100 * quantile,
                            nodes,
                            1000 * p),
        .expected = expected,
        .simulate = [=](double share) {
            const auto days = static_cast<std::uint64_t>(200'000 * std::max(0.02, share));
            return Measured{spares_of_plan(nodes, p, quantile, days)};
        }};
}

// Every set of `lost` nodes that are lost at once.
GoldenCase survival(std::uint32_t nodes,
                    std::uint32_t copies,
                    std::uint32_t lost,
                    double expected) {
    return {
        .id = "V5",
        .what = fmt::format("copies in groups of {} survive {} losses of {}", copies, lost, nodes),
        .expected = expected,
        .tolerance = 5e-7,
        .simulate = [=](double) {
            const JobShape shape{.slots = nodes, .units = nodes};
            const PeerPlacement placement{PeerPlacementKind::group, copies};
            double all = 0;
            double survived = 0;
            std::vector<std::uint32_t> set(lost);
            const auto choose = [&](const auto& self, std::uint32_t at, std::uint32_t from) {
                if (at == lost) {
                    ++all;
                    survived += placement.survives(shape, set) ? 1 : 0;
                    return;
                }
                for (set[at] = from; set[at] < nodes; ++set[at]) {
                    self(self, at + 1, set[at] + 1);
                }
            };
            choose(choose, 0, 0);
            return Measured{survived / all};
        }};
}

GoldenCase series(std::uint32_t gpus, double rate, double expected_h) {
    return {.id = "V6",
            .what = fmt::format("MTTF of {} GPUs, h: {:.2f} a 1,000 node-days", gpus, 1000 * rate),
            .expected = expected_h,
            .tolerance = 0.001,
            .simulate = [=](double share) {
                CampaignSpec spec = crashing(gpus / 8, 8, rate);
                spec.repair.time = {DistributionKind::fixed, WallTime::microseconds(1)};
                spec.horizon = WallTime::seconds(1e4 * 3600 * expected_h);
                std::vector<Controlled> runs;
                const auto count = std::max(8U, static_cast<std::uint32_t>(1000 * share));
                for (const CampaignResult& run : run_seeds(spec, 1, count, 2)) {
                    runs.push_back({static_cast<double>(run.interruptions), 0});
                }
                const Measured found = measured_of(runs);
                const double hours = spec.horizon.seconds() / 3600 / found.value;
                return Measured{hours, hours * found.error / found.value};
            }};
}

}  // namespace

std::vector<GoldenCase> spare_cases() {
    std::vector<GoldenCase> cases{
        stall({2048, 16, 3.79e-3, 1.0, 0.001614, 0.003, 6.4e7}),
        stall({2048, 20, 3.79e-3, 2.0, 0.039124, 0.003, 8e6}),
        stall({1536, 32, 4.184e-3, 5.535, 0.168586, 0.003, 8e6}),
        stall({1536, 32, 4.184e-3, 5.535, 0.168586, 0.003, 8e6, DistributionKind::lognormal}),
        // To the one digit that is printed.
        stall({1536, 64, 4.184e-3, 5.535, 0.000003, 0.17, 3.2e7})};
    cases.push_back(spares_needed(1536, 6.5e-3, 0.99, 18));
    cases.push_back(spares_needed(1536, 6.5e-3, 0.999, 21));
    cases.push_back(spares_needed(1536, 2.34e-3, 0.99, 9));
    cases.push_back(spares_needed(1536, 2.34e-3, 0.999, 11));
    cases.push_back(spares_needed(2048, 3.79e-3, 0.99, 15));
    cases.push_back(spares_needed(2048, 3.79e-3, 0.999, 18));
    cases.push_back(survival(16, 2, 2, 14.0 / 15));
    cases.push_back(survival(16, 2, 3, 4.0 / 5));
    cases.push_back(survival(16, 2, 4, 8.0 / 13));
    cases.push_back(survival(32, 2, 2, 30.0 / 31));
    cases.push_back(survival(16, 4, 4, 0.997802));
    cases.push_back(series(16384, 6.5e-3, 1.8029));
    cases.push_back(series(131072, 6.5e-3, 0.2254));
    cases.push_back(series(16384, 2.34e-3, 5.0080));
    cases.push_back(series(131072, 2.34e-3, 0.6260));
    return cases;
}

}  // namespace orrery
