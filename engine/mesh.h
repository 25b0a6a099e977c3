// SPDX-License-Identifier: Apache-2.0
// A mesh factors the ranks of a job into named axes ("tp", "cp", "dp", "pp"), the first varying
// fastest, as Megatron-LM's rank order does. Rank <-> coordinates is arithmetic; a Group is the set
// of ranks that differ from a given one only along some of the axes.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ids.h"

namespace orrery {

struct MeshAxis {
    std::string name;
    std::uint32_t size = 1;
    // With the next axis it makes up one, of which it is the less significant digit and whose name
    // the next axis has: wherever both cut something, the next axis cuts first.
    bool low_digit = false;

    auto operator<=>(const MeshAxis&) const = default;
};

// Which ranks communicate, seen from any of them.
struct Group {
    std::string name;        // "tp", "dp-cp", "pp{first,last}"
    std::uint32_t axes = 0;  // bit i: members range over mesh axis i
    // If not empty: along `subset_axis` (one of `axes`) only these coordinates take part.
    std::uint32_t subset_axis = 0;
    std::vector<std::uint32_t> subset;
    // If not empty: the groups are these rank lists instead (ragged survivors after a fault).
    std::vector<std::vector<RankId>> explicit_ranks;
    std::uint32_t party = 0;  // whose mesh the axes are of (engine/program.h)
};

class Mesh {
public:
    Mesh() = default;
    // Of the ranks from `first_rank` on.
    explicit Mesh(std::vector<MeshAxis> axes, RankId first_rank = RankId{});

    const std::vector<MeshAxis>& axes() const { return axes_; }
    std::uint32_t num_ranks() const { return num_ranks_; }
    RankId first_rank() const { return to_id<RankId>(first_rank_); }
    bool contains(RankId rank) const {
        return index(rank) >= first_rank_ && index(rank) - first_rank_ < num_ranks_;
    }
    // Position of the axis with this name; asserts that it exists.
    std::uint32_t axis(std::string_view name) const;
    std::uint32_t size(std::uint32_t axis) const { return axes_[axis].size; }
    std::uint32_t stride(std::uint32_t axis) const { return strides_[axis]; }
    std::uint32_t coordinate(RankId rank, std::uint32_t axis) const {
        return (static_cast<std::uint32_t>(index(rank)) - first_rank_) / strides_[axis] %
               axes_[axis].size;
    }
    // The rank `delta` further along `axis`, wrapping around.
    RankId shifted(RankId rank, std::uint32_t axis, int delta) const;
    // Members in ascending rank order, `rank` among them; empty if `rank` takes no part.
    std::vector<RankId> members(const Group& group, RankId rank) const;
    std::uint32_t group_size(const Group& group) const;  // not for explicit_ranks

    auto operator<=>(const Mesh&) const = default;  // for maps whose key is a mesh

private:
    std::vector<MeshAxis> axes_;
    std::vector<std::uint32_t> strides_;
    std::uint32_t num_ranks_ = 1;
    std::uint32_t first_rank_ = 0;
};

}  // namespace orrery
