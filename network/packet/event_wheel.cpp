// SPDX-License-Identifier: Apache-2.0
#include "network/packet/event_wheel.h"

#include <algorithm>
#include <bit>

#include "engine/base/check.h"

namespace orrery::packet {

namespace {

constexpr std::uint64_t kBucketsBetweenLooks = 1024;
constexpr int kShiftMin = 6;
constexpr int kShiftMax = 36;

bool earlier(const WheelEvent& a, const WheelEvent& b) {
    return a.time < b.time;
}

}  // namespace

EventWheel::EventWheel() : buckets_(kNumBuckets), occupied_(kNumBuckets / 64), chunks_(1) {}

void EventWheel::add_chunk(std::uint32_t number) {
    std::uint32_t id = free_chunk_;
    if (id == kNoChunk) {
        id = static_cast<std::uint32_t>(chunks_.size());
        chunks_.emplace_back();
    } else {
        free_chunk_ = chunks_[id].next;
    }
    chunks_[id].next = kNoChunk;
    chunks_[id].count = 0;
    Bucket& bucket = buckets_[number];
    if (bucket.first == kNoChunk) {
        bucket.first = id;
        occupied_[number / 64] |= std::uint64_t{1} << (number % 64);
    } else {
        chunks_[bucket.last].next = id;
    }
    bucket.last = id;
}

void EventWheel::empty_bucket(std::uint32_t number, std::vector<WheelEvent>& into) {
    Bucket& bucket = buckets_[number];
    for (std::uint32_t id = bucket.first; id != kNoChunk;) {
        Chunk& chunk = chunks_[id];
        into.insert(into.end(), chunk.events.begin(), chunk.events.begin() + chunk.count);
        const std::uint32_t next = chunk.next;
        chunk.next = free_chunk_;
        free_chunk_ = id;
        id = next;
    }
    bucket = Bucket{};
    occupied_[number / 64] &= ~(std::uint64_t{1} << (number % 64));
}

void EventWheel::push(Heap& heap, const WheelEvent& event) {
    heap.push_back({event, num_pushed_++});
    std::push_heap(heap.begin(), heap.end());
}

WheelEvent EventWheel::pop_late() {
    const WheelEvent event = late_.front().event;
    std::pop_heap(late_.begin(), late_.end());
    late_.pop_back();
    return event;
}

// Far events of one bucket arrive here in their order, and before any other event is scheduled into
// that bucket, so that the order of scheduling is kept.
void EventWheel::take_far_events() {
    while (!far_.empty() && (far_.front().event.time >> shift_) < current_slot_ + kNumBuckets) {
        const WheelEvent event = far_.front().event;
        std::pop_heap(far_.begin(), far_.end());
        far_.pop_back();
        ++far_taken_;
        --size_;
        schedule(event.time, event.target, event.action);
    }
}

std::int64_t EventWheel::next_occupied_slot() const {
    constexpr std::uint32_t kWords = kNumBuckets / 64;
    const auto start = static_cast<std::uint32_t>(current_slot_) & (kNumBuckets - 1);
    for (std::uint32_t i = 0; i <= kWords; ++i) {
        const std::uint32_t word = (start / 64 + i) % kWords;
        std::uint64_t bits = occupied_[word];
        const std::uint64_t from_start = ~std::uint64_t{0} << (start % 64);
        if (i == 0) {
            bits &= from_start;
        } else if (i == kWords) {
            bits &= ~from_start;
        }
        if (bits != 0) {
            const auto bit = static_cast<std::uint32_t>(std::countr_zero(bits));
            return current_slot_ + ((word * 64 + bit - start) & (kNumBuckets - 1));
        }
    }
    return -1;
}

void EventWheel::next_bucket() {
    ORRERY_CHECK(size_ > 0);
    current_.clear();
    position_ = 0;
    if (buckets_opened_ >= kBucketsBetweenLooks) {
        adapt_width();
    }
    std::int64_t slot = next_occupied_slot();
    if (slot < 0) {  // all events are far away: turn the wheel to them
        slot = far_.front().event.time >> shift_;
        current_slot_ = slot - kNumBuckets + 1;
        take_far_events();
        slot = next_occupied_slot();
    }
    slots_passed_ += static_cast<std::uint64_t>(slot - current_slot_);
    current_slot_ = slot;
    empty_bucket(static_cast<std::uint32_t>(slot) & (kNumBuckets - 1), current_);
    sort_current();
    take_far_events();
    ++buckets_opened_;
    events_opened_ += current_.size();
}

void EventWheel::sort_current() {
    constexpr std::size_t kInsertionSortMax = 48;
    if (current_.size() > kInsertionSortMax) {
        std::stable_sort(current_.begin(), current_.end(), earlier);
        return;
    }
    for (std::size_t i = 1; i < current_.size(); ++i) {
        const WheelEvent event = current_[i];
        std::size_t hole = i;
        while (hole > 0 && event.time < current_[hole - 1].time) {
            current_[hole] = current_[hole - 1];
            --hole;
        }
        current_[hole] = event;
    }
}

// Aims at a few events per opened bucket and few empty buckets between them, if the wheel then
// reaches far enough. Events at one instant share a bucket, however narrow it is.
void EventWheel::adapt_width() {
    int shift = shift_;
    if (8 * far_taken_ > events_opened_) {
        ++shift;
    } else if (events_opened_ > 12 * buckets_opened_ && 32 * far_taken_ < events_opened_) {
        --shift;
    } else if (events_opened_ < 3 * buckets_opened_ || slots_passed_ > 16 * events_opened_) {
        ++shift;
    }
    buckets_opened_ = events_opened_ = slots_passed_ = far_taken_ = 0;
    if (shift != shift_ && shift >= kShiftMin && shift <= kShiftMax) {
        change_width(shift);
    }
}

void EventWheel::change_width(int shift) {
    std::vector<WheelEvent> all;
    for (std::int64_t slot = next_occupied_slot(); slot >= 0; slot = next_occupied_slot()) {
        empty_bucket(static_cast<std::uint32_t>(slot) & (kNumBuckets - 1), all);
    }
    // The slot before the new current one is empty, and nothing is scheduled meanwhile. The new
    // wheel has therefore passed the same events as the old one, apart from a part of its first
    // bucket.
    current_slot_ = shift > shift_ ? (current_slot_ >> (shift - shift_)) - 1
                                   : current_slot_ << (shift_ - shift);
    shift_ = shift;
    size_ -= all.size();
    for (const WheelEvent& event : all) {
        schedule(event.time, event.target, event.action);
    }
    take_far_events();
}

}  // namespace orrery::packet
