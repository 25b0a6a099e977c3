// SPDX-License-Identifier: Apache-2.0
// The event loop of engine/folded/folded_step.h. Sources: stages and their messages in
// folded_step.cpp, passes in folded_passes.cpp, skipped rounds in folded_rounds.cpp.
#pragma once

#include <algorithm>
#include <bit>
#include <tuple>

#include "engine/folded/folded_step.h"

namespace orrery {

inline constexpr Time kNever = Time::max();

// An op of a pass whose end a message or a data op waits for.
struct PassWatch {
    std::uint32_t op = 0;
    Time end = kNever;
};

struct FoldedLineState {
    std::uint32_t next = 0;  // index of the next message
    bool arrived = false;
};

struct FoldedStageState {
    // index of the current or next pass
    std::uint32_t pass = 0;
    bool working = false;
    // Before this cut launches or gates may bind, so that this part is computed as a whole.
    std::uint32_t gated_to = 0;
    bool launch_bound = false;
    std::vector<Time> gate_times;
    std::uint32_t cut = 0;      // the last known cut
    Time base;                  // its time
    Time next_cut;              // time of the next cut, if `held` has changes
    bool next_known = false;    // `next_cut` and `op_ends` are valid for the present changes
    std::vector<Time> op_ends;  // relative to `base`: ends of the ops up to the next cut
    std::vector<HeldSms> held;  // at `base`, then its changes
    std::vector<PassWatch> watches;
    std::vector<Time> op_earliest;
    std::vector<std::uint32_t> closed;  // gates that were closed at the start of the pass
    std::vector<std::uint32_t> gated;   // the ops of these gates
    bool dirty = false;
    bool to_poll = false;
    std::uint32_t sms = 0;
    Time due = kNever;  // end of the next watched op

    FoldedLineState lines[kNumLines];
    std::uint32_t data_next = 0;
    bool data_arrived = false;
    std::vector<Time> data_end;
    std::uint32_t early_next[kEarlyStreams]{};
    std::vector<Time> early_end[kEarlyStreams];
    Time start;  // of the step
    Time wake = kNever;
};

enum class FoldedEventKind : std::uint8_t { message, data, early, meeting, wake };

struct FoldedEvent {
    Time time;
    std::uint32_t stage = 0;
    std::uint32_t line = 0;
    FoldedEventKind what = FoldedEventKind::message;
    std::uint32_t sms = 0;  // SMs that an early op releases
    // Order of a heap with the least time on top
    bool operator<(const FoldedEvent& other) const { return time > other.time; }
};

// The due time of each stage: a tree of minima whose root is the earliest.
class DueTimes {
public:
    explicit DueTimes(std::size_t stages)
        : leaves_(std::bit_ceil(stages)), least_(2 * leaves_, kNever) {}

    void set(std::size_t stage, Time due) {
        std::size_t node = leaves_ + stage;
        least_[node] = due;
        while (node > 1) {
            node /= 2;
            const Time least = std::min(least_[2 * node], least_[2 * node + 1]);
            if (least_[node] == least) {
                return;
            }
            least_[node] = least;
        }
    }
    Time first() const { return least_[1]; }
    // The lowest stage that is due at first().
    std::uint32_t first_stage() const {
        std::size_t node = 1;
        while (node < leaves_) {
            node = 2 * node + (least_[2 * node] == least_[node] ? 0 : 1);
        }
        return static_cast<std::uint32_t>(node - leaves_);
    }

private:
    std::size_t leaves_;
    std::vector<Time> least_;
};

// The progress of a stage.
struct FoldedPlace {
    std::uint32_t pass = 0;
    std::uint32_t lines[kNumLines]{};
    std::uint32_t early[kEarlyStreams]{};
};

// The state of all stages at a time: everything that decides the rest of the step, relative to that
// time.
struct FoldedRound {
    Time time;
    std::vector<FoldedPlace> places;
    std::vector<std::int64_t> state;
};

class FoldedSimulation {
public:
    // `every_round` simulates repeated rounds, too.
    explicit FoldedSimulation(const FoldedStep& step, bool every_round = false)
        : step_(step),
          stages_(step.stages.size()),
          meeting_arrivals_(step.meeting_sizes.size(), 0),
          due_(step.stages.size()) {
        if (!every_round) {
            find_rounds();
        }
    }

    std::optional<Time> run();
    std::uint32_t rounds_left_out() const { return rounds_left_out_; }

private:
    const FoldedStage& plan(std::uint32_t s) const { return step_.stages[s]; }
    const PassTiming& timing(std::uint32_t s) const {
        return *step_.timings[plan(s).passes[stages_[s].pass].timing];
    }
    Time launch(std::uint32_t s, std::uint32_t launches) const {
        return stages_[s].start + step_.launch_cost * launches;
    }
    void schedule(Time time,
                  FoldedEventKind what,
                  std::uint32_t stage,
                  std::uint32_t line = 0,
                  std::uint32_t sms = 0) {
        events_.push_back({time, stage, line, what, sms});
        std::push_heap(events_.begin(), events_.end());
    }

    void mark_to_poll(std::uint32_t s) {
        if (!stages_[s].to_poll) {
            stages_[s].to_poll = true;
            to_poll_.push_back(s);
        }
    }

    Time next_time() const {
        return events_.empty() ? due_.first() : std::min(events_.front().time, due_.first());
    }

    void mark_dirty(std::uint32_t s) {
        if (!stages_[s].dirty) {
            stages_[s].dirty = true;
            dirty_.push_back(s);
        }
    }

    void begin(std::uint32_t s);
    void handle(const FoldedEvent& event);
    void end_watched(std::uint32_t s);
    void end_message(std::uint32_t s, std::uint32_t line);
    void end_meeting(std::uint32_t meeting);
    void set_due(std::uint32_t s, Time due) {
        stages_[s].due = due;
        due_.set(s, due);
    }
    void poll(std::uint32_t s);
    bool launched(std::uint32_t s, std::uint32_t launches);
    bool has_ended(std::uint32_t s, std::int32_t pass, std::uint32_t op) const {
        const FoldedStageState& stage = stages_[s];
        const auto current = static_cast<std::int32_t>(stage.pass);
        if (pass != current) {
            return pass < current;
        }
        return stage.working && std::ranges::none_of(stage.watches, [&](const PassWatch& watch) {
                   return watch.op == op;
               });
    }
    bool messages_ended(std::uint32_t s, std::uint32_t first, std::uint32_t count) const;
    bool start_pass(std::uint32_t s);
    void close_gates(std::uint32_t s, const StagePass& pass);
    Time time_of(std::uint32_t s, const PassGate& gate) const;
    void look_at_gates(std::uint32_t s, const StagePass& pass);
    bool start_early(std::uint32_t s, std::size_t stream);
    void find_watches(std::uint32_t s);
    void arrive(std::uint32_t s, std::uint32_t line);
    void arrive_data(std::uint32_t s);
    void end_data(std::uint32_t s);
    void change_sms(std::uint32_t s, std::int64_t change);
    void pass_cuts(std::uint32_t s);
    void disturb(std::uint32_t s);
    void predict(std::uint32_t s);
    std::uint32_t peer_of(std::uint32_t s, std::uint32_t line) const;
    bool all_done() const;
    void find_rounds();
    void look_at_round();
    FoldedRound round_now() const;
    std::uint32_t rounds_alike(const FoldedRound& from, const FoldedRound& to) const;
    void leave_out(const FoldedRound& from, const FoldedRound& to, std::uint32_t rounds);

    const FoldedStep& step_;
    std::vector<FoldedStageState> stages_;
    std::vector<std::uint32_t> meeting_arrivals_;
    std::vector<FoldedEvent> events_;
    DueTimes due_;
    std::vector<std::uint32_t> to_poll_;
    std::vector<std::uint32_t> dirty_;  // stages whose next event must be predicted again
    Time now_;
    bool failed_ = false;

    std::uint32_t round_passes_ = 0;  // of the first stage
    // The pass of the first stage that begins the next round
    std::uint32_t next_round_ = UINT32_MAX;
    std::uint32_t num_rounds_ = 0;
    FoldedRound known_round_;
    bool waited_for_launch_ = false;  // since known_round_
    std::uint32_t rounds_left_out_ = 0;
    std::optional<Time> barrier_;
};

}  // namespace orrery
