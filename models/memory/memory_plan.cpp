// SPDX-License-Identifier: Apache-2.0
#include "models/memory/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "engine/base/check.h"

namespace orrery {
namespace {

std::int64_t aligned(std::int64_t bytes) {
    return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

struct Place {
    std::int64_t offset = 0;
    std::int64_t end_offset = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

// The placed intervals by time. A look-up visits only intervals that overlap the given one. Times
// are indices of beginnings. A place is in the nodes of a segment tree that cover it. The places
// that live at a time are on the path from that time's leaf to the root. Places that begin during
// the interval are listed by their beginning.
class PlacesInTime {
public:
    explicit PlacesInTime(std::span<const Interval> intervals) {
        for (const Interval& interval : intervals) {
            begins_.push_back(interval.begin);
        }
        std::ranges::sort(begins_);
        begins_.erase(std::ranges::unique(begins_).begin(), begins_.end());
        nodes_.resize(2 * begins_.size());
        beginning_.resize(begins_.size());
    }

    void add(const Place& place) {
        const auto number = static_cast<std::uint32_t>(places_.size());
        places_.push_back(place);
        beginning_[first(place.begin)].push_back(number);
        std::size_t left = begins_.size() + first(place.begin);
        std::size_t right = begins_.size() + behind(place.end);
        for (; left < right; left /= 2, right /= 2) {
            if (left % 2 == 1) {
                nodes_[left++].push_back(number);
            }
            if (right % 2 == 1) {
                nodes_[--right].push_back(number);
            }
        }
    }

    // Sorted by offset; valid until the next call.
    std::span<const Place> overlapping(const Interval& interval) {
        found_.clear();
        const auto take = [&](const std::vector<std::uint32_t>& numbers) {
            for (const std::uint32_t number : numbers) {
                found_.push_back(places_[number]);
            }
        };
        const std::size_t begin = first(interval.begin);
        for (std::size_t node = begins_.size() + begin; node > 0; node /= 2) {
            take(nodes_[node]);
        }
        const std::size_t end = behind(interval.end);
        for (std::size_t later = begin + 1; later < end; ++later) {
            take(beginning_[later]);
        }
        std::ranges::sort(found_, {}, &Place::offset);
        return found_;
    }

private:
    std::size_t first(std::int64_t begin) const {
        return static_cast<std::size_t>(std::ranges::lower_bound(begins_, begin) - begins_.begin());
    }
    std::size_t behind(std::int64_t end) const {
        return static_cast<std::size_t>(std::ranges::upper_bound(begins_, end) - begins_.begin());
    }

    std::vector<std::int64_t> begins_;  // ascending, without repetition
    std::vector<Place> places_;
    std::vector<std::vector<std::uint32_t>> nodes_;      // of places_; the root is node 1
    std::vector<std::vector<std::uint32_t>> beginning_;  // of places_
    std::vector<Place> found_;
};

// The offset of the smallest hole with at least `size` between `places`, which are sorted by
// offset. Without such a hole: the end of all places.
std::int64_t best_offset(std::span<const Place> places, std::int64_t size) {
    std::int64_t smallest = INT64_MAX;
    std::int64_t best = -1;
    std::int64_t free_from = 0;
    for (const Place& place : places) {
        const std::int64_t hole = place.offset - free_from;
        if (size <= hole && hole < smallest) {
            smallest = hole;
            best = free_from;
        }
        free_from = std::max(free_from, place.end_offset);
    }
    return best < 0 ? free_from : best;
}

std::vector<std::size_t> order_of(std::span<const Interval> intervals, PackingOrder order) {
    std::vector<std::size_t> sorted(intervals.size());
    std::iota(sorted.begin(), sorted.end(), std::size_t{0});
    std::ranges::stable_sort(sorted, {}, [&](std::size_t i) {
        const Interval& one = intervals[i];
        const std::int64_t first = order == PackingOrder::by_begin    ? one.begin
                                   : order == PackingOrder::by_length ? one.begin - one.end
                                                                      : 0;
        return std::pair{first, -one.bytes};
    });
    return sorted;
}

// The most bytes that live at one time.
std::int64_t most_at_once(std::span<const Interval> intervals) {
    std::vector<std::pair<std::int64_t, std::int64_t>> changes;  // time and change
    for (const Interval& interval : intervals) {
        changes.emplace_back(interval.begin, aligned(interval.bytes));
        changes.emplace_back(interval.end + 1, -aligned(interval.bytes));
    }
    std::ranges::sort(changes);
    std::int64_t now = 0;
    std::int64_t most = 0;
    for (const auto& [when, change] : changes) {
        now += change;
        most = std::max(most, now);
    }
    return most;
}

// Intervals are placed in the order of their beginnings. A new interval then overlaps exactly the
// placed intervals that are alive when it begins. `alive` is sorted by offset.
Packing pack_by_begin(std::span<const Interval> intervals) {
    Packing packing{.offsets = std::vector<std::int64_t>(intervals.size(), 0), .bytes = 0};
    std::vector<Place> alive;
    for (const std::size_t i : order_of(intervals, PackingOrder::by_begin)) {
        const Interval& interval = intervals[i];
        std::erase_if(alive, [&](const Place& place) { return place.end < interval.begin; });
        const std::int64_t size = aligned(interval.bytes);
        const std::int64_t offset = best_offset(alive, size);
        alive.insert(std::ranges::upper_bound(alive, offset, {}, &Place::offset),
                     {offset, offset + size, interval.begin, interval.end});
        packing.offsets[i] = offset;
        packing.bytes = std::max(packing.bytes, offset + size);
    }
    return packing;
}

Packing pack_by_end(std::span<const Interval> intervals) {
    std::vector<Interval> backwards;
    for (const Interval& interval : intervals) {
        backwards.push_back(
            {.bytes = interval.bytes, .begin = -interval.end, .end = -interval.begin});
    }
    return pack_by_begin(backwards);
}

Packing pack_in_order(std::span<const Interval> intervals,
                      PackingOrder order,
                      const Interval& below) {
    Packing packing{.offsets = std::vector<std::int64_t>(intervals.size(), 0), .bytes = 0};
    PlacesInTime places{intervals};
    if (below.bytes > 0 && !intervals.empty()) {
        places.add({0, aligned(below.bytes), below.begin, below.end});
    }
    for (const std::size_t i : order_of(intervals, order)) {
        const Interval& interval = intervals[i];
        const std::int64_t size = aligned(interval.bytes);
        const std::int64_t offset = best_offset(places.overlapping(interval), size);
        places.add({offset, offset + size, interval.begin, interval.end});
        packing.offsets[i] = offset;
        packing.bytes = std::max(packing.bytes, offset + size);
    }
    return packing;
}

}  // namespace

Packing pack(std::span<const Interval> intervals, PackingOrder order) {
    return order == PackingOrder::by_begin ? pack_by_begin(intervals)
           : order == PackingOrder::by_end ? pack_by_end(intervals)
                                           : pack_in_order(intervals, order, {});
}

Packing pack_above(const Interval& below, std::span<const Interval> intervals) {
    return pack_in_order(intervals, PackingOrder::by_size, below);
}

Packing pack_tightly(std::span<const Interval> intervals) {
    constexpr std::size_t kFew = 4000;  // number of intervals whose packing takes milliseconds
    Packing best = pack(intervals, PackingOrder::by_begin);
    const std::int64_t enough = most_at_once(intervals) / 100 * 101;
    for (const PackingOrder order :
         {PackingOrder::by_end, PackingOrder::by_size, PackingOrder::by_length}) {
        if (best.bytes <= enough || (order != PackingOrder::by_end && intervals.size() > kFew)) {
            break;
        }
        Packing other = pack(intervals, order);
        if (other.bytes < best.bytes) {
            best = std::move(other);
        }
    }
    return best;
}

MemoryPlan::MemoryPlan(const Program& program, RoleId role)
    : program_(program),
      role_id_(role),
      role_(program.roles[index(role)]),
      lifetimes_(tensor_lifetimes(program, role)) {
    place_whole_step();
    place_blocks();
    place_slots();
}

void MemoryPlan::place_whole_step() {
    for (const TensorInstance& instance : lifetimes_.whole_step) {
        whole_step_[instance] = whole_bytes_;
        whole_bytes_ += aligned(program_.tensors[index(instance.first)].bytes.count());
    }
}

void MemoryPlan::place_blocks() {
    for (const TensorGroup& group : lifetimes_.groups) {
        std::int64_t bytes = 0;
        std::map<TensorId, std::int64_t>& offsets = in_group_.emplace_back();
        for (const TensorId t : group.tensors) {
            offsets[t] = bytes;
            bytes += aligned(program_.tensors[index(t)].bytes.count());
        }
        group_bytes_.push_back(bytes);
    }
    // What a slot releases lies on top of what it keeps until its end, and both are placed as one.
    std::vector<Interval> intervals;
    std::map<std::tuple<std::int32_t, std::uint32_t, std::uint32_t>, std::size_t> kept;
    std::vector<std::pair<std::size_t, std::int64_t>> places;  // interval and the offset in it
    for (std::uint32_t b = 0; b < lifetimes_.blocks.size(); ++b) {
        const TensorBlock& block = lifetimes_.blocks[b];
        const std::int64_t bytes = group_bytes_[block.group];
        blocks_of_[block.micro_batch].push_back(b);
        const std::tuple reach{block.micro_batch, block.begin, block.end};
        if (const auto found = kept.find(reach); block.released && found != kept.end()) {
            Interval& both = intervals[found->second];
            places.emplace_back(found->second, both.bytes);
            both.bytes += bytes;
            continue;
        }
        kept[reach] = intervals.size();
        places.emplace_back(intervals.size(), 0);
        intervals.push_back({.bytes = bytes, .begin = block.begin, .end = block.end});
    }
    const Packing packing = pack_tightly(intervals);
    for (const auto& [interval, offset] : places) {
        blocks_.push_back(whole_bytes_ + packing.offsets[interval] + offset);
    }
    bytes_ = whole_bytes_ + packing.bytes;
}

// Returns the place in own_places_. `released_bytes`: of the released blocks on top.
std::size_t MemoryPlan::place_slot(std::uint32_t slot, std::int64_t released_bytes) {
    const SegmentId segment = role_.slots[slot].segment;
    const std::uint32_t release = lifetimes_.releases[slot];
    const auto [known, is_new] =
        known_places_.try_emplace({segment, release, released_bytes}, own_places_.size());
    if (is_new) {
        const std::vector<SegmentTensors::Span>& own = lifetimes_.segments.at(segment).own;
        std::vector<Interval> intervals;
        for (const SegmentTensors::Span& span : own) {
            intervals.push_back({.bytes = program_.tensors[index(span.tensor)].bytes.count(),
                                 .begin = span.first,
                                 .end = span.last});
        }
        const Interval below{
            .bytes = released_bytes, .begin = 0, .end = static_cast<std::int64_t>(release) - 1};
        const Packing packing = pack_above(below, intervals);
        OwnPlaces& places = own_places_.emplace_back();
        places.bytes = packing.bytes;
        for (std::size_t i = 0; i < own.size(); ++i) {
            places.offsets[own[i].tensor] = packing.offsets[i];
        }
    }
    return known->second;
}

void MemoryPlan::place_slots() {
    slots_.assign(role_.slots.size(), whole_bytes_);
    std::vector<std::int64_t> released(role_.slots.size(), 0);  // the end of released blocks
    for (std::size_t b = 0; b < lifetimes_.blocks.size(); ++b) {
        const TensorBlock& block = lifetimes_.blocks[b];
        const std::int64_t end = blocks_[b] + group_bytes_[block.group];
        for (std::uint32_t s = block.begin; s <= block.end; ++s) {
            std::int64_t& top = block.released && s == block.end ? released[s] : slots_[s];
            top = std::max(top, end);
        }
    }
    for (std::uint32_t s = 0; s < slots_.size(); ++s) {
        places_of_slot_.push_back(
            place_slot(s, std::max<std::int64_t>(0, released[s] - slots_[s])));
        bytes_ = std::max(bytes_, slots_[s] + own_places_[places_of_slot_[s]].bytes);
    }
}

std::int64_t MemoryPlan::offset(std::uint32_t slot, TensorId tensor) const {
    const Lifetime lifetime = program_.tensors[index(tensor)].lifetime;
    if (lifetime == Lifetime::slot) {
        return slots_[slot] + own_places_[places_of_slot_[slot]].offsets.at(tensor);
    }
    const std::int64_t offset = offset_of_instance(
        tensor, lifetime == Lifetime::micro_batch ? role_.slots[slot].micro_batch : -1);
    ORRERY_CHECK(offset >= 0);
    return offset;
}

std::int64_t MemoryPlan::offset_of_instance(TensorId tensor, std::int32_t micro_batch) const {
    if (const auto found = whole_step_.find({tensor, micro_batch}); found != whole_step_.end()) {
        return found->second;
    }
    if (const auto own = blocks_of_.find(micro_batch); own != blocks_of_.end()) {
        for (const std::uint32_t b : own->second) {
            const auto& offsets = in_group_[lifetimes_.blocks[b].group];
            if (const auto found = offsets.find(tensor); found != offsets.end()) {
                return blocks_[b] + found->second;
            }
        }
    }
    return -1;
}

std::vector<TensorInstance> MemoryPlan::instances() const {
    std::vector<TensorInstance> all = lifetimes_.whole_step;
    for (const TensorBlock& block : lifetimes_.blocks) {
        for (const TensorId t : lifetimes_.groups[block.group].tensors) {
            all.emplace_back(t, block.micro_batch);
        }
    }
    return all;
}

std::vector<TensorId> MemoryPlan::cleared_before_step() const {
    std::vector<TensorId> cleared;
    for (const auto& [id, micro_batch] : lifetimes_.whole_step) {
        const Tensor& tensor = program_.tensors[index(id)];
        if (tensor.lifetime == Lifetime::step || tensor.kind == TensorKind::gradients) {
            cleared.push_back(id);
        }
    }
    return cleared;
}

Bytes MemoryPlan::cleared_bytes() const {
    Bytes sum;
    for (const TensorId id : cleared_before_step()) {
        sum += program_.tensors[index(id)].bytes;
    }
    return sum;
}

}  // namespace orrery
