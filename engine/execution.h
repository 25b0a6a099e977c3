// SPDX-License-Identifier: Apache-2.0
// The event loop of the simulated executor over rank classes (engine/folding.h). Between events
// nothing is computed: a stream has at most one event (the end of its run, or a launch), a transfer
// at most one (the end of a latency, or of a transfer that nothing can slow down); ends of
// transfers that share links come from SharedRates. A run before a collective that nothing can slow
// down (a tensor-parallel one inside a node) has no event: it *promises* its arrival, and the
// collective has one event in all, at the latest arrival plus what it takes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/bundles.h"
#include "engine/event_queue.h"
#include "engine/event_state.h"
#include "engine/folding.h"
#include "engine/kernel_runs.h"
#include "engine/own_time.h"
#include "engine/rank_state.h"
#include "engine/role_tape.h"
#include "engine/simulation.h"
#include "engine/step_barrier.h"
#include "engine/teams.h"
#include "engine/transfers.h"

namespace orrery {

struct StepEnd {
    Time time;
    CauseTimes path;
    RankId rank{};
    bool reached = false;
};

// A part of a team's member ended, and perhaps not those of all members.
struct LoneEnd {
    std::uint32_t stream = 0;  // the member's
    std::uint32_t transfer = 0;
    std::uint32_t item = 0;
};

class Execution {
public:
    Execution(const SimulationInput& input,
              const Tapes& tapes,
              const Transfers& transfers,
              const Quotient& quotient,
              SharedRates& rates);

    // From the barrier of the last step but one, or all steps; false if no progress was possible
    // with work left.
    bool run();

    // Of a party, by step.
    const std::vector<StepEnd>& step_ends(std::uint32_t party) const { return step_ends_[party]; }
    const CauseTimes& busy() const { return busy_; }
    const std::vector<RankState>& ranks() const { return ranks_; }
    std::int64_t num_events() const { return num_events_; }
    std::vector<TracedOp> take_trace() { return std::move(trace_); }
    // Words for what waits on what.
    Error describe_deadlock() const;
    // Which op waits for which after a loss; empty if nothing was lost.
    std::optional<Hang> describe_hang() const;

private:
    friend class DeadlockReport;
    friend class HangReport;

    // Streams (execution.cpp)
    void begin_at_barrier(std::uint32_t r, const RoleBarrier& barrier);
    void set_up_runs();
    bool begin_runs(Time now);
    void begin_step(std::uint32_t r, Time now);
    void end_step(std::uint32_t r, Time now);
    void look_at(std::uint32_t stream, Time now);
    bool conditions_hold(std::uint32_t stream, const TapeItem& item, Time now);
    void begin_run(std::uint32_t stream, const TapeItem& item, Time now);
    void end_run(std::uint32_t stream, Time now);
    void finish_run(std::uint32_t stream, const TapeItem& item, Time end);
    void add_work(const RunTimes& run, std::int64_t times);
    void add_all_work();
    void end_item(std::uint32_t stream, const TapeItem& item, Time now);
    void expect_event(StreamState& stream);
    bool awaits_event(const StreamState& stream) const;
    void queued_event(std::uint32_t stream, Time now);
    void stream_event(std::uint32_t stream, Time now);
    void handle(const Event& event, Time now);
    void work_off(Time now);
    void drain(Time now, std::size_t first = 0);
    void report_progress(const TapeItem& item, std::uint32_t size);

    // Calls f with each stream of a rank that has a run under way.
    template <class F>
    void for_each_run(std::uint32_t r, F f) {
        for (std::uint64_t left = ranks_[r].running; left != 0; left &= left - 1) {
            f(stream_of(r, static_cast<std::uint32_t>(std::countr_zero(left))));
        }
    }
    void walk_runs(std::uint32_t r, Time now);
    void schedule_walks(std::uint32_t r);
    void change_held(std::uint32_t r, Time now, std::int64_t sms);
    void trace_walk(std::uint32_t stream, Time now);
    void find_role_sms();
    std::uint32_t sms_of(std::uint32_t r, const TapeItem& item) const;

    // Transfers (execution_transfers.cpp)
    void arrive(std::uint32_t stream, const TapeItem& item, Time now);
    // Over all steps: of the channel's messages.
    std::uint32_t sequence_of(std::uint32_t r, const TapePart& part) const {
        return ranks_[r].step * tape_of(r).channels[part.channel].messages_per_step + part.sequence;
    }
    void join(std::uint32_t stream, const TapePart& part, Time now);
    std::uint32_t open_transfer(std::uint32_t channel,
                                std::uint32_t sequence,
                                std::uint32_t message);
    std::uint32_t new_transfer(std::uint32_t channel,
                               std::uint32_t sequence,
                               std::uint32_t message);
    void close_transfer(std::uint32_t id);
    bool promise(std::uint32_t stream, const TapeItem& item, Time due);
    void expect_end(std::uint32_t id);
    void keep_promises(std::uint32_t id, Time now);
    void begin_transfer(std::uint32_t id, Time now);
    void continue_transfer(std::uint32_t id, Time now);
    void start_parts(std::uint32_t id, Time now);
    void own_flow(std::uint32_t id, std::uint32_t part, FlowId flow, std::uint32_t path = kOwnPath);
    void end_transfer(std::uint32_t id, Time now);
    void end_part_of(std::uint32_t stream, std::uint32_t transfer, Time now);
    void end_part(std::uint32_t stream, const OpenTransfer& transfer, Time now);
    void transfer_event(std::uint32_t id, Time now);
    void flows_end(Time now);

    // Messages between teams (execution_bundles.cpp)
    void set_up_bundles();
    bool join_bundle(std::uint32_t stream, const TapePart& part, Time now);
    bool any_apart(const Bundle& bundle, std::uint32_t sequence) const;
    void take_apart(std::uint32_t id);
    void take_apart_parted();
    void take_apart_all();
    void end_bundle(std::uint32_t id, Time now);

    // Transfers that nothing disturbs (execution_lone.cpp)
    bool begin_alone(std::uint32_t id, Time now);
    void join_flows(std::uint32_t id, Time now);
    void end_alone_or_not(std::uint32_t id);
    void disturb(std::uint32_t channel, std::int32_t change);
    std::span<const std::uint32_t> disturbed_by(std::uint32_t channel) const {
        return {quotient_.disturbed.data() + channels_[channel].first_disturbed,
                channels_[channel].num_disturbed};
    }

    // Events in the middle of the step (execution_events.cpp)
    void set_up_events();
    // Of what neither the queue nor the network knows of.
    Time next_outside_event() const {
        return std::min(starts_.empty() ? Time::max() : starts_.back(),
                        events_ == nullptr ? Time::max() : events_->next_time());
    }
    bool happen(Time now);
    void change_devices(const DeviceChange& change, Time now);
    void lose_rank(std::uint32_t r, Time now);
    void lose_transfer(std::uint32_t id);
    void await_path(std::uint32_t id, std::uint32_t part, Bytes bytes, Time now);
    void take_path(const WaitingPart& waiting, Time now);
    void leave_paths(Time now);
    bool meets_outage(std::uint32_t part) const {
        return events_ != nullptr && quotient_.around.contains(part);
    }

    // Teams (execution_teams.cpp)
    void set_up_teams();
    void end_part_of_team(std::uint32_t stream, std::uint32_t transfer, Time now);
    bool part_teams(Time now);
    void part(std::uint32_t leader, std::uint64_t leaving);
    void part_all(std::uint32_t leader);
    void copy_state(std::uint32_t from, std::uint32_t to);
    void count_sizes(std::uint32_t leader);
    void join_teams(Time now);
    void join(std::uint32_t leader, std::uint32_t joining);
    bool alike(std::uint32_t a, std::uint32_t b, Time now) const;
    bool start_is_past(std::uint32_t stream) const;
    bool walk_alike(std::uint32_t a, std::uint32_t b) const;
    void leave_leaders();
    bool follows(std::uint32_t r) const { return leader_[r] != r; }
    // Of a stream that may be a follower's: its state is in memory that was not used lately.
    std::uint32_t member_of(std::uint32_t id) const { return id >> stream_bits_; }
    // The stream whose state counts for a member's.
    std::uint32_t leading(std::uint32_t id) const {
        const std::uint32_t r = member_of(id);
        return id + ((leader_[r] - r) << stream_bits_);
    }
    // Calls f with each rank class that a leader stands for, in ascending order.
    template <class F>
    void for_each_led(std::uint32_t r, F f) const {
        const std::uint32_t* members = &teams_.members[teams_.teams[teams_.team_of[r]].first];
        for (std::uint64_t left = ranks_[r].led; left != 0; left &= left - 1) {
            f(members[std::countr_zero(left)]);
        }
    }

    // Teams by their own clocks (execution_own_time.cpp)
    const ChannelMessage& meeting_message(std::uint32_t r, const TapeItem& item) const;
    Time next_due(std::uint32_t r) const;
    void catch_up(std::uint32_t r, Time until);
    void touch(std::uint32_t r, Time now);
    void wake(std::uint32_t r, Time now);
    void meet(std::uint32_t stream, const TapeItem& item, Time now);
    void end_meeting(std::uint32_t stream, Time now);
    Time earliest_start(std::uint32_t stream) const;
    Time earliest_end(std::uint32_t stream, std::uint32_t items) const;
    void plan_wake(std::uint32_t r);
    void plan_wakes();
    bool may_keep_own_time(std::uint32_t r) const;
    void begin_own_time(std::uint32_t r);
    void end_own_time(std::uint32_t r);
    void disturb_own_time(std::uint32_t channel, Time now);
    void end_all_own_time(Time until);

    std::uint32_t rank_of(std::uint32_t stream) const { return streams_[stream].rank; }
    std::uint32_t stream_of(std::uint32_t r, std::uint32_t s) const {
        return (r << stream_bits_) + s;
    }
    const RoleTape& tape_of(std::uint32_t r) const { return *ranks_[r].tape; }
    const TapeItem& item_of(std::uint32_t stream) const {
        return streams_[stream].tape->items[streams_[stream].item];
    }
    const TapeItem& item_after(std::uint32_t stream) const { return *(&item_of(stream) + 1); }
    Time promised_arrival(std::uint32_t stream) const {
        return std::max(streams_[stream].due,
                        ranks_[rank_of(stream)].host_start + item_after(stream).launch);
    }
    // What is asked for at once arrives at once: memory is waited for once, not once a member.
    template <class T>
    static void prefetch_all(const T* what, std::size_t bytes = sizeof(T)) {
        for (std::size_t at = 0; at < bytes; at += 64) {
            __builtin_prefetch(reinterpret_cast<const char*>(what) + at, 1);
        }
    }
    void prefetch_rank(std::uint32_t r) const {
        prefetch_all(&ranks_[r], offsetof(RankState, host_path));
    }
    void prefetch(const Event& event) const;
    void prefetch_transfers(std::uint32_t r, std::uint32_t channel) const;
    std::uint32_t party_of(std::uint32_t r) const { return party_of_role_[ranks_[r].role]; }
    bool last_step(std::uint32_t r) const { return ranks_[r].in_last_step; }
    void enter_step(std::uint32_t r, std::uint32_t step) {
        ranks_[r].step = step;
        ranks_[r].in_last_step = step + 1 == runs_[party_of(r)].steps;
    }
    CauseTimes launch_path(std::uint32_t r, const TapeItem& item) const;
    void schedule(std::uint32_t stream, Time due);
    void trace_item(std::uint32_t stream, const TapeItem& item, Time data_start, Time now);

    const SimulationInput& input_;
    const Tapes& tapes_;
    const Transfers& transfers_;
    const Quotient& quotient_;
    SharedRates& rates_;
    std::uint32_t num_streams_;
    std::uint32_t stream_bits_;  // of a stream's number in its position in streams_
    bool schedules_arrivals_;    // Accelerations::scheduled_arrivals
    std::optional<std::vector<RoleBarrier>> barriers_;  // by role

    std::vector<RunTimes> run_times_;
    std::vector<std::int64_t> times_run_;  // in the last step, on all ranks
    std::vector<StreamState> streams_;     // rank class by rank class
    std::vector<RankState> ranks_;
    std::vector<RunWalk> walks_;          // by stream; empty if no run is ever walked
    std::vector<ChannelState> channels_;  // by channel class
    std::vector<OpenTransfer> pool_;
    std::vector<std::uint32_t> free_;
    std::vector<std::uint32_t> flow_owner_;  // by FlowId
    std::vector<FlowId> ended_flows_;
    std::vector<std::uint32_t> ended_owners_;
    std::vector<std::uint32_t> ready_;
    std::vector<std::uint32_t> closed_;  // transfers that ended at this instant: not free yet
    EventQueue queue_;
    bool rates_changed_ = false;
    Time instant_;  // the one that is being or was last worked on

    std::unique_ptr<EventState> events_;  // null if nothing happens

    Teams teams_;
    std::vector<std::uint32_t> leader_;  // by rank class: whose state counts for it
    std::vector<LoneEnd> lone_ends_;
    std::vector<std::uint32_t> meetings_;  // teams with events that have just met
    static constexpr std::uint32_t kOwnTime = std::uint32_t{1} << 31;  // target: a team, by leader
    OwnTime own_time_;
    std::vector<std::uint32_t> touched_;  // leaders to whom something happened that has own time

    Bundles bundles_;
    std::vector<std::uint32_t> apart_;  // what took the place of a bundle's transfer

    std::vector<PartyRun> runs_;
    std::vector<std::uint32_t> party_of_role_;
    std::vector<Time> starts_;  // of parties that have not begun, the earliest last
    std::vector<std::vector<StepEnd>> step_ends_;  // by party
    CauseTimes busy_;
    std::uint32_t ranks_left_ = 0;
    std::vector<std::vector<RankId>> traced_;  // by rank class
    std::vector<TracedOp> trace_;
    std::vector<WalkedOp> walked_;
    static constexpr std::uint32_t kSmsUnknown = UINT32_MAX;
    static constexpr std::uint32_t kSmsDiffer = UINT32_MAX - 1;
    std::vector<std::vector<std::uint32_t>> role_sms_;  // by role and channel of its tape
    std::int64_t num_events_ = 0;
    std::int64_t ops_done_ = 0;
    std::int64_t ops_total_ = 0;
    std::int64_t next_report_ = 0;
};

}  // namespace orrery
