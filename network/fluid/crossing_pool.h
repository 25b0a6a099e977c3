// SPDX-License-Identifier: Apache-2.0
// The flows that cross each link: short lists that change often. Most links have one or two flows,
// which are stored in the list itself, next to the other data of the link. A longer list uses a
// block of one array, with a power of two of entries, and keeps it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/check.h"

namespace orrery {

// A flow on a link.
struct Crossing {
    std::uint32_t flow;
    std::uint32_t count;
};

struct CrossingList {
    std::uint32_t size : 27 = 0;
    std::uint32_t log2_room : 5 = 0;  // of the block; 0: no block
    union {
        std::array<Crossing, 2> own{};  // if there is no block
        std::uint32_t first;            // index of the block
    };
};

class CrossingPool {
public:
    std::span<const Crossing> of(const CrossingList& list) const {
        return {list.log2_room == 0 ? list.own.data() : crossings_.data() + list.first, list.size};
    }
    void add(CrossingList& list, Crossing crossing) {
        if (list.size == (list.log2_room == 0 ? list.own.size() : 1U << list.log2_room)) {
            make_room(list);
        }
        begin(list)[list.size] = crossing;
        ++list.size;
    }
    // Searching is faster than storing each flow's position. The order of the other flows changes.
    void remove(CrossingList& list, std::uint32_t flow) {
        Crossing* const first = begin(list);
        Crossing* place = first;
        while (place->flow != flow) {
            ++place;
        }
        --list.size;
        *place = first[list.size];
    }

private:
    Crossing* begin(CrossingList& list) {
        return list.log2_room == 0 ? list.own.data() : crossings_.data() + list.first;
    }
    void make_room(CrossingList& list) {
        constexpr std::uint32_t kLeast = 3;
        ORRERY_CHECK(list.log2_room < 26);
        const std::uint32_t log2_room = list.log2_room == 0 ? kLeast : list.log2_room + 1;
        auto& free = free_[log2_room];
        auto first = static_cast<std::uint32_t>(crossings_.size());
        if (free.empty()) {
            crossings_.resize(crossings_.size() + (std::size_t{1} << log2_room));
        } else {
            first = free.back();
            free.pop_back();
        }
        std::copy_n(begin(list), list.size, &crossings_[first]);
        if (list.log2_room > 0) {
            free_[list.log2_room].push_back(list.first);
        }
        list.log2_room = log2_room & 31;
        list.first = first;
    }

    std::vector<Crossing> crossings_;
    std::array<std::vector<std::uint32_t>, 32> free_;  // blocks by log2 of their size
};

}  // namespace orrery
