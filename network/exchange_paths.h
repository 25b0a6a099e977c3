// SPDX-License-Identifier: Apache-2.0
// The paths between all members of a group for its exchanges of rows. Many exchanges of a group
// differ only in their bytes. Paths are therefore looked up once, and their links have dense
// numbers.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/base/ids.h"

namespace orrery {

class ExchangePaths {
public:
    explicit ExchangePaths(std::uint32_t members)
        : members_(members), first_(std::size_t{members} * members + 1, kUnknown) {}

    struct Pair {
        bool inside = false;                   // the path stays inside a node
        std::span<const std::uint32_t> links;  // as dense numbers
    };
    // `find(inside)` returns the links of the path, and sets whether it stays inside a node. It is
    // called once per pair.
    template <class Find>
    Pair between(std::uint32_t from, std::uint32_t to, const Find& find) {
        std::uint32_t& first = first_[std::size_t{from} * members_ + to];
        if (first == kUnknown) {
            bool inside = false;
            const std::span<const LinkId> path = find(inside);
            first = static_cast<std::uint32_t>(pairs_.size());
            pairs_.push_back({.first = static_cast<std::uint32_t>(links_.size()),
                              .size = static_cast<std::uint32_t>(path.size()),
                              .inside = inside});
            for (const LinkId link : path) {
                links_.push_back(number_of(link));
            }
        }
        const Known& pair = pairs_[first];
        return {.inside = pair.inside, .links = {links_.data() + pair.first, pair.size}};
    }
    std::uint32_t num_links() const { return static_cast<std::uint32_t>(ids_.size()); }
    LinkId link(std::uint32_t number) const { return ids_[number]; }
    // The dense numbers of all links, ordered by LinkId.
    const std::vector<std::uint32_t>& in_order();

private:
    static constexpr std::uint32_t kUnknown = UINT32_MAX;
    struct Known {
        std::uint32_t first = 0;  // index into links_
        std::uint32_t size = 0;
        bool inside = false;
    };
    std::uint32_t number_of(LinkId link) {
        const auto [found, added] = numbers_.try_emplace(static_cast<std::uint32_t>(index(link)),
                                                         static_cast<std::uint32_t>(ids_.size()));
        if (added) {
            ids_.push_back(link);
        }
        return found->second;
    }

    std::uint32_t members_;
    std::vector<std::uint32_t> first_;  // [from * members + to]: index into pairs_
    std::vector<Known> pairs_;
    std::vector<std::uint32_t> links_;
    std::vector<LinkId> ids_;
    std::unordered_map<std::uint32_t, std::uint32_t> numbers_;
    std::vector<std::uint32_t> order_;
};

}  // namespace orrery
