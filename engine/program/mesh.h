// SPDX-License-Identifier: Apache-2.0
// A mesh factors the ranks of a party into *digits*, the first varying fastest, as in Megatron-LM's
// rank order. Rank and coordinates convert by arithmetic. A Group is the set of ranks that differ
// from a given rank only along some of the digits.
//
// An *axis* ("tp", "cp", "dp", "pp") names one or more digits. Most axes are one digit of the same
// name. Hybrid sharding splits the data-parallel axis into two digits: the ranks that share one
// copy of the state, and the copies. Several axes may name the same digits: the axes of experts
// view the ranks of the dense axes in another way.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"

namespace orrery {

struct MeshDigit {
    std::string name;
    std::uint32_t size = 1;

    auto operator<=>(const MeshDigit&) const = default;
};

// If several digits of one axis cut a dimension, the most significant (last) digit cuts first.
struct MeshAxis {
    std::string name;
    std::uint32_t digits = 0;  // bit i: digit i

    auto operator<=>(const MeshAxis&) const = default;
};

// A set of ranks that communicate, relative to any member.
struct Group {
    std::string name;        // "tp", "dp-cp", "pp{first,last}"
    std::uint32_t digits = 0;  // bit i: members range over mesh digit i
    // If not empty, only the ranks with these coordinates along `subset_digit` (one of `digits`)
    // are members.
    std::uint32_t subset_digit = 0;
    std::vector<std::uint32_t> subset;
    // If not empty, these rank lists are the groups (ragged survivors after a fault).
    std::vector<std::vector<RankId>> explicit_ranks;
    std::uint32_t party = 0;  // the party whose mesh has the digits (engine/program/program.h)
};

class Mesh {
public:
    Mesh() = default;
    // A mesh of consecutive ranks from `first_rank` on. A digit that no axis names is an axis of
    // its own. Asserts that the digits of all axes exist.
    explicit Mesh(std::vector<MeshDigit> digits,
                  RankId first_rank = RankId{},
                  std::vector<MeshAxis> axes = {});

    const std::vector<MeshDigit>& digits() const { return digits_; }
    const std::vector<MeshAxis>& axes() const { return axes_; }
    std::uint32_t num_ranks() const { return num_ranks_; }
    RankId first_rank() const { return to_id<RankId>(first_rank_); }
    bool contains(RankId rank) const {
        return index(rank) >= first_rank_ && index(rank) - first_rank_ < num_ranks_;
    }
    // `axis`: the digits of the axis with this name, as bits. `digit`: the position of the digit
    // with this name. Both assert that it exists.
    std::uint32_t axis(std::string_view name) const;
    std::uint32_t digit(std::string_view name) const;
    std::uint32_t size(std::uint32_t digit) const { return digits_[digit].size; }
    std::uint32_t stride(std::uint32_t digit) const { return strides_[digit]; }
    // The product of the sizes of these digits (bits).
    std::uint32_t combined_size(std::uint32_t digits) const;
    std::uint32_t coordinate(RankId rank, std::uint32_t digit) const {
        return (static_cast<std::uint32_t>(index(rank)) - first_rank_) / strides_[digit] %
               digits_[digit].size;
    }
    // The coordinate along all these digits (bits) together, the first varying fastest: 0 …
    // combined_size - 1. It is the rank's position among the members of their group.
    std::uint32_t combined_coordinate(RankId rank, std::uint32_t digits) const;
    // "tp", "dp-cp": the axes that these digits form, then the remaining digits.
    std::string name_of(std::uint32_t digits) const;
    // The rank at distance `delta` along `digit`, wrapping around.
    RankId shifted(RankId rank, std::uint32_t digit, int delta) const;
    // The members in ascending rank order, including `rank`; empty if `rank` is no member.
    std::vector<RankId> members(const Group& group, RankId rank) const;
    std::uint32_t group_size(const Group& group) const;  // not for explicit_ranks

    auto operator<=>(const Mesh&) const = default;  // for maps with a mesh as key

private:
    std::vector<MeshDigit> digits_;
    std::vector<MeshAxis> axes_;  // in the order of their first digits
    std::vector<std::uint32_t> strides_;
    std::uint32_t num_ranks_ = 1;
    std::uint32_t first_rank_ = 0;
};

}  // namespace orrery
