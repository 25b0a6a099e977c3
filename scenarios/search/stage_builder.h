// SPDX-License-Identifier: Apache-2.0
// One stage of a plan's folded step (engine/folded_step.h), put together from the timings of its
// chunks in the order of the schedule.
#pragma once

#include <array>

#include "models/schedule/schedule.h"
#include "scenarios/search/plan_timer.h"

namespace orrery {

// Follows models/lowering.cpp: what each stage does in which order, and what waits for what.
class PlanTimer::StageBuilder {
public:
    // `plan`: of the order of the passes alone (plan_of_order).
    StageBuilder(const ParallelPlan& plan,
                 const LayoutAssignment& layouts,
                 StagePrices& prices,
                 const PassTiming& restart,
                 FoldedStep& step,
                 std::map<const PassTiming*, std::uint32_t>& numbers)
        : plan_(plan),
          layouts_(layouts),
          prices_(prices),
          restart_timing_(restart),
          step_(step),
          numbers_(numbers) {}

    // Why the stage does not fold, or nothing.
    std::string_view build(std::int32_t stage,
                           std::vector<const ChunkTiming*> chunks,
                           const StepEnd& last);

private:
    std::int32_t stages() const {
        return static_cast<std::int32_t>(layouts_.mesh.size(layouts_.pipeline_axis));
    }
    bool is_first(std::int32_t chunk) const { return chunk == 0 && stage_ == 0; }
    bool is_last(std::int32_t chunk) const {
        return chunk + 1 == layouts_.chunks && stage_ + 1 == stages();
    }
    const ChunkTiming& chunk(std::int32_t c) const { return *chunks_[static_cast<std::size_t>(c)]; }
    std::uint32_t number_of(const PassTiming& timing);
    void message(Line line, std::int32_t pass, std::uint32_t op, bool up, Bytes bytes);
    void receive(const WorkItem& item);
    std::uint32_t last_op_of(std::uint32_t pass) const;
    void exchanges(Line line);
    void restart();
    void compute(const WorkItem& item);
    void wait_for_messages(const WorkItem& item, ChunkPass which, const ChunkPassTiming& timing);
    void add_early_ops(const WorkItem& item, const ChunkPassTiming& timing, StagePass& pass);
    void send(const WorkItem& item);
    void gradients(std::int32_t c, bool after_all);
    void end(const StepEnd& last);

    const ParallelPlan& plan_;
    const LayoutAssignment& layouts_;
    StagePrices& prices_;
    const PassTiming& restart_timing_;
    FoldedStep& step_;
    std::map<const PassTiming*, std::uint32_t>& numbers_;
    std::optional<FixedTransfer>
        prices_of_lines_[kNumLines];  // of a chunk's message, once asked for
    std::int32_t stage_ = 0;
    FoldedStage out_;
    std::vector<const ChunkTiming*> chunks_;
    std::vector<std::uint32_t> first_parameter_;  // data op, by chunk
    std::vector<bool> gated_;                     // by chunk: its first pass has been
    std::vector<LineWait> exchange_;              // messages that the host waits for
    std::vector<std::uint32_t> computed_;         // passes of chunks
    // By chunk: the last pass of each kind, and by micro-batch the send of its forward pass.
    std::vector<std::array<std::uint32_t, 3>> last_pass_;
    std::vector<std::vector<std::uint32_t>> sent_forward_;
    std::vector<std::vector<std::uint32_t>> forward_pass_;
    // What is no early op, by stream; nothing if an early one came after it.
    std::array<std::optional<PassOpPlace>, kEarlyStreams> last_on_stream_{};
    std::string_view why_;
};

}  // namespace orrery
