// SPDX-License-Identifier: Apache-2.0
// The time of a training step without contention, from far fewer events than the executor's
// (engine/world/execution.h): if all ranks of a pipeline stage do the same at the same times, one
// stands for all, and a pass over a micro-batch is one event (engine/folded/pass_timing.h). What
// happens between passes is simulated by the same rules (engine/world/simulation.h), so that the
// result is the same to the picosecond: messages between stages wait for both sides and hold SMs
// from arrival to end, and so does what the data stream does beside the passes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/folded/pass_timing.h"

namespace orrery {

// A transfer that all members of a stage are in at the same time, or one between two stages.
struct FixedTransfer {
    Time alone{};
    std::uint32_t sms = 0;
};

enum class Line : std::uint8_t { forward_receive, forward_send, backward_receive, backward_send };
inline constexpr std::size_t kNumLines = 4;

// One message of a line. The k-th message of a line is the k-th of the other side's line.
struct LineMessage {
    // Not before this op of this pass has ended; pass -1: at once.
    std::int32_t after_pass = -1;
    std::uint32_t after_op = 0;
    std::uint32_t launch = 0;  // launches of the step up to it
    FixedTransfer transfer{};
};

// A wait until a number of messages of the line have ended.
struct LineWait {
    std::uint8_t line = 0;
    std::uint32_t messages = 0;
};

struct PassOpPlace {
    std::uint32_t pass = 0;
    std::uint32_t op = 0;
};

// An op of a pass has to wait for the end of a data op, of an early op or of the messages of a
// line.
enum class GateKind : std::uint8_t { data, early, line };
struct PassGate {
    std::uint32_t op = 0;
    GateKind kind = GateKind::data;
    std::uint8_t line = 0;     // or stream of early ops
    std::uint32_t number = 0;  // of the data op or the early op; how many messages
};

// An exchange that belongs to a pass and waits for none of its ops. It starts in the order of the
// passes when its stream is free, perhaps while the pass before is still under way.
inline constexpr std::size_t kEarlyStreams = 2;
struct EarlyOp {
    std::uint32_t num_after = 0;
    PassOpPlace after[2]{};
    bool after_last = false;       // not before the early op before it has ended
    std::uint32_t first_wait = 0;  // FoldedStage::waits
    std::uint32_t num_waits = 0;
    std::uint32_t launch = 0;
    FixedTransfer transfer{};
};

struct StagePass {
    std::uint32_t timing = 0;  // FoldedStep::timings
    std::uint32_t launches_before = 0;
    std::uint32_t first_wait = 0;  // FoldedStage::waits
    std::uint32_t num_waits = 0;
    std::uint32_t data_ops_before = 0;            // ops of the data stream that have to end before
    std::uint32_t early_before[kEarlyStreams]{};  // and ops of the early streams
    std::uint32_t first_gate = 0;                 // FoldedStage::gates
    std::uint32_t num_gates = 0;
};

struct DataOp {
    std::vector<PassOpPlace> after{};
    std::uint32_t launch = 0;
    FixedTransfer transfer{};
    // -1: of this stage alone; else all stages whose next op has this number meet.
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

// The step ends with the barrier, a data op on which all stages meet, and each stage's tail.
// Launches of a tail have to be past by then.
struct FoldedStep {
    std::vector<const PassTiming*> timings{};
    std::vector<FoldedStage> stages{};
    std::vector<std::uint32_t> meeting_sizes{};  // of each meeting; the last one is the barrier
    Time launch_cost{};
};

// From barrier to barrier; nothing if what the rules above take for granted does not hold.
std::optional<Time> period_of(const FoldedStep& step);

}  // namespace orrery
