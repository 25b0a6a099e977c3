// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/supervisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <memory>
#include <optional>

#include "runtime/state/checkpoint_choice.h"
#include "runtime/supervisor/event_log.h"
#include "runtime/supervisor/memories.h"
#include "runtime/supervisor/nodes.h"
#include "runtime/supervisor/stop_signals.h"
#include "runtime/supervisor/traffic_watch.h"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kTurn{20};
// Failures that come together are one: a member that dies takes its neighbours' exchanges along.
constexpr Milliseconds kSettle{150};
constexpr Milliseconds kHearing{3000};  // of all, where it is not clear who is cut off

// A node is slow that computes so much longer than the median, over so many steps.
constexpr std::int64_t kSlowSteps = 10;
constexpr double kSlowFactor = 2;

double seconds(Clock::duration time) {
    return std::chrono::duration<double>(time).count();
}

Milliseconds milliseconds(WallTime time) {
    return Milliseconds{time.microseconds() / 1000};
}

class Supervisor {
public:
    Supervisor(const SupervisedJob& job, EventLog& log)
        : job_(job),
          log_(log),
          machine_(job.shape, job.nodes, make_ladder(job.policies), job.limits),
          nodes_(job.command, job.nodes, job.patience),
          memories_(!job.shape.state_sharded),
          kept_shape_(job.shape) {
        machine_.keep_log(true);
    }

    Result<SupervisedRun> run();

private:
    enum class Phase : std::uint8_t {
        gathering,
        starting,
        training,
        settling,
        leaving,
        idle,
        ended
    };

    WallTime now() const {
        const auto us =
            std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin_);
        return WallTime::microseconds(us.count());
    }
    void say(const std::string& text) {
        log_.event(now(), text);
        if (job_.line) {
            job_.line(" supervisor: " + text);
        }
    }
    void turn();
    void hear(std::uint32_t node, const MemberReport& report);
    void look();
    void trouble(Clock::time_point since);
    void settle();
    bool hearing() const { return nodes_.verdict_is_open() && Clock::now() < trouble_ + kHearing; }
    void repaired();
    void watch_progress();
    void watch_slowness();
    void tell(Observation o);
    void obey(const std::vector<Action>& actions);
    void diagnose();
    void begin(const Action& restart);
    void begin_now();
    void choose_state(const Action& restart);
    void gather();
    void check_started();
    void check_done();
    Observation observation(ObservationKind kind) const;

    const SupervisedJob& job_;
    EventLog& log_;
    RecoveryMachine machine_;
    Nodes nodes_;
    std::deque<Observation> heard_;
    SupervisedRun run_;
    Phase phase_ = Phase::gathering;
    Clock::time_point begin_ = Clock::now();
    Clock::time_point deadline_;  // of the phase
    Clock::time_point progress_ = begin_;
    Clock::time_point trouble_ = begin_;
    std::optional<Clock::time_point> struck_;
    Clock::time_point ordered_ = begin_;
    std::string checkpoint_;
    std::filesystem::file_time_type since_;  // checkpoints of this run
    std::int64_t from_step_ = 0;
    std::int64_t step_ = 0;
    double stepping_s_ = 0;
    std::int64_t steps_ = 0;
    bool draining_ = false;
    std::vector<NodeNumber> drained_;  // who leaves
    std::optional<NodeNumber> told_slow_;
    std::vector<std::uint32_t> faults_;  // of the drill that have struck
    std::string operator_;               // why a human is needed
    TrafficWatch traffic_;
    Memories memories_;
    JobShape kept_shape_;  // of those who wrote the copies
    Action restart_;
};

Observation Supervisor::observation(ObservationKind kind) const {
    Observation o;
    o.time = now();
    o.kind = kind;
    o.step = step_;
    const auto stored = checkpoints_in(job_.checkpoint_folder, since_);
    o.durable_step = stored.empty() ? 0 : stored.front().step;
    o.memory_step = job_.policy<PeerCheckpoint>() != nullptr ? memories_.newest(kept_shape_) : -1;
    return o;
}

void Supervisor::tell(Observation o) {
    const std::vector<Action> actions = machine_.observe(o);
    log_.exchange(o, actions);
    obey(actions);
}

void Supervisor::obey(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
        if (job_.line) {
            job_.line(" recovery: " + to_line(action));
        }
        switch (action.kind) {
            case ActionKind::evict:
                nodes_.evict(action.node, Clock::now() + job_.repair);
                memories_.lose(action.node);
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

// Who never arrived: all others wait in an exchange for somebody.
void Supervisor::diagnose() {
    Observation o = observation(ObservationKind::diagnosis_done);
    o.nodes = nodes_.not_waiting();
    for (const std::string& line : nodes_.where_all_are()) {
        say(line);
    }
    o.verified_step = step_;
    heard_.push_back(o);
}

// The healthy stop first, all after the same step.
void Supervisor::begin(const Action& restart) {
    restart_ = restart;
    ordered_ = Clock::now();
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
    choose_state(restart_);
    if (from_step_ >= job_.steps) {
        phase_ = Phase::ended;  // all is done and saved
        return;
    }
    memories_.forget();
    nodes_.assign(machine_.state());
    if (restart_.extent == RestartExtent::full) {
        nodes_.kill_active();
    }
    phase_ = Phase::gathering;
    deadline_ = Clock::now() + job_.patience / 4;
    gather();
}

// Everybody who takes part has to be ready: who does not stop in time is killed and started again.
void Supervisor::gather() {
    const bool late = Clock::now() >= deadline_;
    if (const Result<void> started = nodes_.make_ready(late); !started) {
        operator_ = started.error().to_string();
        phase_ = Phase::ended;
        return;
    }
    if (late) {
        deadline_ = Clock::now() + job_.patience;
    }
    if (nodes_.all_ready()) {
        if (const Result<void> gone = nodes_.go(checkpoint_, faults_); !gone) {
            operator_ = gone.error().to_string();
            phase_ = Phase::ended;
            return;
        }
        kept_shape_ = nodes_.shape();
        told_slow_.reset();
        draining_ = false;
        drained_.clear();
        phase_ = Phase::starting;
        deadline_ = Clock::now() + job_.patience;
    }
}

void Supervisor::check_started() {
    if (nodes_.all_started()) {
        step_ = from_step_;
        phase_ = Phase::training;
        progress_ = Clock::now();
        traffic_.restart();
        if (!run_.interruptions.empty() && run_.interruptions.back().restart_s == 0) {
            Interruption& last = run_.interruptions.back();
            last.resumed_step = from_step_;
            last.restart_s = seconds(Clock::now() - ordered_);
        }
        return tell(observation(ObservationKind::training_started));
    }
    if (Clock::now() >= deadline_) {
        nodes_.kill_not_started();
    }
}

void Supervisor::hear(std::uint32_t node, const MemberReport& report) {
    if (!nodes_.hear(node, report, Clock::now())) {
        return;
    }
    switch (report.kind) {
        case ReportKind::fault:
            faults_.push_back(static_cast<std::uint32_t>(report.number));
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
        default:
            return;
    }
}

// Does everybody who takes part still live?
void Supervisor::look() {
    const bool running = phase_ == Phase::training || phase_ == Phase::starting ||
                         (phase_ == Phase::leaving && !nodes_.all_left());
    nodes_.note_deaths(Clock::now());
    if (running && nodes_.somebody_failed(milliseconds(job_.detection.heartbeat), Clock::now())) {
        trouble(Clock::now());
    }
}

void Supervisor::trouble(Clock::time_point since) {
    trouble_ = since;
    phase_ = Phase::settling;
    deadline_ = since + kSettle;
}

void Supervisor::settle() {
    const Failures failures = nodes_.failures(milliseconds(job_.detection.heartbeat), Clock::now());
    for (const NodeNumber node : failures.lost) {
        memories_.lose(node);
    }
    Observation o = observation(ObservationKind::fault_detected);
    tell_what(failures, o);
    for (const std::string& error : failures.errors) {
        say(error);
    }
    for (const NodeNumber node : failures.lost) {
        say(fmt::format("node {} is lost", node));
    }
    const auto from = struck_.value_or(trouble_);
    run_.interruptions.push_back({.what = std::string{name(o.fault)},
                                  .step = step_,
                                  .detect_s = seconds(Clock::now() - from)});
    struck_.reset();
    phase_ = Phase::idle;
    tell(o);
}

void Supervisor::repaired() {
    for (const NodeNumber node : nodes_.repaired(Clock::now())) {
        Observation o = observation(ObservationKind::node_ready);
        o.nodes = {node};
        heard_.push_back(o);
    }
}

void Supervisor::watch_progress() {
    if (phase_ != Phase::training) {
        return;
    }
    if (draining_ && nodes_.all_left()) {
        draining_ = false;
        phase_ = Phase::idle;
        Observation o = observation(ObservationKind::drained);
        o.nodes.swap(drained_);
        return tell(o);
    }
    const DetectionSpec& d = job_.detection;
    const bool dog = d.progress_watchdog > WallTime{} && d.progress_watchdog < d.collective_timeout;
    const Milliseconds limit = milliseconds(dog ? d.progress_watchdog : d.collective_timeout);
    if (Clock::now() - progress_ < limit) {
        return;
    }
    Observation o = observation(ObservationKind::fault_detected);
    o.detector = dog ? Detector::progress_watchdog : Detector::collective_timeout;
    o.fault = FaultKind::job_hang;
    say(fmt::format(
        "no step for {:.1f} s after step {}", seconds(Clock::now() - progress_), step_));
    run_.interruptions.push_back({.what = std::string{name(o.fault)},
                                  .step = step_,
                                  .detect_s = seconds(Clock::now() - struck_.value_or(progress_))});
    struck_.reset();
    phase_ = Phase::idle;
    tell(o);
}

void Supervisor::watch_slowness() {
    const auto* drain = job_.policy<PreemptiveDrain>();
    if (phase_ != Phase::training || draining_ || drain == nullptr || !drain->slow) {
        return;
    }
    const auto node = nodes_.slow_one(kSlowSteps, kSlowFactor);
    if (node && node != told_slow_) {
        told_slow_ = node;
        Observation o = observation(ObservationKind::node_slow);
        o.detector = Detector::step_outlier;
        o.fault = FaultKind::slow_host;
        o.nodes = {*node};
        tell(o);
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
    if (const Result<void> started = nodes_.start_all(); !started) {
        return unexpected<Error>(started.error());
    }
    for (std::uint32_t node = 0; node < job_.nodes; ++node) {
        log_.event(now(), fmt::format("node {} is process {}", node, nodes_.pid(node)));
    }
    since_ = job_.resume ? std::filesystem::file_time_type::min()
                         : std::filesystem::file_time_type::clock::now();
    const auto stored = job_.resume ? newest_intact(job_.checkpoint_folder) : std::nullopt;
    checkpoint_ = stored ? stored->folder.string() : "";
    from_step_ = stored ? stored->step : 0;
    nodes_.assign(machine_.state());
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

}  // namespace

Result<SupervisedRun> supervise(const SupervisedJob& job) {
    std::signal(SIGPIPE, SIG_IGN);
    const auto log = EventLog::open(job.event_file);
    if (!log) {
        return unexpected<Error>(log.error());
    }
    return Supervisor{job, **log}.run();
}

}  // namespace orrery
