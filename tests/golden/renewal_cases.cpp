// SPDX-License-Identifier: Apache-2.0
// A job that fails and restarts (V1, V2, V12, S2): whole campaigns, with failures in checkpoints
// and restarts, against the closed forms of renewal theory.
#include <fmt/format.h>

#include "engine/campaign/statistics.h"
#include "tests/engine/recovery/golden_intervals.h"
#include "tests/golden/control_variates.h"
#include "tests/golden/golden_case.h"

namespace orrery {
namespace {

constexpr double kSegments = 40000;  // of a run, about
constexpr std::uint32_t kRuns = 256;

WallTime s(double seconds) {
    return WallTime::seconds(seconds);
}

std::uint32_t part(double share, std::uint32_t whole) {
    return std::max(8U, static_cast<std::uint32_t>(share * whole));
}

struct Renewal {
    double mtbf = 0;
    double checkpoint = 0;
    double restart = 0;
    double interval = 0;
};

// Processes that die now and then, restarted where they are.
CampaignSpec dying_job(const Renewal& r) {
    CampaignSpec spec;
    spec.job = {.slots = 1};
    spec.faults = {{.name = "bug",
                    .kind = FaultKind::software_bug,
                    .at = {Scope::job, 0},
                    .interval = {DistributionKind::exponential, s(r.mtbf)}}};
    spec.checkpoint = {.interval = s(r.interval), .stall = s(r.checkpoint)};
    spec.costs.restart_full = s(r.restart);
    // Failures during a restart are failures of the same incident: no operator is called.
    spec.limits.attempts_max = ~0U;
    spec.speed.step = WallTime::microseconds(1);
    return spec;
}

// The number of failures, a Poisson count of known mean, explains most of a run's luck.
template <class Value>
Measured over_runs(const CampaignSpec& spec, std::uint32_t runs, double mtbf, Value value) {
    std::vector<Controlled> all;
    for (const CampaignResult& run : run_seeds(spec, 1, runs, 2)) {
        all.push_back({value(run), static_cast<double>(run.faults)});
    }
    take_out(all, spec.horizon.seconds() / mtbf);
    return measured_of(all);
}

GoldenCase segment_time(const Renewal& r, double expected) {
    return {
        .id = "V1",
        .what = fmt::format("segment of {:.0f} s, s: M {:.1f}, checkpoint {:.0f}, restart {:.0f}",
                            r.interval,
                            r.mtbf,
                            r.checkpoint,
                            r.restart),
        .expected = expected,
        .tolerance = 0.001,
        .simulate = [r, expected](double share) {
            CampaignSpec spec = dying_job(r);
            spec.horizon = s(expected * kSegments);
            const Measured segments =
                over_runs(spec, part(share, kRuns), r.mtbf, [](const CampaignResult& run) {
                    return static_cast<double>(run.checkpoints);
                });
            const double time = spec.horizon.seconds() / segments.value;
            return Measured{time, time * segments.error / segments.value};
        }};
}

// The interval is the policy's own.
GoldenCase efficiency(const Renewal& r, double expected) {
    return {.id = "V2",
            .what = fmt::format(
                "efficiency at the optimum: M {:.1f}, checkpoint {:.0f}, restart {:.0f}",
                r.mtbf,
                r.checkpoint,
                r.restart),
            .expected = expected,
            .tolerance = 0.001,
            .simulate = [r, expected](double share) {
                CampaignSpec spec = dying_job(r);
                spec.policies = {CheckpointInterval{
                    .rule = IntervalRule::exact, .stall = s(r.checkpoint), .mtbf = s(r.mtbf)}};
                spec.horizon = s(r.interval / expected * kSegments);
                return over_runs(spec, part(share, kRuns), r.mtbf, [](const CampaignResult& run) {
                    return run.ettr();
                });
            }};
}

GoldenCase interval(IntervalRule rule, const char* name, const Renewal& r, double printed) {
    return {.id = "V2",
            .what = fmt::format(
                "{}'s interval, s: M {:.1f}, checkpoint {:.0f}", name, r.mtbf, r.checkpoint),
            .expected = r.interval,
            .tolerance = 0.51 * printed / r.interval,
            .simulate = [rule, r](double) {
                CampaignSpec spec = dying_job(r);
                spec.policies = {
                    CheckpointInterval{.rule = rule, .stall = s(r.checkpoint), .mtbf = s(r.mtbf)}};
                spec.checkpoint.stall = WallTime{};
                spec.horizon = s(1.5 * r.interval);
                // A fault loses all but the first segment, which is as long as the interval.
                spec.faults = {
                    {.name = "end",
                     .kind = FaultKind::software_bug,
                     .events = {{.time = s(1.4 * r.interval), .kind = FaultKind::software_bug}}}};
                const CampaignResult run = run_campaign(spec, 1);
                return Measured{1.4 * r.interval - run.losses.at(0).seconds()};
            }};
}

struct Production {
    double gpus = 0;
    double rate = 0;  // of a node and day
    double restart_min = 0;
    double interval_min = 0;
    double expected = 0;
};

// Nodes that crash and are replaced at once; the restart is what it costs.
GoldenCase ettr(const Production& p) {
    return {
        .id = "S2",
        .what = fmt::format("ETTR of {:.0f} GPUs, {:.2f} a 1,000 node-days, restart {:.0f} min, "
                            "checkpoint every {:.0f}",
                            p.gpus,
                            1000 * p.rate,
                            p.restart_min,
                            p.interval_min),
        .expected = p.expected,
        .tolerance = 0.001 / p.expected,  // a tenth of a point
        .simulate = [p](double share) {
            CampaignSpec spec;
            const auto nodes = static_cast<std::uint32_t>(p.gpus / 8);
            spec.cluster.nodes = nodes + 8;
            spec.job = {.slots = nodes};
            spec.faults = {
                {.name = "crash",
                 .kind = FaultKind::node_crash,
                 .at = {Scope::node, kEvery},
                 .interval = {DistributionKind::exponential, WallTime::days(1 / p.rate)}}};
            spec.detection.heartbeat = WallTime::microseconds(1);
            spec.repair.time = {DistributionKind::fixed, WallTime::microseconds(1)};
            spec.checkpoint = {.interval = s(60 * p.interval_min)};
            spec.costs.restart_full = s(60 * p.restart_min);
            spec.limits.attempts_max = ~0U;
            spec.speed.step = WallTime::microseconds(1);
            spec.policies = {HotSpares{}};
            const double mtbf = 86400 / (nodes * p.rate);
            spec.horizon = s(4000 * mtbf);
            return over_runs(
                spec, part(share, 200), mtbf, [](const CampaignResult& run) { return run.ettr(); });
        }};
}

// V12: what needs no chance.
GoldenCase limit(const char* what, const CampaignSpec& spec, double expected) {
    return {.id = "V12", .what = what, .expected = expected, .simulate = [spec](double) {
                return Measured{run_campaign(spec, 1).ettr()};
            }};
}

void add_limits(std::vector<GoldenCase>& cases) {
    CampaignSpec healthy = dying_job({1e9, 10, 300, 90});
    healthy.faults.clear();
    healthy.horizon = s(100000);
    cases.push_back(limit("ETTR without faults, 10 s of checkpoint after 90 s", healthy, 0.9));
    healthy.checkpoint.stall = WallTime{};
    cases.push_back(limit("ETTR without faults and free checkpoints", healthy, 1));
    CampaignSpec immortal = dying_job({1e12, 0, 300, 90});
    immortal.horizon = s(1e6);
    cases.push_back(limit("ETTR of an infinite MTBF", immortal, 1));
    // Only the work since the last checkpoint is lost: tau/M / (e^(tau/M) - 1).
    const Renewal free{3600, 0, 0, 36};
    cases.push_back({.id = "V12",
                     .what = "ETTR with free checkpoints and restarts: M 3600, every 36 s",
                     .expected = 0.995008,
                     .tolerance = 0.001,
                     .simulate = [free](double share) {
                         CampaignSpec spec = dying_job(free);
                         spec.horizon = s(1e6);
                         return over_runs(spec, part(share, 64), 3600, [](const auto& run) {
                             return run.ettr();
                         });
                     }});
}

}  // namespace

std::vector<GoldenCase> renewal_cases() {
    std::vector<GoldenCase> cases;
    for (const GoldenSegment& g : kGoldenSegments) {
        cases.push_back(segment_time({g.mtbf, g.checkpoint, g.restart, g.interval}, g.time));
    }
    for (const GoldenOptimum& o : kGoldenOptima) {
        const auto at = [&](double interval) {
            return Renewal{o.mtbf, o.checkpoint, o.restart, interval};
        };
        cases.push_back(interval(IntervalRule::young, "Young", at(o.young), 0.01));
        cases.push_back(interval(IntervalRule::daly, "Daly", at(o.daly), 0.001));
        cases.push_back(interval(IntervalRule::exact, "the optimum", at(o.exact), 0.001));
        cases.push_back(efficiency(at(o.exact), o.efficiency));
    }
    for (const Production& p : {Production{16000, 6.5e-3, 5, 60, 0.7202},
                                Production{16000, 6.5e-3, 5, 5, 0.9345},
                                Production{16384, 6.5e-3, 5, 5, 0.9329},
                                Production{2048, 6.5e-3, 5, 60, 0.9602},
                                Production{4096, 6.5e-3, 5, 60, 0.9216},
                                Production{4096, 6.5e-3, 20, 60, 0.8902},
                                Production{100000, 2.34e-3, 2, 2, 0.9408},
                                Production{100000, 6.5e-3, 2, 2, 0.8438}}) {
        cases.push_back(ettr(p));
    }
    add_limits(cases);
    return cases;
}

}  // namespace orrery
