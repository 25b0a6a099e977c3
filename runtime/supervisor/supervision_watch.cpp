// SPDX-License-Identifier: Apache-2.0
// The supervisor's own observations: members that died or are silent, a training without progress,
// slow members.
#include <fmt/format.h>

#include "runtime/supervisor/supervision.h"
#include "runtime/supervisor/waiting_line.h"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// Time to wait for all reports if the cut-off member is not clear
constexpr Milliseconds kHearing{3000};

// A node counts as slow if it computes this many times the median over this number of steps.
constexpr std::int64_t kSlowSteps = 10;
constexpr double kSlowFactor = 2;

}  // namespace

bool Supervisor::hearing() const {
    return nodes_.verdict_is_open() && Clock::now() < trouble_ + kHearing;
}

// Checks that every member is alive.
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
                                  .told_us = o.time.microseconds(),
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

// Prints now and then what a stopped job waits for.
void Supervisor::remind() {
    if (!remind_ || Clock::now() < *remind_) {
        return;
    }
    remind_ = Clock::now() + job_.reminder;
    std::vector<std::uint32_t> slots;
    for (const std::uint32_t slot : machine_.state().vacancies) {
        if (machine_.state().slots[slot].vacancy == Vacancy::open) {
            slots.push_back(slot);
        }
    }
    say(waiting_line(slots, nodes_.in_repair(Clock::now())));
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
    const Detection hang = hang_detection(job_.detection);
    if (Clock::now() - progress_ < milliseconds(hang.latency)) {
        return;
    }
    Observation o = observation(ObservationKind::fault_detected);
    o.detector = hang.detector;
    o.fault = FaultKind::job_hang;
    say(fmt::format(
        "no step for {:.1f} s after step {}", seconds(Clock::now() - progress_), step_));
    run_.interruptions.push_back({.what = std::string{name(o.fault)},
                                  .step = step_,
                                  .told_us = o.time.microseconds(),
                                  .detect_s = seconds(Clock::now() - struck_.value_or(progress_))});
    struck_.reset();
    phase_ = Phase::idle;
    tell(o);
}

void Supervisor::watch_slowness() {
    const bool drains = std::ranges::any_of(
        machine_.ladder(), [](const auto& policy) { return policy->drains_slow_nodes(); });
    if (phase_ != Phase::training || draining_ || !drains) {
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

}  // namespace orrery
