// SPDX-License-Identifier: Apache-2.0
#include "engine/world/transfer_runner.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/world/execution.h"

namespace orrery {

void TransferRunner::arrive(RankStreamId id, const TapeItem& item, Time now) {
    const RankClassId r = state_.rank_of(id);
    if (state_.ranks[r].local_clock) {
        if (plan_.local_times.is_group_collective(state_.ranks[r].role, item)) {
            parts_.clocks.begin_collective(id, item, now);
            return;
        }
        ORRERY_CHECK(now == clock_.instant);
    }
    StreamState& stream = state_.streams[id];
    stream.phase = StreamPhase::arrived;
    stream.start = now;
    stream.last_end = Time::picoseconds(-1);
    stream.due = now;  // the last data start
    stream.parts_left = item.num_parts;
    if (state_.streams[id].slows_kernels) {
        stream.held_sms = parts_.kernels.sms_of(r, item);
        parts_.kernels.change_held(r, now, stream.held_sms);
    }
    if (item.num_parts == 0) {
        log_.trace_item(id, item, now, now);
        parts_.streams.end_item(id, item, now);
        return;
    }
    for (std::uint32_t p = 0; p < item.num_parts; ++p) {
        join(id, state_.tape_of(r).parts[item.first_part + p], now);
    }
}

void TransferRunner::join(RankStreamId id, const TapePart& part, Time now) {
    if (parts_.bundles.join(id, part, now)) {
        return;
    }
    const RankClassId r = state_.rank_of(id);
    const std::uint32_t sequence = state_.sequence_of(id, part);
    if (state_.ranks[r].width > 1) {
        prefetch_transfers(r, part.connection);
    }
    ConnectionClassId last_connection{UINT32_MAX};
    OpenTransferId t = kNoTransfer;
    state_.for_each_led(r, [&](RankClassId m) {
        const ConnectionClassId c = plan_.connection_of(m, part.connection);
        if (c != last_connection) {
            last_connection = c;
            t = open_.find_or_add(c, sequence, part.message);
            open_.pool[t].arrival.offer(now, state_.streams[id].path);
        }
        OpenTransfer& transfer = open_.pool[t];
        transfer.participants.push_back(state_.stream_of(m, state_.streams[id].stream));
        if (--transfer.missing == 0 && !transfer.lost) {
            begin(t, now);
        }
    });
}

// Prefetches the data that join() needs.
void TransferRunner::prefetch_transfers(RankClassId r, std::uint32_t connection) const {
    const auto connection_of = [&](RankClassId m) -> const ConnectionState& {
        return open_.connections[plan_.connection_of(m, connection)];
    };
    state_.for_each_led(r, [&](RankClassId m) { prefetch_all(&connection_of(m)); });
    state_.for_each_led(r, [&](RankClassId m) {
        const OpenTransferId t = connection_of(m).open;
        if (t != kNoTransfer) {
            prefetch_all(&open_.pool[t]);
        }
    });
}

void TransferRunner::begin(OpenTransferId t, Time now) {
    const ConnectionMessage& message = open_.message_of(t);
    if (!message.uncontended) {
        if (!parts_.exclusive.begin(t, now)) {
            go_on(t, now);
        }
    } else if (message.uncontended_time == Time{}) {
        end(t, now);
    } else if (message.uncontended_time < Time::max()) {
        open_.expect_event(t, now + message.uncontended_time);
    }
}

// Continues with the next phases until one takes time.
void TransferRunner::go_on(OpenTransferId t, Time now) {
    OpenTransfer& transfer = open_.pool[t];
    const ConnectionMessage& message = open_.message_of(t);
    while (transfer.phase < message.num_phases) {
        const Phase& phase = plan_.transfers.phases[message.first_phase + transfer.phase];
        if (phase.latency > Time{}) {
            transfer.in_latency = true;
            open_.expect_event(t, now + phase.latency);
            return;
        }
        start_parts(t, now);
        if (transfer.pending > 0) {
            return;
        }
        ++transfer.phase;
    }
    end(t, now);
}

void TransferRunner::start_parts(OpenTransferId t, Time now) {
    OpenTransfer& transfer = open_.pool[t];
    const ConnectionMessage& message = open_.message_of(t);
    const Phase& phase = plan_.transfers.phases[message.first_phase + transfer.phase];
    const FootprintId bundle =
        transfer.bundle ? plan_.bundles.flows[message.first_phase + transfer.phase] : kNoLinks;
    if (bundle != kNoLinks) {
        const Part& part = plan_.transfers.parts[phase.first_part];
        ++transfer.pending;
        own_flow(t, phase.first_part, clock_.rates.start(now, bundle, part.bytes, part.rate_max));
        return;
    }
    if (phase.num_parts > 1 && plan_.quotient.joined[phase.first_part] != kNoLinks &&
        !transfer.lost) {
        const Part& part = plan_.transfers.parts[phase.first_part];
        ++transfer.pending;
        own_flow(t,
                 phase.first_part,
                 clock_.rates.start(
                     now, plan_.quotient.joined[phase.first_part], part.bytes, part.rate_max));
        return;
    }
    for (std::uint32_t p = phase.first_part; p < phase.first_part + phase.num_parts; ++p) {
        const Part& part = plan_.transfers.parts[p];
        if (part.bytes == Bytes{}) {
            continue;
        }
        if (transfer.lost) {
            return;
        }
        ++transfer.pending;
        if (plan_.quotient.footprints[p] == kNoLinks) {
            const Time taken = part.bytes / part.rate_max;
            if (taken < Time::max()) {
                open_.expect_event(t, now + taken);
            }
            continue;
        }
        if (parts_.events.meets_outage(p)) {
            parts_.events.await_path(t, p, part.bytes, now);
            continue;
        }
        own_flow(
            t, p, clock_.rates.start(now, plan_.quotient.footprints[p], part.bytes, part.rate_max));
    }
}

void TransferRunner::own_flow(OpenTransferId t,
                              std::uint32_t part,
                              FlowId flow,
                              std::uint32_t path) {
    set_owner(flow, t);
    parts_.events.flow_begins(flow, t, part, path);
    clock_.rates_changed = true;
}

void TransferRunner::set_owner(FlowId flow, OpenTransferId t) {
    if (index(flow) >= flow_owner_.size()) {
        flow_owner_.resize(index(flow) + 1);
    }
    flow_owner_[index(flow)] = t;
}

void TransferRunner::end_of_wait(OpenTransferId t, Time now) {
    OpenTransfer& transfer = open_.pool[t];
    if (open_.message_of(t).uncontended || transfer.exclusive) {
        end(t, now);
        return;
    }
    if (transfer.in_latency) {
        transfer.in_latency = false;
        start_parts(t, now);
    } else {
        --transfer.pending;
    }
    if (transfer.pending == 0) {
        ++transfer.phase;
        go_on(t, now);
    }
}

void TransferRunner::end_flows(Time now) {
    ended_flows_.clear();
    clock_.rates.pop_completed(now, ended_flows_);
    clock_.rates_changed = true;
    ended_owners_.clear();  // the code below may reuse the ids
    for (const FlowId flow : ended_flows_) {
        ended_owners_.push_back(flow_owner_[index(flow)]);
        prefetch_all(&open_.pool[ended_owners_.back()]);
        parts_.events.flow_ends(flow);
    }
    for (const OpenTransferId t : ended_owners_) {
        if (--open_.pool[t].pending == 0) {
            ++open_.pool[t].phase;
            go_on(t, now);
        }
    }
    parts_.streams.process_ready(now);
}

void TransferRunner::end(OpenTransferId t, Time now) {
    open_.close(t);
    if (!open_.message_of(t).uncontended) {
        parts_.exclusive.end(t);
    }
    // Ends of ops only make streams ready, so that no transfer is opened below.
    const OpenTransfer& transfer = open_.pool[t];
    if (transfer.bundle) {
        parts_.bundles.end(t, now);
        return;
    }
    for (const RankStreamId id : transfer.participants) {
        prefetch_all(&state_.streams[state_.leading(id)]);
        state_.prefetch_rank(state_.leader[state_.member_of(id)]);
    }
    const LockstepGroupId group = open_.connections[transfer.connection].group;
    if (group != kNoGroup) {
        parts_.lockstep.consider_reunion(group);
        const RankClassId leader = plan_.members_of_group(group).front();
        if (state_.ranks[leader].width == plan_.groups.groups[group].size) {
            end_part(state_.leading(transfer.participants.front()), transfer, now);
            return;
        }
    }
    for (const RankStreamId id : transfer.participants) {
        end_part_of_member(id, t, now);
    }
}

void TransferRunner::end_part_of_member(RankStreamId id, OpenTransferId t, Time now) {
    if (state_.ranks[state_.leader[state_.member_of(id)]].width > 1) {
        parts_.lockstep.end_part(id, t, now);
    } else {
        end_part(id, open_.pool[t], now);
    }
}

void TransferRunner::end_part(RankStreamId id, const OpenTransfer& transfer, Time now) {
    const RankClassId r = state_.rank_of(id);
    parts_.clocks.catch_up_before(r, now);
    StreamState& stream = state_.streams[id];
    const TapeItem& item = state_.item_of(id);
    const Time alone = plan_.transfers.messages[transfer.message].uncontended_time;
    const Time taken = now - transfer.data_start();
    if (now > stream.last_end) {
        stream.path = transfer.arrival.path;
        add_transfer(stream.path, item.cause, alone, taken);
        stream.last_end = now;
    } else {
        PathTimes path = transfer.arrival.path;
        add_transfer(path, item.cause, alone, taken);
        stream.path = preferred(path, stream.path) ? path : stream.path;
    }
    stream.due = std::max(stream.due, transfer.data_start());
    if (--stream.parts_left > 0) {
        return;
    }
    if (state_.streams[id].slows_kernels) {
        parts_.kernels.change_held(r, now, -std::int64_t{stream.held_sms});
    }
    if (state_.in_last_step(id)) {
        log_.busy[item.cause] += (now - stream.start) * static_cast<std::int64_t>(stream.size);
    }
    if (stream.traced) {
        log_.trace_item(id, item, stream.due, now);
    }
    parts_.streams.end_item(id, item, now);
}

}  // namespace orrery
