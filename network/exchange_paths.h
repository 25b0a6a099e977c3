// SPDX-License-Identifier: Apache-2.0
// The paths between all members of a group for its exchanges of rows. Many exchanges of a group
// differ only in their bytes. Paths are therefore looked up once, and their links have dense
// numbers. A sender's paths begin alike and a receiver's end alike: a path is kept as two halves,
// equal halves have one number, and a message adds its bytes to two halves instead of to each link.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/base/ids.h"

namespace orrery {

class ExchangePaths {
public:
    explicit ExchangePaths(std::uint32_t members)
        : members_(members), pairs_(std::size_t{members} * members) {}

    struct Pair {
        std::uint32_t out = kUnknown;  // the numbers of the path's halves
        std::uint32_t in = kUnknown;
        bool inside = false;  // the path stays inside a node
    };
    // `find(inside)` returns the links of the path, and sets whether it stays inside a node. It is
    // called once per pair.
    template <class Find>
    Pair between(std::uint32_t from, std::uint32_t to, const Find& find) {
        Pair& pair = pairs_[std::size_t{from} * members_ + to];
        if (pair.out == kUnknown) {
            const std::span<const LinkId> path = find(pair.inside);
            const std::size_t middle = (path.size() + 1) / 2;
            pair.out = number_of(path.first(middle));
            pair.in = number_of(path.subspan(middle));
        }
        return pair;
    }
    std::uint32_t num_halves() const { return static_cast<std::uint32_t>(halves_.size()); }
    std::uint32_t num_links() const { return static_cast<std::uint32_t>(ids_.size()); }
    LinkId link(std::uint32_t number) const { return ids_[number]; }
    // The bytes of each link, by its dense number. `of_halves`: the bytes of each half of a path,
    // by its number; halves beyond its size have none.
    std::vector<double> bytes_of_links(std::span<const double> of_halves) const;
    // The dense numbers of all links, ordered by LinkId.
    const std::vector<std::uint32_t>& in_order();

private:
    static constexpr std::uint32_t kUnknown = UINT32_MAX;
    std::uint32_t number_of(LinkId link);
    std::uint32_t number_of(std::span<const LinkId> half);

    std::uint32_t members_;
    std::vector<Pair> pairs_;                         // [from * members + to]
    std::vector<std::vector<std::uint32_t>> halves_;  // dense numbers of links
    std::map<std::vector<std::uint32_t>, std::uint32_t> half_numbers_;
    std::vector<LinkId> ids_;
    std::unordered_map<std::uint32_t, std::uint32_t> numbers_;
    std::vector<std::uint32_t> order_;
};

}  // namespace orrery
