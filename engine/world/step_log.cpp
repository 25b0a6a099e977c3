// SPDX-License-Identifier: Apache-2.0
#include "engine/world/step_log.h"

#include <algorithm>

namespace orrery {

StepLog::StepLog(const ExecutionPlan& plan, const RankStates& states)
    : plan_(plan),
      state_(states),
      undisturbed_(plan.input.events.empty()),
      times_run_(plan.run_times.size() + plan.loaded_runs.runs.size(), 0),
      traced_(plan.quotient.ranks.size()) {
    for (const RankId rank : plan.input.traced_ranks) {
        traced_[plan.quotient.class_of_rank[rank]].push_back(rank);
    }
}

void StepLog::add_work(const RunTimes& run, std::int64_t times) {
    for (std::size_t c = 0; c < kNumOpCauses; ++c) {
        busy.of[c] += run.work.of[c] * times;
    }
}

void StepLog::count_run(const RunTimes& run, std::int64_t times) {
    if (undisturbed_) {
        times_run_[plan_.number_of_run(run)] += times;
    } else {
        add_work(run, times);  // the run may be a mixed one (device changed)
    }
}

void StepLog::add_counted_runs() {
    for (std::size_t run = 0; run < times_run_.size(); ++run) {
        add_work(plan_.run_of_number(run), times_run_[run]);
        times_run_[run] = 0;
    }
}

void StepLog::trace_item(RankStreamId id, const TapeItem& item, Time data_start, Time now) {
    const RankClassId r = state_.rank_of(id);
    const SlotOp& place = state_.streams[id].tape->ops[item.first_op];
    for (const RankId rank : traced_[r]) {
        trace_.push_back({.rank = rank,
                          .step = state_.streams[id].step,
                          .slot = place.slot,
                          .op = place.op,
                          .start = state_.streams[id].start,
                          .data_start = data_start,
                          .end = now});
    }
}

void StepLog::trace_op(RankStreamId id, const SlotOp& place, const WalkedOp& walked) {
    for (const RankId rank : traced_[state_.rank_of(id)]) {
        trace_.push_back({.rank = rank,
                          .step = state_.streams[id].step,
                          .slot = place.slot,
                          .op = place.op,
                          .start = walked.begin,
                          .data_start = walked.begin,
                          .end = walked.end});
    }
}

void StepLog::call_progress() {
    plan_.input.progress(
        std::min(1.0, static_cast<double>(ops_done_) / static_cast<double>(ops_total_)));
    next_report_ = ops_done_ + ops_total_ / 200;
}

}  // namespace orrery
