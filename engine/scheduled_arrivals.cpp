// SPDX-License-Identifier: Apache-2.0
#include "engine/scheduled_arrivals.h"

#include <algorithm>

#include "engine/execution.h"

namespace orrery {

bool ScheduledArrivals::announce(std::uint32_t id, const TapeItem& item, Time due) {
    StreamState& stream = state_.streams[id];
    if (!item.leads_to_collective || stream.traced ||
        !plan_.input.accelerations.scheduled_arrivals) {
        return false;
    }
    const std::uint32_t r = stream.rank;
    const TapePart& part = state_.tape_of(r).parts[state_.item_after(id).first_part];
    const std::uint32_t c = plan_.quotient.connection_of[stream.first_connection + part.connection];
    const ConnectionMessage& message =
        plan_.transfers.messages[open_.connections[c].first_message + part.message];
    if (!message.uncontended || message.uncontended_time == Time::max() ||
        (stream.slows_kernels && message.sms > 0)) {
        return false;
    }
    if (state_.ranks[r].width > 1 && open_.connections[c].group != plan_.groups.group_of[r]) {
        return false;  // each member has a collective of its own
    }
    const std::uint32_t t = open_.find_or_add(c, state_.sequence_of(id, part), part.message);
    OpenTransfer& transfer = open_.pool[t];
    state_.for_each_led(r, [&](std::uint32_t m) {
        transfer.participants.push_back(state_.stream_of(m, stream.stream));
    });
    transfer.scheduled = true;
    stream.phase = StreamPhase::scheduled;
    stream.due = due;
    stream.transfer = t;
    transfer.missing -= state_.ranks[r].width;
    if (transfer.missing == 0) {
        expect_end(t);
    }
    return true;
}

void ScheduledArrivals::expect_end(std::uint32_t t) {
    OpenTransfer& transfer = open_.pool[t];
    if (transfer.lost) {
        return;
    }
    Time last;
    for (const std::uint32_t participant : transfer.participants) {
        const std::uint32_t id = state_.leading(participant);
        const bool arrived = state_.streams[id].phase == StreamPhase::arrived;
        last = std::max(last, arrived ? state_.streams[id].start : state_.scheduled_arrival(id));
    }
    transfer.data_start = last;
    ++transfer.generation;
    open_.expect_event(t, last + open_.message_of(t).uncontended_time);
}

void ScheduledArrivals::arrive(std::uint32_t t, Time now) {
    OpenTransfer& transfer = open_.pool[t];
    for (const std::uint32_t id : transfer.participants) {
        prefetch_all(&state_.streams[state_.leading(id)]);
        state_.prefetch_rank(state_.leader[state_.member_of(id)]);
    }
    for (const std::uint32_t participant : transfer.participants) {
        const std::uint32_t id = state_.leading(participant);
        StreamState& stream = state_.streams[id];
        if (stream.phase != StreamPhase::scheduled) {
            continue;
        }
        const TapeItem& run = state_.item_of(id);
        const Time arrival = state_.scheduled_arrival(id);
        if (!state_.walks.empty() && state_.walks[id].run != nullptr) {
            parts_.kernels.trace_walk(id, now);
        }
        parts_.kernels.finish_run(id, run, stream.due);
        log_.report_progress(run, stream.size);
        ++stream.item;
        if (arrival > stream.due) {
            stream.path = state_.launch_path(id, state_.item_of(id));
        }
        stream.phase = StreamPhase::arrived;
        stream.start = arrival;
        stream.last_end = Time::picoseconds(-1);
        stream.due = arrival;
        stream.parts_left = 1;
        stream.held_sms = 0;  // or it would have had to arrive by an event of its own
        transfer.arrival.offer(arrival, stream.path);
    }
}

}  // namespace orrery
