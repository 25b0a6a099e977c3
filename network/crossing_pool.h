// SPDX-License-Identifier: Apache-2.0
// Which flows cross each link: short lists that come and go, in blocks of powers of two of one
// array.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery {

// One flow on one link.
struct Crossing {
    std::uint32_t flow;
    std::uint32_t count;
};

struct CrossingList {
    std::uint32_t first = 0;  // of its block
    std::uint32_t size = 0;
    std::uint8_t log2_room = 0;  // of the block, if it has one
    bool has_block = false;
};

class CrossingPool {
public:
    std::span<const Crossing> of(const CrossingList& list) const {
        return {crossings_.data() + list.first, list.size};
    }
    void prefetch(const CrossingList& list) const {
        __builtin_prefetch(crossings_.data() + list.first + list.size, 1);
    }
    void add(CrossingList& list, Crossing crossing) {
        if (!list.has_block || list.size == 1U << list.log2_room) {
            make_room(list);
        }
        crossings_[list.first + list.size++] = crossing;
    }
    // Mostly a few flows share a link: a search is faster than to know each one's place. The order
    // of the others changes.
    void remove(CrossingList& list, std::uint32_t flow) {
        Crossing* const first = &crossings_[list.first];
        Crossing* place = first;
        while (place->flow != flow) {
            ++place;
        }
        *place = first[--list.size];
    }

private:
    void make_room(CrossingList& list) {
        constexpr std::uint8_t kLeast = 3;
        const auto log2_room =
            static_cast<std::uint8_t>(list.has_block ? list.log2_room + 1 : kLeast);
        auto& free = free_[log2_room];
        auto first = static_cast<std::uint32_t>(crossings_.size());
        if (free.empty()) {
            crossings_.resize(crossings_.size() + (std::size_t{1} << log2_room));
        } else {
            first = free.back();
            free.pop_back();
        }
        std::copy_n(&crossings_[list.first], list.size, &crossings_[first]);
        if (list.has_block) {
            free_[list.log2_room].push_back(list.first);
        }
        list = {.first = first, .size = list.size, .log2_room = log2_room, .has_block = true};
    }

    std::vector<Crossing> crossings_;
    std::array<std::vector<std::uint32_t>, 32> free_;  // blocks by log2 of their size
};

}  // namespace orrery
