// SPDX-License-Identifier: Apache-2.0
// Executes the recovery machine's orders in the supervisor.
#include <fmt/format.h>

#include <cstdlib>

#include "runtime/state/checkpoint_choice.h"
#include "runtime/supervisor/supervision.h"

namespace orrery {

void Supervisor::obey(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
        if (job_.line) {
            job_.line(" recovery: " + to_line(action));
        }
        switch (action.kind) {
            case ActionKind::evict:
                nodes_.evict(action.node, Clock::now() + job_.repair);
                memories_.lose(action.node);
                std::erase_if(lasting_, [&](const auto& f) { return f.second == action.node; });
                break;
            case ActionKind::check:
                begin_check();
                break;
            case ActionKind::diagnose:
                diagnose();
                break;
            case ActionKind::call_operator:
                operator_ = "the job failed again and again, and somebody has to look at it";
                phase_ = Phase::ended;
                return;
            case ActionKind::wait:
                phase_ = Phase::idle;
                remind_ = Clock::now();
                break;
            case ActionKind::drain:
                draining_ = true;
                drained_.push_back(action.node);
                nodes_.order_leave();
                break;
            case ActionKind::restart:
                begin(action);
                break;
            default:
                break;
        }
    }
}

// The sick node is the one that never arrived: all others wait for it in an exchange.
void Supervisor::diagnose() {
    Observation o = observation(ObservationKind::diagnosis_done);
    o.nodes = nodes_.not_waiting();
    for (const std::string& line : nodes_.where_all_are()) {
        say(line);
    }
    o.verified_step = step_;
    heard_.push_back(o);
}

// The healthy members stop first, all after the same step.
void Supervisor::begin(const Action& restart) {
    remind_.reset();
    restart_ = restart;
    if (phase_ != Phase::training) {
        return begin_now();
    }
    nodes_.order_leave();
    phase_ = Phase::leaving;
    deadline_ = Clock::now() + job_.patience;
}

void Supervisor::choose_state(const Action& restart) {
    if (restart.source != RestoreSource::remote) {
        if (const auto kept = memories_.gather(kept_shape_)) {
            checkpoint_ = kept->folder.string();
            from_step_ = kept->step;
            return;
        }
        say("no complete state is left in memories: from the store");
    }
    const auto stored = newest_intact(
        job_.checkpoint_folder,
        restart.step_max,
        restart.checkpoints_back,
        [&](const Error& e) { say(fmt::format("passes over a checkpoint: {}", e.to_string())); },
        since_);
    checkpoint_ = stored ? stored->folder.string() : "";
    from_step_ = stored ? stored->step : 0;
}

void Supervisor::begin_now() {
    gathers_ = Clock::now();
    choose_state(restart_);
    if (from_step_ >= job_.steps) {
        phase_ = Phase::ended;  // all steps are done and saved
        return;
    }
    memories_.forget();
    nodes_.assign(machine_.state());
    if (restart_.extent == RestartExtent::full && !fresh_) {
        nodes_.kill_active();
    }
    phase_ = Phase::gathering;
    deadline_ = Clock::now() + job_.patience / 4;
    gather();
}

// All members must be ready. A member that does not stop in time is killed and started again.
void Supervisor::gather() {
    const bool late = Clock::now() >= deadline_;
    if (const Result<void> started = nodes_.make_ready(late); !started) {
        if (const std::optional<NodeNumber> node = nodes_.take_out_of_reach()) {
            return lose(*node);
        }
        operator_ = started.error().to_string();
        phase_ = Phase::ended;
        return;
    }
    if (late) {
        deadline_ = Clock::now() + job_.patience;
    }
    if (nodes_.all_ready()) {
        const Nodes::Start start{.kind = checks_ ? OrderKind::check : OrderKind::go,
                                 .checkpoint = checkpoint_,
                                 .struck = faults_,
                                 .lasting = lasting_};
        if (const Result<void> gone = nodes_.go(start); !gone) {
            operator_ = gone.error().to_string();
            phase_ = Phase::ended;
            return;
        }
        if (checks_) {
            phase_ = Phase::checking;
            deadline_ = Clock::now() + job_.patience;
            return;
        }
        fresh_ = false;
        gone_ = Clock::now();
        arrived_us_ = connected_us_ = drawing_us_ = 0;
        kept_shape_ = nodes_.shape();
        told_slow_.reset();
        draining_ = false;
        drained_.clear();
        // Steps reported before all have started count from here.
        step_ = from_step_;
        phase_ = Phase::starting;
        deadline_ = Clock::now() + job_.patience;
    }
}

// A machine on which no process becomes ready is gone, whatever its nodes reported last.
void Supervisor::lose(NodeNumber node) {
    say(fmt::format("node {} is out of reach", node));
    memories_.lose(node);
    Observation o = observation(ObservationKind::fault_detected);
    o.detector = Detector::heartbeat;
    o.fault = FaultKind::node_crash;
    o.nodes = {node};
    heard_.push_back(o);
    phase_ = Phase::idle;
}

// Tests all members in new processes, which will train afterwards.
void Supervisor::begin_check() {
    nodes_.assign(machine_.state());
    nodes_.kill_active();
    fresh_ = true;
    checks_ = true;
    phase_ = Phase::gathering;
    deadline_ = Clock::now() + job_.patience / 4;
    gather();
}

// Waits until all members have reported their tests, or one has failed.
void Supervisor::watch_check() {
    const bool late = Clock::now() >= deadline_;
    if (!nodes_.all_checked() && !late) {
        return;
    }
    checks_ = false;
    Observation o = observation(ObservationKind::checked);
    o.detector = Detector::node_agent;
    const CheckVerdict verdict =
        nodes_.verdict(milliseconds(job_.detection.heartbeat), Clock::now());
    o.nodes = verdict.failed;
    o.slow = verdict.slow;
    for (const std::string& line : verdict.lines) {
        say(line);
    }
    for (const NodeNumber node : verdict.failed) {
        memories_.lose(node);
    }
    phase_ = Phase::idle;
    tell(o);
}

void Supervisor::say_processes(NodeNumber first, NodeNumber end) {
    for (NodeNumber node = first; node < end; ++node) {
        log_.event(now(), fmt::format("node {} is process {}", node, nodes_.pid(node)));
    }
}

// Starts spares once the training runs, because it does not need them. A spare that cannot be
// started now is tried again when it is needed.
void Supervisor::start_spares() {
    if (!spares_) {
        spares_ = true;
        [[maybe_unused]] const Result<void> started = nodes_.start_all();
        say_processes(job_.shape.slots, job_.nodes);
    }
}

void Supervisor::check_started() {
    if (nodes_.all_started()) {
        say_start();
        start_spares();
        phase_ = Phase::training;
        progress_ = Clock::now();
        traffic_.restart();
        return tell(observation(ObservationKind::training_started));
    }
    if (Clock::now() >= deadline_) {
        nodes_.kill_not_started();
    }
}

void Supervisor::note_meeting(const MemberReport& report) {
    char* rest = nullptr;
    const std::int64_t arrived = std::strtoll(report.text.c_str(), &rest, 10);
    drawing_us_ = std::max<std::int64_t>(drawing_us_, std::strtoll(rest, nullptr, 10));
    arrived_us_ = std::max(arrived_us_, arrived);
    connected_us_ = std::max(connected_us_, arrived + report.number);
}

void Supervisor::say_start() {
    const double meeting_s = 1e-6 * static_cast<double>(connected_us_ - arrived_us_);
    const std::uint32_t ranks = nodes_.size();
    const StartTimes start{
        .ranks = ranks,
        .processes_s = seconds(gone_ - gathers_),
        .meeting_s = meeting_s,
        .predicted_meeting_s = job_.predicted_meeting_s ? job_.predicted_meeting_s(ranks) : 0,
        .state_s = seconds(Clock::now() - gone_) - meeting_s,
        .drawing_s = 1e-6 * static_cast<double>(drawing_us_)};
    run_.starts.push_back(start);
    log_.event(now(),
               fmt::format("{} processes were ready after {:.1f} ms and met in {:.1f} ms, "
                           "predicted {:.1f} ms; their state took {:.1f} ms",
                           ranks,
                           1e3 * start.processes_s,
                           1e3 * start.meeting_s,
                           1e3 * start.predicted_meeting_s,
                           1e3 * start.state_s));
}

}  // namespace orrery
