// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/step_recorder.h"

#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace orrery {
namespace {

std::int64_t nanoseconds_of(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::int64_t preemptions() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

}  // namespace

// CLOCK_MONOTONIC is the clock of std::chrono::steady_clock on Linux.
StepRecorder::Clocks StepRecorder::now() {
    return {.steady_ns = nanoseconds_of(CLOCK_MONOTONIC),
            .cpu_ns = nanoseconds_of(CLOCK_PROCESS_CPUTIME_ID)};
}

void StepRecorder::begin_step(std::int64_t step) {
    const std::size_t ops = steps_.empty() ? 0 : steps_.back().ops.size();
    current_ = {.step = step, .preemptions = preemptions(), .ops = {}};
    current_.ops.reserve(ops);
    in_step_ = true;
    loss_ = {};
    const Clocks begin = now();
    current_.begin_ns = begin.steady_ns;
    current_.cpu_ns = -begin.cpu_ns;
}

void StepRecorder::end_step() {
    const Clocks end = now();
    current_.end_ns = end.steady_ns;
    const Clocks& loss = loss_.steady_ns == 0 ? end : loss_;
    current_.cpu_ns += loss.cpu_ns;
    current_.loss_ns = loss.steady_ns;
    current_.preemptions = preemptions() - current_.preemptions;
    in_step_ = false;
    std::ranges::stable_sort(current_.ops, {}, &RecordedOp::begin_ns);
    steps_.push_back(std::move(current_));
    if (steps_.size() > most_steps_) {
        steps_.pop_front();
    }
}

void StepRecorder::add(std::uint32_t slot,
                       std::uint32_t op,
                       const Clocks& begin,
                       const Clocks& end) {
    add({slot, op, begin.steady_ns, end.steady_ns, end.cpu_ns - begin.cpu_ns});
}

void StepRecorder::add(const RecordedOp& op) {
    if (in_step_) {
        current_.ops.push_back(op);
    }
}

}  // namespace orrery
