// SPDX-License-Identifier: Apache-2.0
// Pending events of the packet model, ordered by (time, order of scheduling). It is a calendar
// queue (Brown, CACM 1988): buckets of 2^shift picoseconds on a wheel, filled in order of
// scheduling and sorted when they are opened. Events beyond the wheel, and late events for the open
// bucket, are in heaps. The bucket width follows the density of events.
// tests/bench/packet_bench.cpp compares it with std::multimap.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace orrery::packet {

struct WheelEvent {
    std::int64_t time = 0;     // picoseconds
    std::uint32_t target = 0;  // id of a packet, a port, a flow …
    std::uint32_t action = 0;  // action on the target
    bool operator==(const WheelEvent&) const = default;
};

class EventWheel {
public:
    EventWheel();

    // `time` must not be before the last popped event.
    void schedule(std::int64_t time, std::uint32_t target, std::uint32_t action) {
        ++size_;
        const WheelEvent event{time, target, action};
        const std::int64_t slot = time >> shift_;
        if (slot <= current_slot_) {  // next_time() may have opened a later bucket
            add_to_current(event);
        } else if (slot < current_slot_ + kNumBuckets) {
            add_to_bucket(static_cast<std::uint32_t>(slot) & (kNumBuckets - 1), event);
        } else {
            push(far_, event);
        }
    }
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }

    // Removes the earliest event; of equal times the one scheduled first. The wheel must not be
    // empty.
    WheelEvent pop() {
        find_next();
        --size_;
        return late_is_next() ? pop_late() : current_[position_++];
    }
    // The event `ahead` places after the next one, if it is in the open bucket; for prefetching.
    const WheelEvent* peek(std::size_t ahead) const {
        return position_ + ahead < current_.size() ? &current_[position_ + ahead] : nullptr;
    }
    // The time of the next event.
    std::int64_t next_time() {
        find_next();
        return late_is_next() ? late_.front().event.time : current_[position_].time;
    }

private:
    static constexpr std::uint32_t kNumBuckets = 8192;
    static constexpr std::uint32_t kNoChunk = 0xffff'ffff;
    struct HeapEvent {
        WheelEvent event;
        std::uint64_t sequence;
        bool operator<(const HeapEvent& other) const {  // a std heap then has the earliest on top
            return event.time != other.event.time ? event.time > other.event.time
                                                  : sequence > other.sequence;
        }
    };
    using Heap = std::vector<HeapEvent>;
    // Buckets are chains of chunks, so that memory is proportional to the pending events.
    struct alignas(64) Chunk {
        std::array<WheelEvent, 7> events;
        std::uint32_t next = kNoChunk;
        std::uint32_t count = 0;
    };
    struct Bucket {
        std::uint32_t first = kNoChunk;
        std::uint32_t last = kNoChunk;
    };

    void find_next() {
        if (position_ == current_.size() && late_.empty()) {
            next_bucket();
        }
    }
    // Late events were scheduled after all events in `current_`.
    bool late_is_next() const {
        return !late_.empty() && (position_ == current_.size() ||
                                  late_.front().event.time < current_[position_].time);
    }
    void add_to_current(const WheelEvent& event) {
        if (late_.empty() && (position_ == current_.size() || current_.back().time <= event.time)) {
            current_.push_back(event);
        } else {
            push(late_, event);
        }
    }
    void add_to_bucket(std::uint32_t number, const WheelEvent& event) {
        Bucket& bucket = buckets_[number];
        if (bucket.last == kNoChunk || chunks_[bucket.last].count == chunks_[0].events.size()) {
            add_chunk(number);
        }
        Chunk& chunk = chunks_[bucket.last];
        chunk.events[chunk.count++] = event;
    }
    void add_chunk(std::uint32_t number);
    void push(Heap& heap, const WheelEvent& event);
    WheelEvent pop_late();
    void next_bucket();
    void empty_bucket(std::uint32_t number, std::vector<WheelEvent>& into);
    std::int64_t next_occupied_slot() const;
    void take_far_events();
    void sort_current();
    void adapt_width();
    void change_width(int shift);

    std::vector<Bucket> buckets_;
    std::vector<std::uint64_t> occupied_;  // one bit a bucket
    std::vector<Chunk> chunks_;
    std::uint32_t free_chunk_ = kNoChunk;
    std::vector<WheelEvent> current_;  // sorted; its first position_ events are popped
    Heap late_;                        // for the open bucket, scheduled since it was sorted
    Heap far_;                         // beyond the wheel
    std::size_t position_ = 0;
    std::size_t size_ = 0;
    std::int64_t current_slot_ = 0;
    int shift_ = 14;  // 2^14 ps: 16 ns
    std::uint64_t num_pushed_ = 0;
    // Statistics since the last check of the width.
    std::uint64_t buckets_opened_ = 0;
    std::uint64_t events_opened_ = 0;
    std::uint64_t slots_passed_ = 0;
    std::uint64_t far_taken_ = 0;
};

}  // namespace orrery::packet
