// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/campaign/run_campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "engine/base/statistics.h"
#include "engine/recovery/closed_forms.h"
#include "models/plan/flops.h"
#include "models/transformer/transformer.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/format/specs/fault_weather.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/campaign/fault_classes.h"
#include "scenarios/studies/campaign/start_up.h"
#include "scenarios/studies/campaign/state_times.h"

namespace orrery {
namespace {

WallTime processes_of(const Scenario& scenario) {
    return scenario.campaign.start_up.processes.value_or(
        process_start(scenario.cluster.num_ranks()));
}

// The parts of a restart, for reports.
StartUpAnswer start_up_answer(const Scenario& scenario, const RecoveryPlan& plan) {
    const StartUpPlan& start_up = scenario.campaign.start_up;
    const Meeting meeting = meeting_of(scenario.plan, start_up);
    StartUpAnswer answer{.given = start_up.full.has_value(),
                         .processes = processes_of(scenario),
                         .communicators = meeting.time,
                         .groups = meeting.groups,
                         .store_operations = meeting.operations};
    if (!plan.checkpoint.load) {
        const StateTimes times = state_times(scenario);
        answer.planning = times.planning;
        answer.read = times.read;
        answer.broadcast = times.broadcast;
    }
    return answer;
}

CheckpointTiming checkpoint_timing(const Scenario& scenario,
                                   const RecoveryPlan& plan,
                                   const DegradedSteps& steps,
                                   const StateTimes& times) {
    const bool async = plan.checkpoint.mode == CheckpointMode::async;
    const WallTime write = plan.checkpoint.write.value_or(times.write);
    CheckpointTiming timing;
    timing.stall = plan.checkpoint.stall.value_or(async ? times.to_host : times.to_host + write);
    timing.copy = async ? write : WallTime{};
    if (scenario.campaign.storage.shared && async) {
        // The exposed share of communication takes 1/x as long if writing leaves x of the
        // bandwidth.
        const double left = std::max(0.05, 1 - times.store_share);
        const double slower = 1 + steps.exposed * (1 / left - 1);
        timing.copy_rate = static_cast<std::int64_t>(static_cast<double>(kFullRate) / slower + 0.5);
    }
    if (const auto copies = first_answer(make_ladder(plan.policies), &RecoveryPolicy::copies)) {
        // Copies travel while the network is idle (GEMINI). The interval has the number of steps
        // that this takes.
        const double idle = std::max(0.05, 1 - steps.network_busy) * steps.speed.step.seconds();
        const double traffic = times.from_peer.seconds() * (copies->copies - 1);
        const auto apart = static_cast<std::int64_t>(std::ceil(traffic / idle));
        timing.memory_interval = steps.speed.step * std::max<std::int64_t>(1, apart);
    }
    return timing;
}

CheckpointInterval interval_rule(const RecoveryPlan& plan,
                                 const DegradedSteps& steps,
                                 const CheckpointTiming& timing,
                                 double rate) {
    CheckpointInterval rule{.rule = plan.checkpoint.rule,
                            .fixed = plan.checkpoint.interval,
                            .stall = timing.stall,
                            .least = timing.copy,
                            .step = steps.speed.step};
    rule.mtbf = rate > 0 ? WallTime::seconds(1 / rate) : WallTime::days(3650);
    return rule;
}

std::uint32_t spares_of(const Scenario& scenario, const RecoveryPlan& plan) {
    const auto rule = first_answer(make_ladder(plan.policies), &RecoveryPolicy::spares);
    if (!rule || rule->count) {
        return rule ? *rule->count : 0;
    }
    // Number of nodes out of service at one time: the quantile of a binomial distribution, by which
    // ByteRobust sizes warm standbys (with a window of a day).
    const RepairSpec& repair = scenario.campaign.repair;
    const double window = rule->window > WallTime{} ? rule->window.days() : repair.mean_s() / 86400;
    double daily = 0;
    for (const FaultProcess& process : scenario.faults.processes) {
        const FaultKindInfo& kind = info(process.kind);
        if (kind.on_node() && kind.effect == FaultEffect::stop && !process.once &&
            process.once_step < 0) {
            const double nodes =
                process.events.empty()
                    ? std::max(1U, nodes_of(scenario.campaign.shape, {process.at.scope, 0}).count)
                    : 1;
            const WallTime span = scenario.campaign.length;
            daily += (1 - kind.transient) * nodes / span.days() *
                     expected_faults(process, scenario.campaign.shape, span);
        }
    }
    const std::uint32_t nodes = scenario.campaign.shape.nodes;
    const double p = std::min(0.999999, daily * window / nodes);
    return p > 0 ? binomial_quantile(nodes, p, rule->quantile) : 0;
}

Statistic over(const std::vector<CampaignResult>& runs,
               const std::function<double(const CampaignResult&)>& value) {
    std::vector<double> values;
    for (const CampaignResult& run : runs) {
        values.push_back(value(run));
    }
    return statistic(std::move(values));
}

double count_of(std::int64_t n) {
    return static_cast<double>(n);
}

void collect_times(const std::vector<CampaignResult>& runs, PlanAnswer& answer) {
    std::vector<double> recoveries;
    std::vector<double> losses;
    double interruptions = 0;
    for (const CampaignResult& run : runs) {
        for (const WallTime time : run.recoveries) {
            recoveries.push_back(time.seconds());
        }
        for (const WallTime time : run.losses) {
            losses.push_back(time.seconds());
        }
        interruptions += count_of(run.interruptions);
        answer.down_most = std::max(answer.down_most, static_cast<double>(run.down_most));
        for (std::size_t u = 0; u < kNumNodeUses; ++u) {
            answer.per_interruption_s[u] += count_of(run.use_us[u]) * 1e-6;
        }
    }
    for (double& part : answer.per_interruption_s) {
        part /= std::max(1.0, interruptions);
    }
    if (!recoveries.empty()) {
        answer.mttr_s = std::accumulate(recoveries.begin(), recoveries.end(), 0.0) /
                        static_cast<double>(recoveries.size());
        answer.recovery_p50_s = nearest_rank_of(recoveries, 50);
        answer.recovery_p95_s = nearest_rank_of(recoveries, 95);
        answer.recovery_max_s = nearest_rank_of(recoveries, 100);
    }
    if (!losses.empty()) {
        answer.loss_p50_s = nearest_rank_of(losses, 50);
        answer.loss_p95_s = nearest_rank_of(losses, 95);
    }
}

// Wall time of all runs over all their interruptions. A run without an interruption adds only its
// time.
std::optional<double> mttf_h(const std::vector<CampaignResult>& runs) {
    double hours = 0;
    std::int64_t interruptions = 0;
    for (const CampaignResult& run : runs) {
        hours += run.wall.seconds() / 3600;
        interruptions += run.interruptions;
    }
    return interruptions > 0 ? std::optional{hours / count_of(interruptions)} : std::nullopt;
}

PlanAnswer plan_answer(const Scenario& scenario,
                       const CampaignSpec& spec,
                       std::vector<CampaignResult> runs,
                       const CampaignAnswer& whole) {
    PlanAnswer answer;
    const auto n = static_cast<double>(runs.size());
    answer.interruptions = over(runs, [](const auto& r) { return count_of(r.interruptions); });
    answer.ettr = over(runs, [](const auto& r) { return r.ettr(); });
    answer.goodput = over(runs, [](const auto& r) { return r.goodput(); });
    answer.effective_mfu = over(runs, [&](const auto& r) { return whole.mfu * r.goodput(); });
    answer.restarts = over(runs, [](const auto& r) { return count_of(r.restarts); });
    answer.evictions = over(runs, [](const auto& r) { return count_of(r.evictions); });
    answer.false_evictions = over(runs, [](const auto& r) { return count_of(r.false_evictions); });
    answer.operator_calls = over(runs, [](const auto& r) { return count_of(r.operator_calls); });
    answer.undetected = over(runs, [](const auto& r) { return count_of(r.corrupt_at_end); });
    answer.mttf_h = mttf_h(runs);
    answer.lost_h = over(runs, [](const auto& r) {
        double lost = 0;
        for (const WallTime loss : r.losses) {
            lost += loss.seconds() / 3600;
        }
        return lost;
    });
    if (whole.tokens > 0 && whole.tokens_per_day > 0) {
        answer.finish_days = over(runs, [&](const auto& r) {
            return whole.tokens / (whole.tokens_per_day * std::max(1e-9, r.goodput()));
        });
    }
    collect_times(runs, answer);
    const double gpus = scenario.cluster.gpus_per_server();
    for (const CampaignResult& run : runs) {
        answer.ettr_values.push_back(run.ettr());
        for (std::size_t u = 0; u < kNumNodeUses; ++u) {
            answer.gpu_hours[u] += count_of(run.nodes[static_cast<NodeUse>(u)]) * gpus / 3.6e9 / n;
        }
    }
    for (std::size_t i = 0; i < spec.faults.size(); ++i) {
        double mean = 0;
        for (const CampaignResult& run : runs) {
            mean += count_of(run.faults_of[i]) / n;
        }
        answer.faults.emplace_back(spec.faults[i].name, mean);
    }
    answer.first = std::move(runs.front());
    answer.sliding = sliding_ettr(answer.first, WallTime::hours(1));
    const auto days = static_cast<std::uint32_t>(std::ceil(spec.horizon.days()));
    answer.ettr_by_day = ettr_by_part(answer.first, std::clamp(days, 1U, 96U));
    return answer;
}

PlanAnswer run_plan(const Scenario& scenario,
                    const RecoveryPlan& plan,
                    const DegradedSteps& steps,
                    std::uint32_t threads,
                    const CampaignAnswer& whole) {
    const CampaignSpec spec = campaign_spec(scenario, plan, steps);
    PlanAnswer answer = plan_answer(
        scenario,
        spec,
        run_seeds(spec, scenario.job.seed, scenario.campaign.seeds, threads, {.timeline = true}),
        whole);
    answer.name = plan.name;
    answer.spares = spec.cluster.nodes - spec.job.slots;
    answer.checkpoint = spec.checkpoint;
    answer.costs = spec.costs;
    answer.start_up = start_up_answer(scenario, plan);
    answer.interval = spec.checkpoint.interval;
    for (const auto& policy : make_ladder(spec.policies)) {
        answer.policies.emplace_back(policy->name());
        answer.not_covered.emplace_back(policy->name(), policy->does_not_cover());
    }
    return answer;
}

// Memory and time grow with the number of faults and of checkpoints.
Result<void> check_size(const CampaignSpec& spec) {
    constexpr double kFaultsMost = 5e6;
    constexpr double kCheckpointsMost = 5e6;
    double faults = 0;
    for (const FaultProcess& process : spec.faults) {
        faults += expected_faults(process, spec.cluster, spec.horizon);
    }
    if (faults > kFaultsMost) {
        return fail(
            "faults",
            fmt::format(
                "about {:.3g} faults in {:.3g} days are too many", faults, spec.horizon.days()),
            "a longer mtbf, or fewer days");
    }
    const WallTime cycle = spec.checkpoint.interval + spec.checkpoint.stall;
    if (spec.horizon / cycle > kCheckpointsMost) {
        return fail("recovery",
                    fmt::format("'{}' makes a checkpoint every {:.3g} s: too many in {:.3g} days",
                                spec.name,
                                cycle.seconds(),
                                spec.horizon.days()),
                    "a longer interval, or fewer days");
    }
    return {};
}

// Share of time that redundant computation adds: a stage also computes the next stage's forward
// pass, a third of its own work, as far as its bubble does not hide it.
double redundant_overhead(const Scenario& scenario) {
    const auto m =
        static_cast<double>(std::max<std::int64_t>(1, scenario.plan.num_micro_batches()));
    const double bubble = static_cast<double>(scenario.plan.pipeline_model_parallel_size - 1) /
                          static_cast<double>(std::max<std::int64_t>(
                              1, scenario.plan.virtual_pipeline_model_parallel_size));
    return std::max(0.0, m / 3 - bubble) / (m + bubble);
}

}  // namespace

double expected_rate(const Scenario& scenario) {
    double rate = 0;
    const WallTime span = scenario.campaign.length;
    for (const FaultProcess& process : scenario.faults.processes) {
        if (info(process.kind).effect == FaultEffect::stop && !process.once &&
            process.once_step < 0) {
            rate += expected_faults(process, scenario.campaign.shape, span) / span.seconds();
        }
    }
    return rate;
}

CampaignSpec campaign_spec(const Scenario& scenario,
                           const RecoveryPlan& plan,
                           const DegradedSteps& steps) {
    const CampaignPlan& campaign = scenario.campaign;
    const StateTimes times = state_times(scenario);
    const double rate = expected_rate(scenario);
    CampaignSpec spec;
    spec.name = plan.name;
    spec.job = job_shape(scenario);
    spec.cluster = campaign.shape;
    spec.cluster.nodes = spec.job.slots + spares_of(scenario, plan);
    spec.horizon = campaign.length;
    spec.faults = scenario.faults.processes;
    spec.weather = fault_weather(scenario.faults, campaign.shape, campaign.length);
    spec.detection = plan.detection.value_or(campaign.detection);
    spec.repair = campaign.repair;
    spec.forecast = campaign.forecast;
    spec.checkpoint = checkpoint_timing(scenario, plan, steps, times);
    const CheckpointInterval rule = interval_rule(plan, steps, spec.checkpoint, rate);
    spec.checkpoint.interval = interval_of(rule, rule.mtbf);
    const StartUpPlan& start_up = campaign.start_up;
    const WallTime meeting = meeting_of(scenario.plan, start_up).time;
    spec.costs = {
        .swap = start_up.swap,
        .restart_full = start_up.full.value_or(processes_of(scenario) + meeting),
        .restart_in_place = start_up.in_place + meeting,
        .reconfigure = start_up.reconfigure + meeting,
        .load_remote = plan.checkpoint.load.value_or(times.planning + times.read + times.broadcast),
        .load_memory = times.from_peer,
        .call_operator = start_up.call_operator};
    spec.limits.attempts_max = plan.attempts_max;
    spec.speed = steps.speed;
    spec.flap_timeout = campaign.flap_timeout;
    spec.flap_retries = campaign.flap_retries;
    spec.policies = plan.policies;
    // Without a simulated step all of its time counts as exposed communication.
    const PolicySetting setting{.cluster = spec.cluster,
                                .redundant_overhead = redundant_overhead(scenario),
                                .network_share = steps.simulated ? steps.exposed : 1};
    for (PolicySpec& policy : spec.policies) {
        complete(policy, setting);
    }
    spec.costs.failover = first_answer(make_ladder(spec.policies), &RecoveryPolicy::failover_time)
                              .value_or(WallTime{});
    spec.policies.emplace_back(rule);
    return spec;
}

Result<CampaignAnswer> run_campaign_scenario(const Scenario& scenario,
                                             const CampaignRunOptions& options) {
    const auto started = std::chrono::steady_clock::now();
    if (const Result<void> one = check_one_kind(scenario, "a campaign"); !one) {
        return unexpected<Error>(one.error());
    }
    std::vector<RecoveryPlan> plans = scenario.recovery;
    if (plans.empty()) {
        plans = {{.name = "restart from the store", .policies = {HotSpares{}}}};
    }
    DegradedStepsOptions wanted{.progress = options.progress};
    for (const FaultProcess& process : scenario.faults.processes) {
        wanted.slow |= info(process.kind).effect == FaultEffect::slow;
    }
    for (const RecoveryPlan& plan : plans) {
        wanted.shrunk |=
            first_answer(make_ladder(plan.policies), &RecoveryPolicy::least_units).has_value();
    }
    const Result<DegradedSteps> steps = degraded_steps(scenario, wanted);
    if (!steps) {
        return unexpected<Error>(steps.error());
    }
    CampaignAnswer answer;
    answer.scenario = scenario.name;
    answer.gpus = scenario.cluster.num_ranks();
    answer.cluster = words_of(scenario.cluster);
    answer.length = scenario.campaign.length;
    answer.seeds = scenario.campaign.seeds;
    answer.first_seed = scenario.job.seed;
    answer.step = steps->speed.step;
    answer.step_simulated = steps->simulated;
    const double batch_tokens = static_cast<double>(scenario.plan.global_batch_size) *
                                static_cast<double>(scenario.model.seq_length);
    answer.tokens_per_day = batch_tokens / steps->speed.step.seconds() * 86400;
    answer.mfu = flops_utilization(model_flops(scenario.model, scenario.plan).full_attention,
                                   Time::seconds(steps->speed.step.seconds()),
                                   scenario.device.peak(scenario.plan.precision),
                                   answer.gpus);
    answer.slow_slope = steps->speed.slow_slope;
    answer.shrunk = steps->speed.shrunk.back();
    const double rate = expected_rate(scenario);
    answer.mtbf_h = rate > 0 ? 1 / rate / 3600 : 0;
    answer.fault_classes = fault_classes(scenario);
    answer.tokens = scenario.campaign.tokens;
    answer.version = kVersion;
    for (const RecoveryPlan& plan : plans) {
        const CampaignSpec spec = campaign_spec(scenario, plan, *steps);
        if (const Result<void> small = check_size(spec); !small) {
            return unexpected<Error>(small.error());
        }
        answer.plans.push_back(run_plan(scenario, plan, *steps, options.threads, answer));
        PlanAnswer& last = answer.plans.back();
        last.ettr_over_first =
            paired_difference(last.ettr_values, answer.plans.front().ettr_values);
    }
    answer.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return answer;
}

}  // namespace orrery
