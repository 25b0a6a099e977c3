// SPDX-License-Identifier: Apache-2.0
// The effects of events in the middle of a step (engine/world/step_events.h) on ranks and
// transfers: the next event, the flows in flight, and the parts that wait for a path.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>

#include "engine/world/execution_part.h"
#include "engine/world/step_events.h"

namespace orrery {

// The rest of a transfer's part that waits for a path.
struct WaitingPart {
    Time resume;
    OpenTransferId transfer{};
    std::uint32_t part = 0;
    Bytes bytes;
    std::uint32_t path = kOwnPath;
};

// The next events, and the flows in flight.
class EventState {
public:
    struct Flow {
        OpenTransferId transfer{};
        std::uint32_t part = 0;
        bool moves = false;
        std::uint32_t path = kOwnPath;
    };

    std::deque<RunTimes> mixed{};  // runs during which their device changed

    explicit EventState(const StepEvents& events) {
        for (const DeviceChange& change : events.devices) {
            times_.push_back(change.at);
        }
        for (const CapacityChange& change : events.capacities) {
            times_.push_back(change.at);
        }
        path_times_ = change_times(events.outages);
        avoided_ = avoided_sets(events.outages);
        times_.insert(times_.end(), path_times_.begin(), path_times_.end());
        std::sort(times_.begin(), times_.end());
    }

    Time next_time() const {
        Time next = next_ < times_.size() ? times_[next_] : Time::max();
        for (const WaitingPart& waiting : waiting_) {
            next = std::min(next, waiting.resume);
        }
        return next;
    }
    // True if events of this instant are due; each call consumes them.
    bool due(Time now) {
        const bool any = next_ < times_.size() && times_[next_] == now;
        while (next_ < times_.size() && times_[next_] == now) {
            ++next_;
        }
        return any;
    }

    bool paths_change(Time now) const {
        return std::binary_search(path_times_.begin(), path_times_.end(), now);
    }
    const std::vector<OutageSet>& avoided() const { return avoided_; }

    void begins(FlowId flow, OpenTransferId transfer, std::uint32_t part, std::uint32_t path) {
        if (index(flow) >= flows_.size()) {
            flows_.resize(index(flow) + 1);
        }
        flows_[index(flow)] = {transfer, part, true, path};
    }
    void ends(FlowId flow) { flows_[index(flow)].moves = false; }
    const std::vector<Flow>& flows() const { return flows_; }  // by FlowId

    void wait(const WaitingPart& waiting) { waiting_.push_back(waiting); }
    // Removes and returns the parts that resume at `now`.
    std::vector<WaitingPart> take_due(Time now) {
        std::vector<WaitingPart> taken;
        std::erase_if(waiting_, [&](const WaitingPart& waiting) {
            if (waiting.resume == now) {
                taken.push_back(waiting);
            }
            return waiting.resume == now;
        });
        return taken;
    }
    void forget(OpenTransferId transfer) {
        std::erase_if(waiting_, [&](const WaitingPart& w) { return w.transfer == transfer; });
    }

private:
    std::vector<Time> times_;
    std::vector<Time> path_times_;
    std::vector<OutageSet> avoided_;
    std::size_t next_ = 0;
    std::vector<Flow> flows_;
    std::vector<WaitingPart> waiting_;
};

class StepEventEffects : ExecutionPart {
public:
    explicit StepEventEffects(Execution& execution);

    Time next_time() const { return events_ == nullptr ? Time::max() : events_->next_time(); }
    // Call it after all ends at `now`. True if an event took effect.
    bool apply(Time now);

    // Marks the transfer as never ending, and stops its flows.
    void lose_transfer(OpenTransferId t);
    bool meets_outage(std::uint32_t part) const {
        return events_ != nullptr && plan_.quotient.around.contains(part);
    }
    // Starts a part that meets an outage at some time, as soon as it has a path.
    void await_path(OpenTransferId t, std::uint32_t part, Bytes bytes, Time now);

    void flow_begins(FlowId flow, OpenTransferId t, std::uint32_t part, std::uint32_t path) {
        if (events_ != nullptr) {
            events_->begins(flow, t, part, path);
        }
    }
    void flow_ends(FlowId flow) {
        if (events_ != nullptr) {
            events_->ends(flow);
        }
    }

private:
    void change_devices(const DeviceChange& change, Time now);
    void lose_rank(RankClassId r);
    void take_path(const WaitingPart& waiting, Time now);
    void leave_paths(Time now);

    std::unique_ptr<EventState> events_;  // null without events
};

}  // namespace orrery
