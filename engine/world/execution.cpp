// SPDX-License-Identifier: Apache-2.0
#include "engine/world/execution.h"

#include <algorithm>
#include <bit>

namespace orrery {
namespace {

// Prefetches the streams that the end of an item may wake. They were last used long ago.
void prefetch_blocked(const RankStates& state, RankClassId r) {
    for (std::uint64_t left = state.ranks[r].blocked; left != 0; left &= left - 1) {
        const auto s = static_cast<std::uint32_t>(std::countr_zero(left));
        prefetch_line(&state.streams[state.stream_of(r, s)]);
    }
}

}  // namespace

ExecutionPart::ExecutionPart(Execution& execution)
    : parts_(execution),
      plan_(execution.plan),
      clock_(execution.clock),
      state_(execution.state),
      open_(execution.open),
      log_(execution.log) {}

Execution::Execution(const ExecutionPlan& plan_of_programs, SharedRates& rates)
    : plan(plan_of_programs),
      clock(rates),
      state(plan),
      open(plan, clock, static_cast<std::uint32_t>(state.streams.size())),
      log(plan, state),
      streams(*this),
      kernels(*this),
      transfers(*this),
      runs(*this),
      events(*this),
      exclusive(*this),
      bundles(*this),
      clocks(*this),
      lockstep(*this) {
    lockstep.form_all();
}

bool Execution::run_to_next_end() {
    while (!runs.any_ended() && runs.num_left() > 0) {
        if (runs.next_start() != clock.instant) {
            if (clock.rates_changed) {
                clock.rates.settle(clock.instant);
                take_new_rates();
            }
            const Time event = next_time();
            const Time now = std::min(event, clock.rates.run_until(event));
            if (now == Time::max()) {
                give_up();
                return false;
            }
            clock.instant = now;
        }
        process(clock.instant);
    }
    return true;
}

Time Execution::next_time() const {
    // Starts of runs and events of the step are not in the queue.
    const Time outside = std::min(runs.next_start(), events.next_time());
    return std::min(clock.queue.next_time(), outside);
}

void Execution::happen_at(Time now) {
    clock.instant = now;
    process(now);
}

void Execution::take_new_rates() {
    clock.rates_changed = false;
    bundles.split_parted();
}

void Execution::give_up() {
    clocks.end_all(Time::max());
    bundles.split_all();
    lockstep.dissolve();
}

void Execution::make_results() {
    clocks.end_all(clock.instant);
    lockstep.dissolve();
    log.add_counted_runs();
}

// Processes everything that happens at `now`.
void Execution::process(Time now) {
    do {
        if (clock.rates.next_completion() == now) {
            transfers.end_flows(now);
        }
        while (clock.queue.next_time() == now) {
            handle(clock.queue.pop(), now);
        }
    } while (runs.begin_due(now) || lockstep.separate_different(now) || events.apply(now));
    lockstep.reunite(now);
    open.end_instant();
}

void Execution::handle(const Event& event, Time now) {
    const auto num_streams = static_cast<std::uint32_t>(state.streams.size());
    ++clock.num_events;
    if (!clock.queue.empty()) {
        prefetch(clock.queue.next());
    }
    if ((event.target & LocalClocks::kTarget) != 0) {
        const auto r = to_id<RankClassId>(event.target & ~LocalClocks::kTarget);
        if (state.ranks[r].local_clock && state.ranks[r].wake_generation == event.generation) {
            clocks.wake(r, now);
        }
    } else if (event.target < num_streams) {
        const auto id = to_id<RankStreamId>(event.target);
        if (state.streams[id].generation == event.generation) {
            prefetch_blocked(state, state.member_of(id));
            streams.queued_event(id, now);
        }
    } else {
        const auto t = to_id<OpenTransferId>(event.target - num_streams);
        if (open.pool[t].generation == event.generation) {
            transfers.end_of_wait(t, now);
        }
    }
    streams.process_ready(now);
}

// Prefetches the data of the event that will be handled next.
void Execution::prefetch(const Event& event) const {
    const auto num_streams = static_cast<std::uint32_t>(state.streams.size());
    if ((event.target & LocalClocks::kTarget) != 0) {
        state.prefetch_rank(to_id<RankClassId>(event.target & ~LocalClocks::kTarget));
        return;
    }
    if (event.target >= num_streams) {
        prefetch_all(&open.pool[to_id<OpenTransferId>(event.target - num_streams)]);
        return;
    }
    const auto id = to_id<RankStreamId>(event.target);
    prefetch_all(&state.streams[id]);
    state.prefetch_rank(state.member_of(id));
    if (!state.walks.empty()) {
        prefetch_all(&state.walks[id]);
    }
}

}  // namespace orrery
