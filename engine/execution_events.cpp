// SPDX-License-Identifier: Apache-2.0
// The part of Execution (engine/execution.h) that changes devices and links in the middle of a step
// (engine/step_events.h).
#include "engine/check.h"
#include "engine/execution.h"

namespace orrery {

void Execution::set_up_events() {
    if (!input_.events.empty()) {
        events_ = std::make_unique<EventState>(input_.events);
    }
}

// After all that ends at `now`. True if anything did happen.
bool Execution::happen(Time now) {
    if (events_ == nullptr) {
        return false;
    }
    const std::vector<WaitingPart> resuming = events_->take_due(now);
    for (const WaitingPart& waiting : resuming) {
        take_path(waiting, now);
    }
    if (!events_->due(now)) {
        return !resuming.empty();
    }
    const StepEvents& events = input_.events;
    for (const DeviceChange& change : events.devices) {
        if (change.at == now) {
            change_devices(change, now);
        }
    }
    for (const CapacityChange& change : events.capacities) {
        if (change.at == now) {
            rates_.set_capacity(now, change.link, change.capacity);
            rates_changed_ = true;
        }
    }
    if (events_->paths_change(now)) {
        leave_paths(now);
    }
    return true;
}

// --- devices ---

// Teams share their device: a leader's is that of all that follow it.
void Execution::change_devices(const DeviceChange& change, Time now) {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        if (quotient_.ranks[r].device != change.device || follows(r) || ranks_[r].lost) {
            continue;
        }
        if (change.becomes == kLostDevice) {
            lose_rank(r, now);
            continue;
        }
        walk_runs(r, now);
        const std::size_t shapes = tapes_.shapes.size();
        for_each_run(r, [&](std::uint32_t id) {
            if (walks_[id].done()) {
                return;  // it waits for the end of what it promised to join
            }
            const std::uint32_t shape = item_of(id).shape;
            change_device(walks_[id],
                          run_times_[ranks_[r].device * shapes + shape],
                          run_times_[change.becomes * shapes + shape],
                          input_.devices[change.becomes].num_sms,
                          events_->mixed.emplace_back());
        });
        ranks_[r].device = change.becomes;
        schedule_walks(r);
    }
}

void Execution::lose_rank(std::uint32_t r, Time now) {
    ranks_[r].lost = true;
    ranks_[r].running = 0;
    for (std::uint32_t s = 0; s < num_streams_; ++s) {
        StreamState& stream = streams_[stream_of(r, s)];
        if (stream.phase == StreamPhase::done) {
            continue;
        }
        // What it promised and has not done yet it never will.
        if (stream.phase == StreamPhase::promised && promised_arrival(stream_of(r, s)) > now) {
            OpenTransfer& transfer = pool_[stream.transfer];
            transfer.participants.erase_if(
                [&](std::uint32_t participant) { return leading(participant) == stream_of(r, s); });
            transfer.missing += ranks_[r].width;
        }
        stream.phase = StreamPhase::lost;
    }
    for_each_led(r, [&](std::uint32_t m) {
        const RankClass& rank = quotient_.ranks[m];
        for (std::uint32_t c = 0; c < tape_of(m).channels.size(); ++c) {
            const std::uint32_t channel = quotient_.channel_of[rank.first_channel + c];
            for (std::uint32_t t = channels_[channel].open; t != kNoTransfer; t = pool_[t].next) {
                lose_transfer(t);
            }
        }
    });
}

// It never ends, and moves nothing any more.
void Execution::lose_transfer(std::uint32_t t) {
    OpenTransfer& transfer = pool_[t];
    if (transfer.lost) {
        return;
    }
    transfer.lost = true;
    ++transfer.generation;
    const std::vector<EventState::Flow>& flows = events_->flows();
    for (std::uint32_t f = 0; f < flows.size(); ++f) {
        if (flows[f].moves && flows[f].transfer == t) {
            rates_.stop(instant_, FlowId{f});
            rates_changed_ = true;
            events_->ends(FlowId{f});
        }
    }
    events_->forget(t);
    if (transfer.missing == 0 && !transfers_.messages[transfer.message].fixed) {
        end_alone_or_not(t);
    }
}

// --- links ---

// A part that meets an outage some time moves when it finds a path.
void Execution::await_path(std::uint32_t t, std::uint32_t part, Bytes bytes, Time now) {
    const OutageWait wait =
        wait_of(input_.events.outages, events_->avoided(), transfers_.around.at(part).ways, now);
    const WaitingPart waiting{
        .resume = wait.resume, .transfer = t, .part = part, .bytes = bytes, .path = wait.path};
    if (wait.resume == now) {
        take_path(waiting, now);
    } else if (wait.resume < Time::max()) {
        events_->wait(waiting);
    } else {
        lose_transfer(t);
    }
}

void Execution::take_path(const WaitingPart& waiting, Time now) {
    const FootprintId footprint = waiting.path == kOwnPath
                                      ? quotient_.footprints[waiting.part]
                                      : quotient_.around.at(waiting.part)[waiting.path];
    const Part& part = transfers_.parts[waiting.part];
    own_flow(waiting.transfer,
             waiting.part,
             rates_.start(now, footprint, waiting.bytes, part.rate_max),
             waiting.path);
}

// Links are gone, or switches take others: what moves where it no longer can looks anew.
void Execution::leave_paths(Time now) {
    std::vector<WaitingPart> left;
    const std::vector<EventState::Flow>& flows = events_->flows();
    for (std::uint32_t f = 0; f < flows.size(); ++f) {
        if (!flows[f].moves || !quotient_.around.contains(flows[f].part)) {
            continue;
        }
        const OutageWait wait = wait_of(input_.events.outages,
                                        events_->avoided(),
                                        transfers_.around.at(flows[f].part).ways,
                                        now);
        if (wait.resume != now || wait.path != flows[f].path) {
            left.push_back({.resume = now,
                            .transfer = flows[f].transfer,
                            .part = flows[f].part,
                            .bytes = rates_.stop(now, FlowId{f})});
            events_->ends(FlowId{f});
        }
    }
    rates_changed_ = rates_changed_ || !left.empty();
    for (const WaitingPart& part : left) {
        if (!pool_[part.transfer].lost) {  // another part may have given up
            await_path(part.transfer, part.part, part.bytes, now);
        }
    }
}

}  // namespace orrery
