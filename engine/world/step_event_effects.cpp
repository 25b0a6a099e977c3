// SPDX-License-Identifier: Apache-2.0
#include "engine/world/step_event_effects.h"

#include <algorithm>

#include "engine/world/execution.h"

namespace orrery {

StepEventEffects::StepEventEffects(Execution& execution) : ExecutionPart(execution) {
    if (!plan_.input.events.empty()) {
        events_ = std::make_unique<EventState>(plan_.input.events);
    }
}

bool StepEventEffects::apply(Time now) {
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
    const StepEvents& events = plan_.input.events;
    for (const DeviceChange& change : events.devices) {
        if (change.at == now) {
            change_devices(change, now);
        }
    }
    for (const CapacityChange& change : events.capacities) {
        if (change.at == now) {
            clock_.rates.set_capacity(now, change.link, change.capacity);
            clock_.rates_changed = true;
        }
    }
    if (events_->paths_change(now)) {
        leave_paths(now);
    }
    return true;
}

// All members of a lockstep group have the device of their leader.
void StepEventEffects::change_devices(const DeviceChange& change, Time now) {
    for (const RankClassId r : state_.ranks.ids()) {
        if (plan_.quotient.ranks[r].device != change.device || state_.follows(r) ||
            state_.ranks[r].lost) {
            continue;
        }
        if (change.becomes == kLostDevice) {
            lose_rank(r);
            continue;
        }
        parts_.kernels.walk_runs(r, now);
        state_.for_each_run(r, [&](RankStreamId id) {
            const TapeItem& item = state_.item_of(id);
            change_device(state_.walks[id],
                          plan_.run(r, state_.ranks[r].device, item),
                          plan_.run(r, change.becomes, item),
                          plan_.input.devices[change.becomes].num_sms,
                          events_->mixed.emplace_back());
        });
        state_.ranks[r].device = change.becomes;
        parts_.kernels.schedule_walks(r, now);
    }
}

void StepEventEffects::lose_rank(RankClassId r) {
    state_.ranks[r].lost = true;
    state_.ranks[r].running = 0;
    for (std::uint32_t s = 0; s < state_.num_streams; ++s) {
        StreamState& stream = state_.streams[state_.stream_of(r, s)];
        if (stream.phase != StreamPhase::done) {
            stream.phase = StreamPhase::lost;
        }
    }
    state_.for_each_led(r, [&](RankClassId m) {
        for (std::uint32_t c = 0; c < state_.tape_of(m).connections.size(); ++c) {
            const ConnectionClassId connection = plan_.connection_of(m, c);
            for (OpenTransferId t = open_.connections[connection].open; t != kNoTransfer;
                 t = open_.pool[t].next) {
                lose_transfer(t);
            }
        }
    });
}

void StepEventEffects::lose_transfer(OpenTransferId t) {
    OpenTransfer& transfer = open_.pool[t];
    if (transfer.lost) {
        return;
    }
    transfer.lost = true;
    ++transfer.generation;
    const std::vector<EventState::Flow>& flows = events_->flows();
    for (std::uint32_t f = 0; f < flows.size(); ++f) {
        if (flows[f].moves && flows[f].transfer == t) {
            clock_.rates.stop(clock_.instant, FlowId{f});
            clock_.rates_changed = true;
            events_->ends(FlowId{f});
        }
    }
    events_->forget(t);
    if (transfer.missing == 0 && !plan_.transfers.messages[transfer.message].uncontended) {
        parts_.exclusive.end(t);
    }
}

void StepEventEffects::await_path(OpenTransferId t, std::uint32_t part, Bytes bytes, Time now) {
    const OutageWait wait = wait_of(
        plan_.input.events.outages, events_->avoided(), plan_.transfers.around.at(part).ways, now);
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

void StepEventEffects::take_path(const WaitingPart& waiting, Time now) {
    const FootprintId footprint = waiting.path == kOwnPath
                                      ? plan_.quotient.footprints[waiting.part]
                                      : plan_.quotient.around.at(waiting.part)[waiting.path];
    const Part& part = plan_.transfers.parts[waiting.part];
    parts_.transfers.own_flow(waiting.transfer,
                              waiting.part,
                              clock_.rates.start(now, footprint, waiting.bytes, part.rate_max),
                              waiting.path);
}

// Links have failed, or switches have changed paths. A flow whose path no longer works looks for
// another.
void StepEventEffects::leave_paths(Time now) {
    std::vector<WaitingPart> left;
    const std::vector<EventState::Flow>& flows = events_->flows();
    for (std::uint32_t f = 0; f < flows.size(); ++f) {
        if (!flows[f].moves || !plan_.quotient.around.contains(flows[f].part)) {
            continue;
        }
        const OutageWait wait = wait_of(plan_.input.events.outages,
                                        events_->avoided(),
                                        plan_.transfers.around.at(flows[f].part).ways,
                                        now);
        if (wait.resume != now || wait.path != flows[f].path) {
            left.push_back({.resume = now,
                            .transfer = flows[f].transfer,
                            .part = flows[f].part,
                            .bytes = clock_.rates.stop(now, FlowId{f})});
            events_->ends(FlowId{f});
        }
    }
    clock_.rates_changed = clock_.rates_changed || !left.empty();
    for (const WaitingPart& part : left) {
        if (!open_.pool[part.transfer].lost) {  // another part may have given up
            await_path(part.transfer, part.part, part.bytes, now);
        }
    }
}

}  // namespace orrery
