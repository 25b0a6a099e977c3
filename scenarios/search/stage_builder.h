// SPDX-License-Identifier: Apache-2.0
// One stage of a plan's folded step (engine/folded_step.h), put together from the timings of its
// chunks in the order of the schedule.
#pragma once

#include <array>

#include "models/schedule/schedule.h"
#include "scenarios/search/plan_timer.h"

namespace orrery {

// Gradient norm, the barrier, and the optimizer behind it.
struct PlanTimer::StepEnd {
    bool fits = false;
    PassTiming norm{};
    std::optional<FixedTransfer> barrier{};  // nothing: a rank alone
    Time tail{};
    std::uint32_t tail_launches = 0;
};

// Follows models/lowering.cpp: what each stage does in which order, and what waits for what.
class PlanTimer::StageBuilder {
public:
    StageBuilder(PlanTimer& timer,
                 const ParallelPlan& plan,
                 const LayoutAssignment& layouts,
                 StagePrices& prices,
                 FoldedStep& step,
                 std::map<const PassTiming*, std::uint32_t>& numbers)
        : timer_(timer),
          plan_(plan),
          layouts_(layouts),
          prices_(prices),
          step_(step),
          numbers_(numbers) {}

    bool build(std::int32_t stage, const std::vector<std::int64_t>& split);

private:
    std::int32_t stages() const {
        return static_cast<std::int32_t>(layouts_.mesh.size(layouts_.pipeline_axis));
    }
    bool is_first(std::int32_t chunk) const { return chunk == 0 && stage_ == 0; }
    bool is_last(std::int32_t chunk) const {
        return chunk + 1 == layouts_.chunks && stage_ + 1 == stages();
    }
    const ChunkTiming& chunk(std::int32_t c) const { return *chunks_[static_cast<std::size_t>(c)]; }
    bool find_chunks(const std::vector<std::int64_t>& split);
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
    void end();

    PlanTimer& timer_;
    const ParallelPlan& plan_;
    const LayoutAssignment& layouts_;
    StagePrices& prices_;
    FoldedStep& step_;
    std::map<const PassTiming*, std::uint32_t>& numbers_;
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
    bool good_ = true;
};

}  // namespace orrery
