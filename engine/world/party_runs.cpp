// SPDX-License-Identifier: Apache-2.0
#include "engine/world/party_runs.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/world/execution.h"

namespace orrery {

namespace {

constexpr Time kLongAgo = Time::picoseconds(-(std::int64_t{1} << 60));

}  // namespace

PartyRuns::PartyRuns(Execution& execution)
    : ExecutionPart(execution), runs_(plan_.input.program->parties.size()), ranks_(runs_.size()) {
    for (const RankClassId r : state_.ranks.ids()) {
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
    for (const RankClassId r : ranks_[party]) {
        log_.expect_ops(state_.tape_of(r).num_ops * plan_.quotient.ranks[r].size * steps);
    }
}

void PartyRuns::start_at_barrier(std::uint32_t party,
                                 std::uint32_t steps,
                                 std::vector<RoleBarrier> barriers) {
    ORRERY_CHECK(steps > 1);
    add(party, Time{}, steps).barriers = std::move(barriers);
    // twice: the last step, and the end of the step before it
    for (const RankClassId r : ranks_[party]) {
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
    for (const RankClassId r : ranks_[party]) {
        if (state_.follows(r)) {
            continue;
        }
        parts_.clocks.catch_up_before(r, now);
        RankState& rank = state_.ranks[r];
        rank.host_path = {};
        rank.host_path[Cause::launch] = now;  // paths begin at time zero
        if (run.barriers.empty()) {
            begin_first_step(r, now);
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

// The host of a rank begins a step. A stream enters it when it has ended the step before.
void PartyRuns::begin_step(RankClassId r, std::uint32_t step, Time now) {
    RankState& rank = state_.ranks[r];
    rank.step = step;
    rank.in_last_step = step + 1 == runs_[state_.job_of(r)].steps;
    rank.entered = now;
    rank.streams_left = 0;
    rank.host_reads_left = 0;
    state_.clear_ends(r);
    for (const TapeStream& stream : rank.tape->streams) {
        rank.streams_left += stream.items.empty() ? 0 : 1;
        rank.host_reads_left += stream.host_items > 0 ? 1 : 0;
    }
}

void PartyRuns::begin_first_step(RankClassId r, Time now) {
    RankState& rank = state_.ranks[r];
    if (rank.lost) {
        return;  // between two runs
    }
    begin_step(r, 0, now);
    rank.host_start = now;
    for (std::uint32_t s = 0; s < rank.tape->streams.size(); ++s) {
        const RankStreamId id = state_.stream_of(r, s);
        state_.streams[id].ended = kLongAgo;  // the run before is over
        enter(id, 0);
    }
    if (rank.streams_left == 0) {
        // A role without ops: its steps take no time.
        end_rank(state_.job_of(r), rank.width);
    }
}

// Starts in the last step but one. All ranks share the past, so that paths, too, count from here.
void PartyRuns::begin_at_barrier(RankClassId r, const RoleBarrier& barrier) {
    RankState& rank = state_.ranks[r];
    begin_step(r, runs_[state_.job_of(r)].steps - 2, Time{});
    rank.host_start = kLongAgo;
    for (std::uint32_t s = 0; s < rank.tape->streams.size(); ++s) {
        const RankStreamId id = state_.stream_of(r, s);
        StreamState& stream = state_.streams[id];
        stream.step = rank.step;
        stream.item = barrier.ended[s];
        stream.ended = s == barrier.stream ? Time{} : kLongAgo;
        if (stream.item < stream.tape->items.size()) {
            stream.phase = StreamPhase::ready;
            parts_.streams.add_ready(id);
        } else if (stream.item > 0) {
            state_.offer_end(state_.step_ends[r].last, stream);
            --rank.streams_left;
            --rank.host_reads_left;
        }
    }
    if (rank.streams_left == 0) {
        state_.step_ends[r].read = state_.step_ends[r].last;
        end_step(r, rank.step, state_.step_ends[r].last);
        next_step(r, Time{});
    }
}

void PartyRuns::enter(RankStreamId id, std::uint32_t step) {
    StreamState& stream = state_.streams[id];
    stream.step = step;
    stream.item = 0;
    stream.phase = StreamPhase::done;
    if (!stream.tape->items.empty()) {
        stream.phase = StreamPhase::ready;
        parts_.streams.add_ready(id);
    }
}

void PartyRuns::end_stream(RankStreamId id) {
    StreamState& stream = state_.streams[id];
    const RankClassId r = stream.rank;
    RankState& rank = state_.ranks[r];
    stream.phase = StreamPhase::done;
    if (stream.step == rank.step) {
        state_.offer_end(state_.step_ends[r].last, stream);
        if (--rank.streams_left == 0) {
            end_step(r, rank.step, state_.step_ends[r].last);
        }
        return;
    }
    std::vector<OlderStep>& older = state_.older_steps[r];
    const auto own = std::ranges::find(older, stream.step, &OlderStep::step);
    own->last_end.offer(stream);
    if (--own->streams_left == 0) {
        end_step(r, own->step, own->last_end);
        older.erase(own);
    }
    enter(id, stream.step + 1);
}

void PartyRuns::end_host_read(RankStreamId id, Time now) {
    RankState& rank = state_.ranks[state_.rank_of(id)];
    state_.offer_end(state_.step_ends[state_.rank_of(id)].read, state_.streams[id]);
    if (--rank.host_reads_left == 0 && !rank.in_last_step) {
        next_step(state_.rank_of(id), now);
    }
}

// The host has read all results that it waits for.
void PartyRuns::next_step(RankClassId r, Time now) {
    RankState& rank = state_.ranks[r];
    if (rank.streams_left > 0) {
        state_.older_steps[r].push_back({.step = rank.step,
                                         .streams_left = rank.streams_left,
                                         .entered = rank.entered,
                                         .host_start = rank.host_start,
                                         .host_path = rank.host_path,
                                         .last_end = state_.step_ends[r].last});
    }
    const Time launched = rank.host_start + rank.tape->last_launch;
    if (launched > now) {
        rank.host_start = launched;
        rank.host_path[Cause::launch] += rank.tape->last_launch;
    } else {
        rank.host_start = now;
        rank.host_path = state_.step_ends[r].read.path;
    }
    ORRERY_CHECK(rank.host_path.total() == rank.host_start);
    begin_step(r, rank.step + 1, now);
    for (std::uint32_t s = 0; s < rank.tape->streams.size(); ++s) {
        const RankStreamId id = state_.stream_of(r, s);
        if (state_.streams[id].phase == StreamPhase::done) {
            enter(id, rank.step);
        }
    }
}

// All streams of a rank have ended the step.
void PartyRuns::end_step(RankClassId r, std::uint32_t step, const LastEnd& last) {
    const std::uint32_t party = state_.job_of(r);
    Run& run = runs_[party];
    StepEnd& end = run.ends[step];
    const RankId id = plan_.quotient.ranks[r].representative;
    if (!end.reached || last.time > end.time || (last.time == end.time && id < end.rank)) {
        end = {last.time, last.path, id, true};
    }
    ORRERY_CHECK(last.path.total() == last.time);
    if (step + 1 == run.steps) {
        end_rank(party, state_.ranks[r].width);
    }
}

}  // namespace orrery
