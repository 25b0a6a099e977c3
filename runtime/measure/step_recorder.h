// SPDX-License-Identifier: Apache-2.0
// The ops of one rank of a real run on its own clock, for the last steps of the run.
// runtime/measure/recording.h writes them to files.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace orrery {

struct RecordedOp {
    std::uint32_t slot = 0;
    std::uint32_t op = 0;  // position in the slot's segment
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t cpu_ns = 0;  // processor time of the process between begin and end
    bool operator==(const RecordedOp&) const = default;
};

struct RecordedStep {
    std::int64_t step = 0;  // from 1
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    // The arrival of the rank at the sum of all ranks' losses, which ends the step.
    std::int64_t loss_ns = 0;
    std::int64_t cpu_ns = 0;       // processor time of the process until `loss_ns`
    std::int64_t preemptions = 0;  // number of involuntary context switches
    std::vector<RecordedOp> ops;   // in the order of their begins
    bool operator==(const RecordedStep&) const = default;
};

class StepRecorder {
public:
    explicit StepRecorder(std::size_t most_steps = 200) : most_steps_(most_steps) {}

    struct Clocks {
        std::int64_t steady_ns = 0;
        std::int64_t cpu_ns = 0;  // of the process, because the transport has threads of its own
    };
    static Clocks now();

    void begin_step(std::int64_t step);
    void begin_loss() { loss_ = now(); }
    void end_step();
    // Ignored outside of steps, as in an evaluation.
    void add(std::uint32_t slot, std::uint32_t op, const Clocks& begin, const Clocks& end);
    // For a device that works independently of the process; times on the steady clock. Ops of a
    // step may come in any order that keeps the order of each stream.
    void add(const RecordedOp& op);

    const std::deque<RecordedStep>& steps() const { return steps_; }

private:
    std::size_t most_steps_;
    std::deque<RecordedStep> steps_;
    RecordedStep current_;
    Clocks loss_;
    bool in_step_ = false;
};

}  // namespace orrery
