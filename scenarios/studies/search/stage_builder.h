// SPDX-License-Identifier: Apache-2.0
// Builds one stage of a plan's folded step (engine/folded/folded_step.h) from the timings of its
// chunks, in the order of the schedule.
#pragma once

#include <array>

#include "models/schedule/stage_work.h"
#include "scenarios/studies/search/plan_timer.h"

namespace orrery {

class PlanTimer::StageBuilder {
public:
    // `plan` has only the order of the passes (plan_of_order).
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

    // The reason why the stage does not fold; empty if it does.
    std::string_view build(std::int32_t stage,
                           std::vector<const ChunkTiming*> chunks,
                           const StepEnd& last);

private:
    ScheduleShape shape() const {
        return {.stages = static_cast<std::int32_t>(layouts_.mesh.size(layouts_.pipeline_digit)),
                .chunks = layouts_.chunks,
                .micro_batches = static_cast<std::int32_t>(plan_.num_micro_batches()),
                .flushes = static_cast<std::int32_t>(plan_.pipeline_flushes)};
    }
    const ChunkTiming& chunk(std::int32_t c) const { return *chunks_[static_cast<std::size_t>(c)]; }
    std::uint32_t number_of(const PassTiming& timing);
    // Each function below returns the number of the pass or of the message in its line.
    std::uint32_t add(const StageWork& work, const StepEnd& last);
    std::uint32_t message(Line line, std::optional<PassOpPlace> after, const WorkItem& item);
    std::uint32_t restart(const StageWork& work);
    std::uint32_t compute(const WorkItem& item);
    std::uint32_t send(const StageWork& work);
    std::optional<PassOpPlace> end_of_wait(const StageWork& work) const;
    PassOpPlace last_place(std::int32_t c, const ChunkPlace& place) const;
    void wait_for_messages(const WorkItem& item, ChunkPass which, const ChunkPassTiming& timing);
    void add_early_ops(const WorkItem& item, const ChunkPassTiming& timing, StagePass& pass);
    DataOp data_op(std::int32_t c, const ChunkDataOp& op, std::optional<PassOpPlace> also);
    void gather_parameters(const StageWork& work);
    void reduce_gradients(const StageWork& work);
    void reduce_tied(std::int32_t c);
    void optimizer(const StepEnd& last);

    const ParallelPlan& plan_;
    const LayoutAssignment& layouts_;
    StagePrices& prices_;
    const PassTiming& restart_timing_;
    FoldedStep& step_;
    std::map<const PassTiming*, std::uint32_t>& numbers_;
    std::optional<FixedTransfer>
        prices_of_lines_[kNumLines];  // of a chunk's message; filled on demand
    std::int32_t stage_ = 0;
    FoldedStage out_;
    std::vector<const ChunkTiming*> chunks_;
    StageWalk walk_;
    std::vector<std::uint32_t> numbers_of_work_;  // of passes and messages, by position in walk_
    std::vector<std::uint32_t> first_parameter_;  // data op, by chunk
    std::vector<bool> gated_;                     // by chunk: its first pass has been added
    // By chunk: the last pass of each kind, and by micro-batch the send of its forward pass.
    std::vector<std::array<std::uint32_t, 3>> last_pass_;
    std::vector<std::vector<std::uint32_t>> sent_forward_;
    std::vector<std::vector<std::uint32_t>> forward_pass_;
    // The last op that is not early, by stream; empty if an early op came after it.
    std::array<std::optional<PassOpPlace>, kEarlyStreams> last_on_stream_{};
    std::string_view why_;
};

}  // namespace orrery
