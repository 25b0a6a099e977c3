// SPDX-License-Identifier: Apache-2.0
// The time of a training step without contention, from far fewer events than the executor's
// (engine/world/execution.h). If all ranks of a pipeline stage always do the same, one rank
// represents the stage, and a pass over a micro-batch is one event (engine/folded/pass_timing.h).
// The ops between passes follow the same rules (engine/world/simulation.h), so that the result is
// equal to the picosecond: messages between stages wait for both sides and hold SMs from arrival to
// end, and so do the ops of the data stream.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/folded/pass_timing.h"

namespace orrery {

// A transfer in which all members of a stage take part at the same time, or a message between two
// stages.
struct FixedTransfer {
    Time alone{};
    std::uint32_t sms = 0;
};

enum class Line : std::uint8_t { forward_receive, forward_send, backward_receive, backward_send };
inline constexpr std::size_t kNumLines = 4;

// One message of a line. The k-th message of a line pairs with the k-th of the other side's line.
struct LineMessage {
    // It waits for this op of this pass; pass -1: no wait.
    std::int32_t after_pass = -1;
    std::uint32_t after_op = 0;
    std::uint32_t launch = 0;  // launches of the step up to and including it
    FixedTransfer transfer{};
};

// A wait until `messages` messages of the line have ended.
struct LineWait {
    std::uint8_t line = 0;
    std::uint32_t messages = 0;
};

struct PassOpPlace {
    std::uint32_t pass = 0;
    std::uint32_t op = 0;
};

// An op of a pass that waits for a data op, for an early op or for messages of a line.
enum class GateKind : std::uint8_t { data, early, line };
struct PassGate {
    std::uint32_t op = 0;
    GateKind kind = GateKind::data;
    std::uint8_t line = 0;     // or the stream of early ops
    std::uint32_t number = 0;  // index of the data op or early op, or the number of messages
};

// An exchange that belongs to a pass but waits for none of its ops. It starts in the order of the
// passes when its stream is free, perhaps while the pass before is still running.
inline constexpr std::size_t kEarlyStreams = 2;
struct EarlyOp {
    std::uint32_t num_after = 0;
    PassOpPlace after[2]{};
    bool after_last = false;       // it also waits for the early op before it
    std::uint32_t first_wait = 0;  // index into FoldedStage::waits
    std::uint32_t num_waits = 0;
    std::uint32_t launch = 0;
    FixedTransfer transfer{};
};

struct StagePass {
    std::uint32_t timing = 0;  // index into FoldedStep::timings
    std::uint32_t launches_before = 0;
    std::uint32_t first_wait = 0;  // index into FoldedStage::waits
    std::uint32_t num_waits = 0;
    std::uint32_t data_ops_before = 0;  // ops of the data stream that must end before it
    // Ops of the early streams that must end before it
    std::uint32_t early_before[kEarlyStreams]{};
    std::uint32_t first_gate = 0;  // index into FoldedStage::gates
    std::uint32_t num_gates = 0;
};

struct DataOp {
    std::vector<PassOpPlace> after{};
    std::uint32_t launch = 0;
    FixedTransfer transfer{};
    // -1: an op of this stage alone; otherwise all stages whose next data op has this number meet.
    std::int32_t meeting = -1;
};

struct FoldedStage {
    std::vector<StagePass> passes{};
    std::vector<LineWait> waits{};
    std::vector<PassGate> gates{};
    std::vector<EarlyOp> early[kEarlyStreams]{};
    std::vector<DataOp> data{};
    std::vector<LineMessage> lines[kNumLines]{};
    Time tail{};  // from the barrier to the end of the stage's step
    std::uint32_t launches = 0;
};

// The step ends with the barrier, a data op on which all stages meet, and each stage's tail. All
// launches of a tail must be past when the barrier ends.
struct FoldedStep {
    std::vector<const PassTiming*> timings{};
    std::vector<FoldedStage> stages{};
    // Stages in each meeting; the last meeting is the barrier
    std::vector<std::uint32_t> meeting_sizes{};
    Time launch_cost{};
};

// The time from barrier to barrier; no value if a condition above does not hold.
std::optional<Time> period_of(const FoldedStep& step);

}  // namespace orrery
