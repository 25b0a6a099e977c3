// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/supervisor.h"

#include <fmt/format.h>

#include <csignal>

#include "runtime/state/checkpoint_choice.h"
#include "runtime/supervisor/stop_signals.h"
#include "runtime/supervisor/supervision.h"

namespace orrery {
namespace {

constexpr std::chrono::milliseconds kTurn{20};

}  // namespace

Observation Supervisor::observation(ObservationKind kind) const {
    Observation o;
    o.time = now();
    o.kind = kind;
    o.step = step_;
    const auto stored = checkpoints_in(job_.checkpoint_folder, since_);
    o.durable_step = stored.empty() ? 0 : stored.front().step;
    const bool copied = first_answer(machine_.ladder(), &RecoveryPolicy::copies).has_value();
    o.memory_step = copied ? memories_.newest(kept_shape_) : -1;
    return o;
}

void Supervisor::tell(Observation o) {
    const std::vector<Action> actions = machine_.observe(o);
    log_.exchange(o, actions);
    obey(actions);
}

void Supervisor::hear(std::uint32_t node, const MemberReport& report) {
    if (!nodes_.hear(node, report, Clock::now())) {
        return;
    }
    switch (report.kind) {
        case ReportKind::training:
            note_meeting(report);
            break;
        case ReportKind::fault:
            faults_.push_back(static_cast<std::uint32_t>(report.number));
            lasting_.emplace_back(faults_.back(), node);
            struck_ = Clock::now();
            say(fmt::format(
                "the drill strikes node {} after step {}: {}", node, report.step, report.text));
            break;
        case ReportKind::step:
            if (const auto fall = traffic_.step(
                    node, std::atoll(report.text.c_str()), seconds(Clock::now() - begin_))) {
                say(*fall);
            }
            if (report.step > step_) {
                stepping_s_ += seconds(Clock::now() - progress_);
                ++steps_;
                step_ = report.step;
                progress_ = Clock::now();
            }
            break;
        case ReportKind::unsaved:
            say(fmt::format("step {} could not be saved: {}", report.step, report.text));
            break;
        default:
            break;
    }
}

void Supervisor::turn() {
    nodes_.wait(kTurn);
    for (std::uint32_t node = 0; node < job_.nodes; ++node) {
        for (const MemberReport& report : nodes_.reports(node)) {
            hear(node, report);
        }
    }
    look();
    repaired();
    while (!heard_.empty() && phase_ != Phase::ended) {
        const Observation o = heard_.front();
        heard_.pop_front();
        tell(o);
    }
    switch (phase_) {
        case Phase::gathering:
            return gather();
        case Phase::checking:
            return watch_check();
        case Phase::starting:
            return check_started();
        case Phase::training:
            check_done();
            watch_slowness();
            return watch_progress();
        case Phase::leaving:
            return nodes_.all_left() || Clock::now() >= deadline_ ? begin_now() : void();
        case Phase::settling:
            return Clock::now() >= deadline_ && !hearing() ? settle() : void();
        case Phase::idle:
            return remind();
        default:
            return;
    }
}

void Supervisor::check_done() {
    if (nodes_.all_done()) {
        phase_ = Phase::ended;
    }
}

Result<SupervisedRun> Supervisor::run() {
    const StopSignals signals;
    std::vector<std::string> policies;
    for (const auto& policy : make_ladder(job_.policies)) {
        policies.emplace_back(policy->name());
    }
    log_.job(job_.shape, job_.nodes, policies);
    machine_.start();
    if (job_.keeps_copies) {
        if (const Result<void> there = memories_.open(); !there) {
            return unexpected<Error>(there.error());
        }
    }
    since_ = job_.resume ? std::filesystem::file_time_type::min()
                         : std::filesystem::file_time_type::clock::now();
    const auto stored = job_.resume ? newest_intact(job_.checkpoint_folder) : std::nullopt;
    checkpoint_ = stored ? stored->folder.string() : "";
    from_step_ = stored ? stored->step : 0;
    if (from_step_ >= job_.steps) {
        say(fmt::format("{} steps are done: nothing is left to train", from_step_));
        return std::move(run_);
    }
    nodes_.assign(machine_.state());
    if (const Result<void> started = nodes_.make_ready(false); !started) {
        return unexpected<Error>(started.error());
    }
    say_processes(0, job_.shape.slots);
    deadline_ = Clock::now() + job_.patience;
    while (phase_ != Phase::ended) {
        turn();
        if (const int signal = signals.pending(); signal != 0) {
            run_.status = 128 + signal;
            break;
        }
    }
    nodes_.quit();
    run_.log = machine_.log();
    run_.step_s = steps_ > 0 ? stepping_s_ / static_cast<double>(steps_) : 0;
    run_.ettr =
        std::min(1.0, static_cast<double>(step_) * run_.step_s / seconds(Clock::now() - begin_));
    if (!operator_.empty()) {
        return fail("supervisor", operator_, "its event log (--events FILE) tells what happened");
    }
    return std::move(run_);
}

Result<SupervisedRun> supervise(const SupervisedJob& job) {
    std::signal(SIGPIPE, SIG_IGN);
    const auto log = EventLog::open(job.event_file);
    if (!log) {
        return unexpected<Error>(log.error());
    }
    return Supervisor{job, **log}.run();
}

}  // namespace orrery
