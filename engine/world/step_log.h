// SPDX-License-Identifier: Apache-2.0
// The records of an execution: the trace of the traced ranks, the sums of busy times, and the
// progress.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/world/rank_states.h"

namespace orrery {

class StepLog {
public:
    StepLog(const ExecutionPlan& plan, const RankStates& states);

    // Busy times of the last steps of all runs, without the runs counted by count_run().
    CauseTimes busy;

    // Counts a run of kernels in a last step, for `times` ranks.
    void count_run(const RunTimes& run, std::int64_t times);
    // Adds the counted runs to `busy`.
    void add_counted_runs();

    // Traces an op if the stream's rank is traced.
    void trace_item(RankStreamId id, const TapeItem& item, Time data_start, Time now);
    void trace_op(RankStreamId id, const SlotOp& place, const WalkedOp& walked);
    std::vector<TracedOp> take_trace() { return std::move(trace_); }

    void expect_ops(std::int64_t count) { ops_total_ += count; }
    void report_progress(const TapeItem& item, std::uint32_t size) {
        ops_done_ += std::int64_t{item.num_ops} * size;
        if (ops_done_ >= next_report_ && plan_.input.progress) {
            call_progress();
        }
    }

private:
    void add_work(const RunTimes& run, std::int64_t times);
    void call_progress();

    const ExecutionPlan& plan_;
    const RankStates& state_;
    bool undisturbed_;                         // no device changes during a run
    std::vector<std::int64_t> times_run_;      // by ExecutionPlan::number_of_run
    Table<RankClassId, std::vector<RankId>> traced_;
    std::vector<TracedOp> trace_;
    std::int64_t ops_done_ = 0;
    std::int64_t ops_total_ = 0;
    std::int64_t next_report_ = 0;
};

}  // namespace orrery
