// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/campaign/supervised_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "models/lowering/lowering.h"
#include "models/memory/memory.h"
#include "runtime/supervisor/drill.h"
#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/format/specs/cluster_shape.h"
#include "scenarios/studies/campaign/run_campaign.h"
#include "scenarios/studies/simulate/degraded_steps.h"

namespace orrery {
namespace {

constexpr WallTime kMicrosecond = WallTime::microseconds(1);

ClusterShape drill_shape(const Scenario& scenario, std::uint32_t nodes) {
    ClusterShape shape = cluster_shape(scenario.cluster, scenario.campaign);
    shape.nodes = nodes;
    return shape;
}

RecoveryPlan plan_of(const Scenario& scenario) {
    return scenario.recovery.empty() ? RecoveryPlan{.name = "restart"} : scenario.recovery.front();
}

// Number of spares. A quantile is only defined for a campaign.
std::uint32_t spares_of(const RecoveryPlan& plan) {
    const auto rule = first_answer(make_ladder(plan.policies), &RecoveryPolicy::spares);
    return rule ? rule->count.value_or(0) : 0;
}

template <class... Policies>
std::vector<std::string_view> names_of_real_policies(
    std::type_identity<std::variant<Policies...>>) {
    std::vector<std::string_view> names;
    for (const PolicyWords& words : {Policies::kWords...}) {
        if (words.in_real_runs && !words.meaning.empty()) {
            names.push_back(words.name);
        }
    }
    return names;
}

void check_policies(const RecoveryPlan& plan, Errors& errors) {
    for (const PolicySpec& policy : plan.policies) {
        const PolicyWords& words = words_of(policy);
        if (!words.in_real_runs) {
            errors.push_back(
                {"recovery.policies",
                 fmt::format("{} is simulated only: a real run does not know it", words.name),
                 fmt::format(
                     "{}",
                     fmt::join(names_of_real_policies(std::type_identity<PolicySpec>{}), ", "))});
        }
    }
}

// The remaining units must divide the batch.
void check_shrinking(const Scenario& scenario, const RecoveryPlan& plan, Errors& errors) {
    const ParallelPlan& p = scenario.plan;
    const std::int64_t units = job_shape(scenario).units;
    for (const auto& policy : make_ladder(plan.policies)) {
        const std::int64_t least =
            policy->least_units().value_or(static_cast<std::uint32_t>(units));
        for (std::int64_t left = units - 1; left >= least; --left) {
            const std::int64_t replicas = p.data_parallel_size / units * left;
            if (p.global_batch_size % (replicas * p.micro_batch_size) != 0) {
                errors.push_back({"recovery.policies",
                                  fmt::format("{}: {} samples can't be shared by {} replicas",
                                              policy->name(),
                                              p.global_batch_size,
                                              replicas),
                                  "another plan.global_batch_size, or a larger units_min"});
                return;
            }
        }
    }
}

}  // namespace

std::vector<FaultEvent> drill_schedule(const Scenario& scenario) {
    std::vector<FaultEvent> schedule;
    if (!scenario.job.drill) {
        return schedule;
    }
    std::vector<FaultProcess> injected;
    for (const FaultProcess& process : scenario.faults.processes) {
        if (why_left_out(FaultUser::drill, form_of(process), process.kind).empty()) {
            injected.push_back(process);
        }
    }
    return make_schedule(injected,
                         {},
                         drill_shape(scenario, std::max(1U, scenario.cluster.num_servers())),
                         WallTime::days(3650),
                         scenario.job.seed);
}

Result<DetectionSpec> real_detection(DetectionSpec spec, Time timeout, const std::string& path) {
    constexpr double kMost = 0.9;  // share of the timeout; the rest is for reports under way
    constexpr double kUsual = 0.75;
    const auto part = [&](double share) { return WallTime::seconds(share * timeout.seconds()); };
    const WallTime gives_up = part(1);
    if (spec.collective_timeout < part(kMost)) {
        return spec;  // the supervisor itself checks at this interval
    }
    spec.collective_timeout = gives_up;
    if (spec.progress_watchdog == WallTime{}) {
        spec.progress_watchdog = part(kUsual);
    } else if (spec.progress_watchdog > part(kMost)) {
        return fail(
            path + ".progress_watchdog",
            fmt::format(
                "a watchdog of {} does not look before ranks give up after "
                "job.distributed_timeout, {}: which rank waits for which would not be known",
                to_short_text(spec.progress_watchdog),
                to_short_text(gives_up)),
            fmt::format("{} or less, or a longer job.distributed_timeout",
                        to_short_text(part(kUsual))));
    }
    return spec;
}

std::optional<PeerPlacement> memory_placement(const Scenario& scenario) {
    const PolicyLadder ladder = make_ladder(plan_of(scenario).policies);
    if (const auto copies = first_answer(ladder, &RecoveryPolicy::copies)) {
        return copies;
    }
    const JobShape shape = job_shape(scenario);
    const bool keeps = std::ranges::any_of(
        ladder, [&](const auto& policy) { return policy->keeps_own_state(shape); });
    return keeps ? std::optional{PeerPlacement{.copies = 1}} : std::nullopt;
}

ResultOrErrors<SupervisedJob> supervised_job(const Scenario& scenario) {
    Errors errors;
    const RecoveryPlan plan = plan_of(scenario);
    if (scenario.recovery.size() > 1) {
        errors.push_back({"recovery", "a real run follows one plan", "the first alone"});
    }
    check_policies(plan, errors);
    check_shrinking(scenario, plan, errors);
    const bool injects = std::ranges::any_of(scenario.faults.processes, [](const auto& process) {
        return form_of(process) == FaultForm::at_step;
    });
    if (injects && !scenario.job.drill) {
        errors.push_back({"faults",
                          "would be injected into a run that is not marked as a drill",
                          "job.drill: true, or --set 'faults=[]'"});
    }
    for (const FaultEvent& fault : drill_schedule(scenario)) {
        if (const Result<void> can = check_injectable(fault); !can) {
            errors.push_back(can.error());
        }
    }
    if (scenario.cluster.node.gpus_per_node != 1) {
        errors.push_back({scenario.cluster_where,
                          "a supervised run has one process a node",
                          "nodes with one device, such as cpu-core"});
    }
    const TrainingJob& training = scenario.job.training;
    if (training.checkpoint_folder.empty()) {
        errors.push_back(
            {"job", "a supervised run needs checkpoints", "job.checkpoint_folder: a folder"});
    }
    const Result<DetectionSpec> detection =
        real_detection(plan.detection.value_or(scenario.campaign.detection),
                       training.distributed_timeout,
                       plan.detection ? "recovery.detection" : "campaign.detection");
    if (!detection) {
        errors.push_back(detection.error());
    }
    if (!errors.empty()) {
        return unexpected<Errors>(errors);
    }
    SupervisedJob job;
    job.shape = job_shape(scenario);
    job.nodes = job.shape.slots + spares_of(plan);
    job.policies = plan.policies;
    for (PolicySpec& policy : job.policies) {
        complete(policy, {.cluster = drill_shape(scenario, job.nodes)});
    }
    job.limits.attempts_max = plan.attempts_max;
    job.detection = *detection;
    job.repair = std::chrono::milliseconds{
        static_cast<std::int64_t>(1e3 * scenario.campaign.repair.mean_s())};
    job.steps = training.steps;
    job.keeps_copies = memory_placement(scenario).has_value();
    job.checkpoint_folder = training.checkpoint_folder;
    return job;
}

std::map<std::int64_t, double> predicted_detection_s(const Scenario& scenario,
                                                     const SupervisedJob& job) {
    const double settle = std::chrono::duration<double>(kSettle).count();
    const DetectionSpec& d = job.detection;
    std::map<std::int64_t, double> of_step;
    for (const FaultEvent& fault : drill_schedule(scenario)) {
        const FaultKindInfo& kind = info(fault.kind);
        double seconds = settle;
        const double hang = hang_detection(d).latency.seconds();
        if (kind.symptom == Symptom::hang) {
            seconds = hang;
        } else if (fault.kind == FaultKind::host_fault) {
            const bool beats = d.heartbeat > WallTime{};
            seconds = beats ? std::min(d.heartbeat.seconds() + settle, hang) : hang;
        } else if (kind.effect != FaultEffect::stop && kind.effect != FaultEffect::corrupt) {
            continue;
        }
        double& latest = of_step[fault.step];
        latest = std::max(latest, seconds);
    }
    return of_step;
}

namespace {

// Factor by which concurrent ranks slow down if there are fewer cores than ranks.
double in_turns(double processes) {
    return std::max(1.0, processes / std::max(1U, std::thread::hardware_concurrency()));
}

// Times of the supervised job's recoveries. The supervisor checks and gathers one file after the
// other. Ranks load and save at the same time, as far as there are cores. A start from a state does
// not draw weights.
RecoveryCosts measured_costs(const SupervisedJob& job,
                             double step_s,
                             const StartTimes& first,
                             const StoreTimes& store) {
    const double ranks = job.shape.slots;
    const double ready = first.meeting_s + first.state_s - first.drawing_s;
    const double load = store.load_s * in_turns(ranks);
    const double gather = (store.copy_s + store.check_s) * ranks;
    RecoveryCosts costs;
    costs.leave = WallTime::seconds(0.5 * step_s + store.save_s * in_turns(ranks));
    costs.restart_full = WallTime::seconds(first.processes_s + ready);
    costs.restart_in_place = WallTime::seconds(ready);
    costs.load_remote = WallTime::seconds(store.check_s * ranks + load);
    costs.load_memory = WallTime::seconds(gather + load);
    // A job that continues with the remaining ranks also loads from their memories.
    const bool live = !job.shape.state_sharded;
    costs.reconfigure = WallTime::seconds(ready + (live ? gather + load : 0));
    return costs;
}

}  // namespace

std::int64_t state_bytes_of_rank(const Scenario& scenario) {
    const Program program = lower(scenario.model, scenario.plan);
    Bytes most;
    for (std::size_t role = 0; role < program.roles.size(); ++role) {
        most = std::max(most, state_bytes(program, to_id<RoleId>(role)));
    }
    return most.count();
}

std::vector<RecoveryExchange> predicted_log(const Scenario& scenario,
                                            const SupervisedJob& job,
                                            double step_s,
                                            const StartTimes& first,
                                            const StoreTimes& store) {
    DegradedSteps steps;
    steps.speed.step = WallTime::seconds(std::max(step_s, 1e-3));
    const double one = job.shape.units > 1 ? 1.0 - 1.0 / job.shape.units : 0.0;
    steps.speed.shrunk = {1.0, one};
    CampaignSpec spec = campaign_spec(scenario, plan_of(scenario), steps);
    spec.cluster.nodes = job.nodes;
    spec.job = job.shape;
    spec.policies = job.policies;
    spec.limits = job.limits;
    spec.detection = job.detection;
    spec.repair.time = {.kind = DistributionKind::fixed,
                        .scale = WallTime::microseconds(job.repair.count() * 1000)};
    spec.costs = measured_costs(job, step_s, first, store);
    std::erase_if(spec.faults, [](const FaultProcess& process) {
        return !why_left_out(FaultUser::drill, form_of(process), process.kind).empty();
    });
    // To the supervisor a stopped or disconnected process is a silent node.
    for (FaultProcess& process : spec.faults) {
        if (process.kind == FaultKind::host_fault || process.kind == FaultKind::nic_down) {
            process.kind = FaultKind::node_crash;
        }
        // One bit flips, which the next loss shows.
        if (process.kind == FaultKind::silent_corruption) {
            process.duration = {.kind = DistributionKind::fixed, .scale = kMicrosecond};
            spec.detection.anomaly = kMicrosecond;
        }
    }
    for (PolicySpec& policy : spec.policies) {
        leave_nothing_to_chance(policy);
    }
    const std::int64_t every = scenario.job.training.checkpoint_interval;
    spec.checkpoint = {.interval = every > 0 ? steps.speed.step * every : WallTime{},
                       .memory_interval = steps.speed.step};
    // Longer than all faults need. Events after the last step are not used.
    spec.horizon = steps.speed.step * (4 * job.steps) + WallTime::hours(1);
    return run_campaign(spec, scenario.job.seed, {.log = true}).log;
}

std::vector<Incident> incidents_of(const std::vector<RecoveryExchange>& log) {
    std::vector<Incident> incidents;
    bool open = false;
    Incident after_start{.what = ObservationKind::node_ready};
    for (const auto& [seen, ordered] : log) {
        if (open && incidents.back().actions.empty()) {
            incidents.pop_back();  // drop it without actions: a ready node was not needed
            open = false;
        }
        if (seen.kind == ObservationKind::training_started) {
            after_start.step = seen.step;
            after_start.begin_us = seen.time.microseconds();
            if (open) {
                incidents.back().resumed_step = after_start.step;
                incidents.back().end_us = after_start.begin_us;
                open = false;
            }
            if (!ordered.empty()) {  // a node became ready during the restart
                incidents.push_back(after_start);
                open = true;
            }
        } else if (!open) {
            incidents.push_back(
                {.what = seen.kind, .step = seen.step, .begin_us = seen.time.microseconds()});
            open = true;
        }
        if (open) {
            auto& actions = incidents.back().actions;
            actions.insert(actions.end(), ordered.begin(), ordered.end());
        }
    }
    std::erase_if(incidents, [](const Incident& i) { return i.actions.empty(); });
    return incidents;
}

}  // namespace orrery
