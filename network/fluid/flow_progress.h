// SPDX-License-Identifier: Apache-2.0
// Remaining work, rate and end of every transfer in flight, in integers, so that no rounding error
// accumulates.
//
// The unit of work is bit*ps/s: n bytes are n * 8 * 10^12, and a rate of r bit/s does r of it per
// ps. A transfer is updated only when its rate changes. It ends at the first whole picosecond at
// which its remaining work is <= 0: t + ceil(remaining / rate). Ends are in a 4-ary heap that
// stores each transfer's position, so that a changed end moves and the heap has no stale entries.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/program/network_model.h"

namespace orrery {

class FlowProgress {
public:
    // Adds a transfer without a rate. Ids of removed transfers are reused, the last freed first.
    FlowId add(Bytes bytes);
    // Adds a transfer that has had `rate` since `since`, and whose end is in the future.
    FlowId add_under_way(Bytes bytes, Time since, Bandwidth rate);
    // Sets the rate from `now` on; zero stops the transfer.
    void set_rate(Time now, FlowId flow, Bandwidth rate);
    Bandwidth rate(FlowId flow) const {
        return Bandwidth::bits_per_second(flows_[index(flow)].rate);
    }
    // Time::max() if no transfer ends.
    Time next_end() const { return Time::picoseconds(heap_.empty() ? kNever : heap_[0].end); }
    // Replaces `ended` by the transfers that end at `now`, in ascending order, and frees their ids.
    void pop_ended(Time now, std::vector<FlowId>& ended);
    // Removes a transfer before its end, frees its id, and returns its remaining bytes, rounded up.
    Bytes remove(Time now, FlowId flow);
    // Removes a transfer before its end, but keeps its id until free(). Returns its remaining work.
    __int128 take_work(Time now, FlowId flow);
    FlowId add_work(__int128 work);
    void free(FlowId flow) { free_ids_.push_back(static_cast<std::uint32_t>(index(flow))); }
    // All ids are less than this.
    std::size_t num_ids() const { return flows_.size(); }

private:
    static constexpr std::int64_t kNever = Time::max().picoseconds();
    static constexpr std::uint32_t kNotQueued = ~0U;

    struct Flow {
        __int128 remaining = 0;            // bit*ps/s, at `since`
        std::int64_t since = 0;            // ps
        std::int64_t rate = 0;             // bit/s
        std::uint32_t place = kNotQueued;  // in heap_
    };
    struct End {
        std::int64_t end;
        std::uint32_t flow;
    };

    void queue(std::uint32_t flow, std::int64_t end);
    void unqueue(std::uint32_t flow);
    void move_up(std::size_t place, End item);
    void move_down(std::size_t place, End item);
    void put(std::size_t place, End item) {
        heap_[place] = item;
        flows_[item.flow].place = static_cast<std::uint32_t>(place);
    }

    std::vector<Flow> flows_;
    std::vector<std::uint32_t> free_ids_;
    std::vector<End> heap_;
};

}  // namespace orrery
