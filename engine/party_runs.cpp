// SPDX-License-Identifier: Apache-2.0
#include "engine/party_runs.h"

#include <algorithm>
#include <utility>

#include "engine/check.h"
#include "engine/execution.h"

namespace orrery {

namespace {

constexpr Time kLongAgo = Time::picoseconds(-(std::int64_t{1} << 60));

}  // namespace

PartyRuns::PartyRuns(Execution& execution)
    : ExecutionPart(execution), runs_(plan_.input.program->parties.size()), ranks_(runs_.size()) {
    for (std::uint32_t r = 0; r < state_.ranks.size(); ++r) {
        ranks_[state_.job_of(r)].push_back(r);
    }
}

// --- runs ---

PartyRuns::Run& PartyRuns::add(std::uint32_t party, Time at, std::uint32_t steps) {
    Run& run = runs_[party];
    ORRERY_CHECK(!run.under_way && steps > 0 && at >= clock_.instant);
    run = {.start = at,
           .steps = steps,
           .ranks_left = static_cast<std::uint32_t>(ranks_[party].size()),
           .under_way = true,
           .ends = std::vector<StepEnd>(steps),
           .barriers = {}};
    ++num_left_;
    const auto later = std::ranges::find_if(starts_, [&](const Start& s) { return s.at <= at; });
    starts_.insert(later, {at, party});
    return run;
}

void PartyRuns::start(std::uint32_t party, Time at, std::uint32_t steps) {
    add(party, at, steps);
    for (const std::uint32_t r : ranks_[party]) {
        log_.expect_ops(state_.tape_of(r).num_ops * plan_.quotient.ranks[r].size * steps);
    }
}

void PartyRuns::start_at_barrier(std::uint32_t party,
                                 std::uint32_t steps,
                                 std::vector<RoleBarrier> barriers) {
    ORRERY_CHECK(steps > 1);
    add(party, Time{}, steps).barriers = std::move(barriers);
    for (const std::uint32_t r : ranks_[party]) {  // the last step, and a little
        log_.expect_ops(state_.tape_of(r).num_ops * plan_.quotient.ranks[r].size);
    }
}

bool PartyRuns::begin_due(Time now) {
    if (next_start() != now) {
        return false;
    }
    while (next_start() == now) {
        const std::uint32_t party = starts_.back().party;
        starts_.pop_back();
        begin(party, now);
    }
    parts_.streams.process_ready(now);
    return true;
}

void PartyRuns::begin(std::uint32_t party, Time now) {
    const Run& run = runs_[party];
    for (const std::uint32_t r : ranks_[party]) {
        if (state_.follows(r)) {
            continue;
        }
        parts_.clocks.catch_up_before(r, now);
        RankState& rank = state_.ranks[r];
        rank.host_path = {};
        rank.host_path[Cause::launch] = now;  // a path begins at time zero
        if (run.barriers.empty()) {
            enter_step(r, 0);
            begin_step(r, now);
        } else {
            begin_at_barrier(r, run.barriers[rank.role]);
        }
    }
}

void PartyRuns::end_rank(std::uint32_t party, std::uint32_t width) {
    Run& run = runs_[party];
    run.ranks_left -= width;
    if (run.ranks_left == 0) {
        run.under_way = false;
        --num_left_;
        ended_.insert(ended_.begin(), party);
    }
}

RunEnd PartyRuns::take_ended() {
    const std::uint32_t party = ended_.back();
    ended_.pop_back();
    return {.party = party, .start = runs_[party].start, .steps = std::move(runs_[party].ends)};
}

// --- steps ---

void PartyRuns::enter_step(std::uint32_t r, std::uint32_t step) {
    state_.ranks[r].step = step;
    state_.ranks[r].in_last_step = step + 1 == runs_[state_.job_of(r)].steps;
}

// In the last step but one. What led here is the same for all ranks: paths count from here as well.
void PartyRuns::begin_at_barrier(std::uint32_t r, const RoleBarrier& barrier) {
    RankState& rank = state_.ranks[r];
    enter_step(r, runs_[state_.job_of(r)].steps - 2);
    rank.host_start = kLongAgo;
    rank.streams_left = 0;
    for (std::uint32_t s = 0; s < state_.tape_of(r).streams.size(); ++s) {
        StreamState& stream = state_.streams[state_.stream_of(r, s)];
        stream.item = barrier.ended[s];
        stream.ended = s == barrier.stream ? Time{} : kLongAgo;
        if (stream.item < stream.tape->items.size()) {
            stream.phase = StreamPhase::ready;
            ++rank.streams_left;
            parts_.streams.add_ready(state_.stream_of(r, s));
        }
    }
    if (rank.streams_left == 0) {
        end_step(r, Time{});
    }
}

void PartyRuns::begin_step(std::uint32_t r, Time now) {
    RankState& rank = state_.ranks[r];
    if (rank.lost) {
        return;  // between two runs
    }
    rank.host_start = now;
    rank.streams_left = 0;
    for (std::uint32_t s = 0; s < state_.tape_of(r).streams.size(); ++s) {
        const std::uint32_t id = state_.stream_of(r, s);
        StreamState& stream = state_.streams[id];
        stream.item = 0;
        stream.ended = now;
        stream.path = rank.host_path;
        stream.phase = StreamPhase::done;
        if (!stream.tape->items.empty()) {
            stream.phase = StreamPhase::ready;
            ++rank.streams_left;
            parts_.streams.add_ready(id);
        }
    }
    if (rank.streams_left == 0) {
        // A role without ops: none of its steps takes any time.
        end_rank(state_.job_of(r), rank.width);
    }
}

void PartyRuns::end_step(std::uint32_t r, Time now) {
    RankState& rank = state_.ranks[r];
    std::uint32_t last = 0;
    while (state_.streams[state_.stream_of(r, last)].ended != now) {
        ++last;
    }
    rank.host_path = state_.streams[state_.stream_of(r, last)].path;
    ORRERY_CHECK(rank.host_path.total() == now);
    const std::uint32_t party = state_.job_of(r);
    StepEnd& end = runs_[party].ends[rank.step];
    const RankId id = plan_.quotient.ranks[r].representative;
    if (!end.reached || now > end.time || (now == end.time && id < end.rank)) {
        end = {now, rank.host_path, id, true};
    }
    if (rank.in_last_step) {
        end_rank(party, rank.width);
        return;
    }
    enter_step(r, rank.step + 1);
    begin_step(r, now);
}

}  // namespace orrery
