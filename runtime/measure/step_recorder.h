// SPDX-License-Identifier: Apache-2.0
// What one rank of a real run did, op by op, on its own clock: the last steps of the run. Written
// to files by runtime/measure/recording.h.
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
    std::int64_t cpu_ns = 0;  // processor time of the process meanwhile
    bool operator==(const RecordedOp&) const = default;
};

struct RecordedStep {
    std::int64_t step = 0;  // from 1
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    // When the rank came to the sum of all ranks' losses, which ends the step.
    std::int64_t loss_ns = 0;
    std::int64_t cpu_ns = 0;       // processor time of the process until `loss_ns`
    std::int64_t preemptions = 0;  // how often others took the processor away from it
    std::vector<RecordedOp> ops;   // in the order in which they began
    bool operator==(const RecordedStep&) const = default;
};

class StepRecorder {
public:
    explicit StepRecorder(std::size_t most_steps = 200) : most_steps_(most_steps) {}

    struct Clocks {
        std::int64_t steady_ns = 0;
        std::int64_t cpu_ns = 0;  // of the process: the transport has threads of its own
    };
    static Clocks now();

    void begin_step(std::int64_t step);
    void begin_loss() { loss_ = now(); }
    void end_step();
    // Ignored outside of steps (evaluation).
    void add(std::uint32_t slot, std::uint32_t op, const Clocks& begin, const Clocks& end);
    // On the steady clock: of a device that works beside the process. The ops of a step may come in
    // any order that keeps those of each stream.
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
