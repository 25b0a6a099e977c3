// SPDX-License-Identifier: Apache-2.0
// The part of FoldedSimulation that skips rounds. In the middle of a step a pipeline repeats
// itself: after a number of passes of the first stage, all stages are in the same state again, but
// for the time and the numbers of their passes and messages. The future depends only on that state
// and on the rest of the plan. If a round ends in the state in which it began, and if the plan
// repeats for R more such rounds, each of them takes the same time. They need not be simulated, and
// the result is the same to the picosecond.
#include <bit>
#include <optional>

#include "engine/folded/folded_simulation.h"

namespace orrery {

namespace {

constexpr std::size_t kLeastPasses = 12;

std::int64_t relative(Time time, Time now) {
    return time == kNever ? INT64_MAX : (time - now).picoseconds();
}

// The time until `time`; 0 if it is past, because past ends no longer matter.
std::int64_t ahead(Time time, Time now) {
    return time == kNever ? INT64_MAX : std::max<std::int64_t>(0, (time - now).picoseconds());
}

// The growth of a stage's numbers from one round to the next.
struct Growth {
    std::uint32_t passes = 0;
    std::uint32_t launches = 0;
    std::uint32_t lines[kNumLines]{};
    std::uint32_t early[kEarlyStreams]{};
};

Growth growth_between(const FoldedStage& plan, const FoldedPlace& from, const FoldedPlace& to) {
    Growth by{.passes = to.pass - from.pass};
    if (to.pass < plan.passes.size()) {
        by.launches = plan.passes[to.pass].launches_before - plan.passes[from.pass].launches_before;
    }
    for (std::size_t l = 0; l < kNumLines; ++l) {
        by.lines[l] = to.lines[l] - from.lines[l];
    }
    for (std::size_t e = 0; e < kEarlyStreams; ++e) {
        by.early[e] = to.early[e] - from.early[e];
    }
    return by;
}

bool waits_repeat(const FoldedStage& plan,
                  std::uint32_t first,
                  std::uint32_t next,
                  std::uint32_t count,
                  const Growth& by) {
    for (std::uint32_t w = 0; w < count; ++w) {
        const LineWait& a = plan.waits[first + w];
        const LineWait& b = plan.waits[next + w];
        if (a.line != b.line || a.messages + by.lines[a.line] != b.messages) {
            return false;
        }
    }
    return true;
}

bool gates_repeat(const FoldedStage& plan, const StagePass& a, const StagePass& b, Growth by) {
    for (std::uint32_t g = 0; g < a.num_gates; ++g) {
        const PassGate& x = plan.gates[a.first_gate + g];
        const PassGate& y = plan.gates[b.first_gate + g];
        const bool early = x.kind == GateKind::early;
        if (x.op != y.op || x.kind != y.kind || x.line != y.line || x.kind == GateKind::data ||
            x.number + (early ? by.early[x.line] : by.lines[x.line]) != y.number) {
            return false;
        }
    }
    return true;
}

bool pass_repeats(const FoldedStage& plan, std::uint32_t pass, const Growth& by) {
    const StagePass& a = plan.passes[pass];
    const StagePass& b = plan.passes[pass + by.passes];
    for (std::size_t e = 0; e < kEarlyStreams; ++e) {
        const std::uint32_t grown = a.early_before[e] == 0 ? 0 : a.early_before[e] + by.early[e];
        if (grown != b.early_before[e]) {
            return false;
        }
    }
    return a.timing == b.timing && a.launches_before + by.launches == b.launches_before &&
           a.data_ops_before == b.data_ops_before && a.num_waits == b.num_waits &&
           a.num_gates == b.num_gates &&
           waits_repeat(plan, a.first_wait, b.first_wait, a.num_waits, by) &&
           gates_repeat(plan, a, b, by);
}

bool message_repeats(const LineMessage& a, const LineMessage& b, const Growth& by) {
    return a.after_pass >= 0 &&
           a.after_pass + static_cast<std::int32_t>(by.passes) == b.after_pass &&
           a.after_op == b.after_op && a.launch + by.launches == b.launch &&
           a.transfer.alone == b.transfer.alone && a.transfer.sms == b.transfer.sms;
}

bool early_repeats(const FoldedStage& plan, const EarlyOp& a, const EarlyOp& b, const Growth& by) {
    for (std::uint32_t i = 0; i < a.num_after; ++i) {
        if (a.after[i].pass + by.passes != b.after[i].pass || a.after[i].op != b.after[i].op) {
            return false;
        }
    }
    return a.num_after == b.num_after && a.after_last == b.after_last &&
           a.num_waits == b.num_waits && a.launch + by.launches == b.launch &&
           a.transfer.alone == b.transfer.alone && a.transfer.sms == b.transfer.sms &&
           waits_repeat(plan, a.first_wait, b.first_wait, a.num_waits, by);
}

// The number of rounds after `to` that depend on no pass from `end` on.
std::uint32_t rounds_before(std::uint32_t end, const FoldedPlace& to, std::uint32_t passes) {
    return end < to.pass + 2 ? 0 : (end - to.pass - 2) / passes + 1;
}

std::optional<std::uint32_t> pass_before(const LineMessage& message) {
    return message.after_pass < 0 ? std::nullopt
                                  : std::optional{static_cast<std::uint32_t>(message.after_pass)};
}

std::optional<std::uint32_t> pass_before(const EarlyOp& op) {
    return op.num_after == 0 ? std::nullopt : std::optional{op.after[0].pass};
}

// For the messages of a line or for early ops, with `period` of them a round: the number of rounds
// for which they repeat. A round depends on entries up to the first one after a later pass.
template <class Entry, class Repeats>
std::uint32_t rounds_of(const std::vector<Entry>& entries,
                        std::uint32_t first,
                        std::uint32_t period,
                        const FoldedPlace& to,
                        const Growth& by,
                        Repeats repeats) {
    if (period == 0) {
        if (first == entries.size()) {
            return UINT32_MAX;
        }
        const std::optional<std::uint32_t> pass = pass_before(entries[first]);
        return pass ? rounds_before(*pass, to, by.passes) : 0;
    }
    std::uint32_t end = 0;
    for (std::uint32_t e = first;
         e + period < entries.size() && repeats(entries[e], entries[e + period]);
         ++e) {
        end = pass_before(entries[e]).value_or(end);
    }
    return rounds_before(end, to, by.passes);
}

}  // namespace

// Finds the shortest period of the first stage's passes in the middle of its step; without one no
// round is skipped. A guess is enough, because look_at_round() compares the states.
void FoldedSimulation::find_rounds() {
    const std::vector<StagePass>& passes = plan(0).passes;
    const std::size_t n = passes.size();
    if (n < kLeastPasses) {
        return;
    }
    const auto alike = [&](const StagePass& a, const StagePass& b) {
        return a.timing == b.timing && a.num_waits == b.num_waits && a.num_gates == b.num_gates;
    };
    for (std::size_t period = 1; period <= n / 4; ++period) {
        std::size_t p = n / 3;
        while (p + period < 2 * n / 3 && alike(passes[p], passes[p + period])) {
            ++p;
        }
        if (p + period >= 2 * n / 3) {
            round_passes_ = static_cast<std::uint32_t>(period);
            next_round_ = round_passes_;
            return;
        }
    }
}

FoldedRound FoldedSimulation::round_now() const {
    FoldedRound round{.time = now_, .places = {}, .state = {}};
    std::vector<std::int64_t>& state = round.state;
    for (const FoldedStageState& stage : stages_) {
        FoldedPlace place{.pass = stage.pass};
        state.insert(state.end(),
                     {stage.working,
                      stage.sms,
                      stage.data_next,
                      stage.data_arrived,
                      relative(stage.wake, now_)});
        for (std::size_t l = 0; l < kNumLines; ++l) {
            place.lines[l] = stage.lines[l].next;
            state.push_back(stage.lines[l].arrived);
        }
        for (std::size_t e = 0; e < kEarlyStreams; ++e) {
            place.early[e] = stage.early_next[e];
            for (std::uint32_t i = place.early[e]; i-- > 0;) {
                if (stage.early_end[e][i] > now_) {
                    state.push_back(std::int64_t{place.early[e]} - i);
                    state.push_back(ahead(stage.early_end[e][i], now_));
                }
            }
            state.push_back(-1);
        }
        round.places.push_back(place);
        if (!stage.working) {
            continue;
        }
        state.insert(state.end(),
                     {stage.gated_to,
                      stage.cut,
                      relative(stage.base, now_),
                      stage.next_known ? relative(stage.next_cut, now_) : INT64_MIN,
                      relative(stage.due, now_)});
        for (const HeldSms& held : stage.held) {
            state.insert(state.end(), {relative(held.since, now_), held.sms});
        }
        state.push_back(-1);
        for (const PassWatch& watch : stage.watches) {
            state.insert(state.end(), {watch.op, relative(watch.end, now_)});
        }
        state.push_back(-1);
        for (const Time gate : stage.gate_times) {
            state.push_back(relative(gate, now_));
        }
    }
    state.insert(state.end(), meeting_arrivals_.begin(), meeting_arrivals_.end());
    std::vector<FoldedEvent> events = events_;
    std::ranges::sort(events, {}, [](const FoldedEvent& e) {
        return std::tuple{e.time, e.stage, e.line, e.what, e.sms};
    });
    for (const FoldedEvent& e : events) {
        state.insert(
            state.end(),
            {relative(e.time, now_), e.stage, e.line, static_cast<std::int64_t>(e.what), e.sms});
    }
    return round;
}

// The number of further rounds in which the plan repeats the part used by the round from `from` to
// `to`.
std::uint32_t FoldedSimulation::rounds_alike(const FoldedRound& from, const FoldedRound& to) const {
    std::uint32_t rounds = UINT32_MAX;
    for (std::uint32_t s = 0; s < stages_.size() && rounds > 0; ++s) {
        const FoldedPlace& a = from.places[s];
        const FoldedPlace& b = to.places[s];
        const Growth by = growth_between(plan(s), a, b);
        // The host must keep up.
        if (by.passes == 0 || step_.launch_cost * by.launches > to.time - from.time) {
            return 0;
        }
        std::uint32_t pass = a.pass;
        while (pass + by.passes < plan(s).passes.size() && pass_repeats(plan(s), pass, by) &&
               plan(s).passes[pass].data_ops_before <= stages_[s].data_next) {
            ++pass;
        }
        rounds = std::min(rounds, rounds_before(pass, b, by.passes));
        for (std::size_t l = 0; l < kNumLines; ++l) {
            const auto repeats = [&](const LineMessage& x, const LineMessage& y) {
                return message_repeats(x, y, by);
            };
            rounds = std::min(rounds,
                              rounds_of(plan(s).lines[l], a.lines[l], by.lines[l], b, by, repeats));
        }
        for (std::size_t e = 0; e < kEarlyStreams; ++e) {
            const auto repeats = [&](const EarlyOp& x, const EarlyOp& y) {
                return early_repeats(plan(s), x, y, by);
            };
            rounds = std::min(rounds,
                              rounds_of(plan(s).early[e], a.early[e], by.early[e], b, by, repeats));
        }
        const auto& data = plan(s).data;
        const std::uint32_t next = stages_[s].data_next;
        if (stages_[s].data_arrived || (next < data.size() && data[next].after.empty())) {
            return 0;
        }
        if (next < data.size()) {
            rounds = std::min(rounds, rounds_before(data[next].after.front().pass, b, by.passes));
        }
    }
    return rounds;
}

void FoldedSimulation::leave_out(const FoldedRound& from,
                                 const FoldedRound& to,
                                 std::uint32_t rounds) {
    const Time period = to.time - from.time;
    const Time later = period * std::int64_t{rounds};
    const auto put_off = [&](Time& time) { time = time == kNever ? time : time + later; };
    for (std::uint32_t s = 0; s < stages_.size(); ++s) {
        FoldedStageState& stage = stages_[s];
        const Growth by = growth_between(plan(s), from.places[s], to.places[s]);
        stage.pass += rounds * by.passes;
        for (std::size_t l = 0; l < kNumLines; ++l) {
            stage.lines[l].next += rounds * by.lines[l];
        }
        for (std::size_t e = 0; e < kEarlyStreams; ++e) {
            for (std::uint32_t i = 0; i < rounds * by.early[e]; ++i) {
                std::uint32_t& next = stage.early_next[e];
                stage.early_end[e][next] = stage.early_end[e][next - by.early[e]] + period;
                ++next;
            }
        }
        put_off(stage.base);
        put_off(stage.next_cut);
        put_off(stage.due);
        due_.set(s, stage.due);
        std::ranges::for_each(stage.gate_times, put_off);
        for (HeldSms& held : stage.held) {
            put_off(held.since);
        }
        for (PassWatch& watch : stage.watches) {
            put_off(watch.end);
        }
    }
    for (FoldedEvent& event : events_) {
        put_off(event.time);  // the order of events stays the same
    }
    now_ += later;
}

// Called at the end of an instant at which the first stage has ended a round. The stages may
// alternate, with a period of several rounds. By R. P. Brent's rule (BIT 20, 1980) each round is
// therefore compared with the last one whose number is a power of two. While messages slow passes
// down, the stages settle too slowly for this.
void FoldedSimulation::look_at_round() {
    constexpr std::uint32_t kMost = 64;
    FoldedRound round = round_now();
    ++num_rounds_;
    next_round_ = num_rounds_ < kMost ? stages_[0].pass + round_passes_ : UINT32_MAX;
    if (!waited_for_launch_ && round.state == known_round_.state) {
        const std::uint32_t rounds = rounds_alike(known_round_, round);
        if (rounds > 0) {
            leave_out(known_round_, round, rounds);
            rounds_left_out_ += rounds;
            next_round_ = stages_[0].pass + round_passes_;
            num_rounds_ = 0;
            known_round_.state.clear();
            return;
        }
    }
    if (std::has_single_bit(num_rounds_)) {
        known_round_ = std::move(round);
        waited_for_launch_ = false;
    }
}

}  // namespace orrery
