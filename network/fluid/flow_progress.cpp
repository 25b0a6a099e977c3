// SPDX-License-Identifier: Apache-2.0
#include "network/fluid/flow_progress.h"

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {
namespace {

constexpr std::size_t kArity = 4;
constexpr std::int64_t kPicosecondsPerSecond = 1'000'000'000'000;

// The time at which work `remaining` ends at `rate`, if it starts at `since`.
std::int64_t end_of(__int128 remaining, std::int64_t since, std::int64_t rate) {
    if (remaining <= 0) {
        return since;
    }
    if (rate == 0) {
        return Time::max().picoseconds();
    }
    const auto work = static_cast<unsigned __int128>(remaining);
    const auto divisor = static_cast<std::uint64_t>(rate);
    const auto span = (work + divisor - 1) / divisor;
    const auto never = Time::max().picoseconds();
    return span >= static_cast<std::uint64_t>(never - since)
               ? never
               : since + static_cast<std::int64_t>(span);
}

}  // namespace

FlowId FlowProgress::add(Bytes bytes) {
    ORRERY_CHECK(bytes.count() > 0);
    return add_work(static_cast<__int128>(bytes.count()) * 8 * kPicosecondsPerSecond);
}

FlowId FlowProgress::add_work(__int128 work) {
    std::uint32_t flow = 0;
    if (free_ids_.empty()) {
        flow = static_cast<std::uint32_t>(flows_.size());
        flows_.emplace_back();
    } else {
        flow = free_ids_.back();
        free_ids_.pop_back();
    }
    flows_[flow] = Flow{.remaining = work};
    return FlowId{flow};
}

FlowId FlowProgress::add_under_way(Bytes bytes, Time since, Bandwidth rate) {
    const FlowId id = add(bytes);
    const auto number = static_cast<std::uint32_t>(index(id));
    Flow& flow = flows_[number];
    flow.since = since.picoseconds();
    flow.rate = rate.bits_per_second();
    queue(number, end_of(flow.remaining, flow.since, flow.rate));
    return id;
}

void FlowProgress::set_rate(Time now, FlowId id, Bandwidth rate) {
    const auto number = static_cast<std::uint32_t>(index(id));
    Flow& flow = flows_[number];
    if (flow.rate == rate.bits_per_second()) {
        return;
    }
    const std::int64_t elapsed = now.picoseconds() - flow.since;
    flow.remaining -= static_cast<__int128>(flow.rate) * elapsed;
    flow.since = now.picoseconds();
    flow.rate = rate.bits_per_second();
    const std::int64_t end = end_of(flow.remaining, flow.since, flow.rate);
    if (end < kNever) {
        queue(number, end);
    } else if (flow.place != kNotQueued) {
        unqueue(number);
    }
}

void FlowProgress::pop_ended(Time now, std::vector<FlowId>& ended) {
    ended.clear();
    ORRERY_CHECK(now <= next_end());  // no end may be skipped
    while (!heap_.empty() && heap_[0].end == now.picoseconds()) {
        const std::uint32_t flow = heap_[0].flow;
        unqueue(flow);
        ended.push_back(FlowId{flow});
    }
    std::sort(ended.begin(), ended.end());
    for (const FlowId flow : ended) {
        free_ids_.push_back(static_cast<std::uint32_t>(index(flow)));
    }
}

__int128 FlowProgress::take_work(Time now, FlowId id) {
    const auto number = static_cast<std::uint32_t>(index(id));
    Flow& flow = flows_[number];
    const std::int64_t elapsed = now.picoseconds() - flow.since;
    const __int128 left = flow.remaining - static_cast<__int128>(flow.rate) * elapsed;
    ORRERY_CHECK(elapsed >= 0 && left > 0);
    if (flow.place != kNotQueued) {
        unqueue(number);
    }
    flow.rate = 0;
    return left;
}

Bytes FlowProgress::remove(Time now, FlowId id) {
    const __int128 left = take_work(now, id);
    free(id);
    constexpr __int128 kPerByte = static_cast<__int128>(8) * kPicosecondsPerSecond;
    return Bytes(static_cast<std::int64_t>((left + kPerByte - 1) / kPerByte));
}

void FlowProgress::queue(std::uint32_t flow, std::int64_t end) {
    const End item{.end = end, .flow = flow};
    std::size_t place = flows_[flow].place;
    if (place == kNotQueued) {
        place = heap_.size();
        heap_.push_back(item);
        move_up(place, item);
    } else if (end < heap_[place].end) {
        move_up(place, item);
    } else {
        move_down(place, item);
    }
}

void FlowProgress::unqueue(std::uint32_t flow) {
    const std::size_t place = flows_[flow].place;
    flows_[flow].place = kNotQueued;
    const End last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) {
        return;
    }
    if (place > 0 && last.end < heap_[(place - 1) / kArity].end) {
        move_up(place, last);
    } else {
        move_down(place, last);
    }
}

void FlowProgress::move_up(std::size_t place, End item) {
    while (place > 0) {
        const std::size_t parent = (place - 1) / kArity;
        if (heap_[parent].end <= item.end) {
            break;
        }
        put(place, heap_[parent]);
        place = parent;
    }
    put(place, item);
}

void FlowProgress::move_down(std::size_t place, End item) {
    while (true) {
        const std::size_t first = place * kArity + 1;
        if (first >= heap_.size()) {
            break;
        }
        const std::size_t last = std::min(first + kArity, heap_.size());
        std::size_t least = first;
        for (std::size_t child = first + 1; child < last; ++child) {
            least = heap_[child].end < heap_[least].end ? child : least;
        }
        if (heap_[least].end >= item.end) {
            break;
        }
        put(place, heap_[least]);
        place = least;
    }
    put(place, item);
}

}  // namespace orrery
