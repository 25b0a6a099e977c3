// SPDX-License-Identifier: Apache-2.0
#include "engine/program/mesh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/reference/dice.h"

namespace orrery {
namespace {

using Coordinates = std::vector<std::uint32_t>;

// Counts through all coordinates like an odometer, the first axis fastest. Shares no arithmetic
// with the mesh.
std::vector<Coordinates> odometer(const std::vector<MeshDigit>& axes) {
    std::vector<Coordinates> all;
    Coordinates now(axes.size(), 0);
    for (;;) {
        all.push_back(now);
        std::size_t axis = 0;
        while (axis < axes.size() && ++now[axis] == axes[axis].size) {
            now[axis++] = 0;
        }
        if (axis == axes.size()) {
            return all;
        }
    }
}

// The group of `rank` by its definition: the ranks that differ from it only along the group's axes,
// and are in the subset.
std::vector<RankId> slow_members(const std::vector<Coordinates>& all,
                                 const Group& group,
                                 std::size_t rank) {
    const auto takes_part = [&](const Coordinates& at) {
        return group.subset.empty() ||
               std::count(group.subset.begin(), group.subset.end(), at[group.subset_digit]) > 0;
    };
    std::vector<RankId> members;
    for (std::size_t other = 0; other < all.size(); ++other) {
        bool together = takes_part(all[other]) && takes_part(all[rank]);
        for (std::size_t axis = 0; axis < all[rank].size(); ++axis) {
            const bool ranges = (group.digits >> axis & 1u) != 0;
            together = together && (ranges || all[other][axis] == all[rank][axis]);
        }
        if (together) {
            members.push_back(to_id<RankId>(other));
        }
    }
    return members;
}

std::vector<MeshDigit> random_axes(reference::Dice& dice) {
    std::vector<MeshDigit> axes;
    const int count = dice.between(1, 5);
    for (int axis = 0; axis < count; ++axis) {
        axes.push_back(
            {.name = std::string(1, static_cast<char>('a' + axis)), .size = dice.between(1u, 5u)});
    }
    return axes;
}

Group random_group(reference::Dice& dice, const std::vector<MeshDigit>& axes) {
    Group group;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        group.digits |= dice.chance(50) ? 1u << axis : 0u;
    }
    if (group.digits == 0 || dice.chance(50)) {
        return group;
    }
    do {
        group.subset_digit = dice.between(0u, static_cast<std::uint32_t>(axes.size()) - 1);
    } while ((group.digits >> group.subset_digit & 1u) == 0);
    for (std::uint32_t at = 0; at < axes[group.subset_digit].size; ++at) {
        if (dice.chance(50)) {
            group.subset.push_back(at);
        }
    }
    return group;
}

TEST(Mesh, NumbersRanksWithTheFirstAxisFastest) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        reference::Dice dice{seed};
        const std::vector<MeshDigit> axes = random_axes(dice);
        const Mesh mesh{axes};
        const std::vector<Coordinates> all = odometer(axes);
        ASSERT_EQ(mesh.num_ranks(), all.size()) << "seed " << seed;
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
            std::size_t back = 0;
            for (std::uint32_t axis = 0; axis < axes.size(); ++axis) {
                ASSERT_EQ(mesh.coordinate(to_id<RankId>(rank), axis), all[rank][axis])
                    << "seed " << seed << " rank " << rank << " axis " << axis;
                back += std::size_t{all[rank][axis]} * mesh.stride(axis);
            }
            ASSERT_EQ(back, rank) << "seed " << seed;
        }
    }
}

TEST(Mesh, MembersDifferOnlyAlongTheGroupsAxes) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        reference::Dice dice{seed};
        const std::vector<MeshDigit> axes = random_axes(dice);
        const Mesh mesh{axes};
        const Group group = random_group(dice, axes);
        const std::vector<Coordinates> all = odometer(axes);
        for (std::size_t rank = 0; rank < all.size(); rank += 1 + rank / 16) {
            const auto members = mesh.members(group, to_id<RankId>(rank));
            ASSERT_EQ(members, slow_members(all, group, rank))
                << "seed " << seed << " rank " << rank;
            if (!members.empty()) {
                ASSERT_EQ(mesh.group_size(group), members.size()) << "seed " << seed;
            }
        }
    }
}

TEST(Mesh, GroupsPartitionTheRanksThatTakePart) {
    const Mesh mesh{{{"tp", 2}, {"dp", 3}, {"pp", 4}}};
    const Group ends{.digits = 1u << 2, .subset_digit = 2, .subset = {0, 3}};
    std::map<std::size_t, std::vector<RankId>> group_of;
    for (std::size_t rank = 0; rank < mesh.num_ranks(); ++rank) {
        for (const RankId member : mesh.members(ends, to_id<RankId>(rank))) {
            const auto mine = mesh.members(ends, to_id<RankId>(rank));
            const auto [entry, is_new] = group_of.emplace(index(member), mine);
            EXPECT_TRUE(is_new || entry->second == mine);
        }
    }
    // The first and last of four stages, 6 ranks each.
    EXPECT_EQ(group_of.size(), 12u);
    EXPECT_EQ(mesh.members(ends, to_id<RankId>(1)),
              (std::vector<RankId>{to_id<RankId>(1), to_id<RankId>(19)}));
    EXPECT_TRUE(mesh.members(ends, to_id<RankId>(7)).empty());
}

TEST(Mesh, ExplicitRanksAreTheGroupsThemselves) {
    const Mesh mesh{{{"dp", 8}}};
    const std::vector<RankId> survivors{to_id<RankId>(1), to_id<RankId>(4), to_id<RankId>(6)};
    const Group group{.explicit_ranks = {survivors, {to_id<RankId>(2)}}};
    EXPECT_EQ(mesh.members(group, to_id<RankId>(4)), survivors);
    EXPECT_EQ(mesh.members(group, to_id<RankId>(2)).size(), 1u);
    EXPECT_TRUE(mesh.members(group, to_id<RankId>(0)).empty());
}

TEST(Mesh, ShiftingWrapsAroundAndComesBack) {
    const Mesh mesh{{{"tp", 2}, {"pp", 4}}};
    EXPECT_EQ(mesh.shifted(to_id<RankId>(1), 1, 1), to_id<RankId>(3));
    EXPECT_EQ(mesh.shifted(to_id<RankId>(7), 1, 1), to_id<RankId>(1));
    EXPECT_EQ(mesh.shifted(to_id<RankId>(1), 1, -1), to_id<RankId>(7));
    for (std::size_t rank = 0; rank < mesh.num_ranks(); ++rank) {
        const RankId there = mesh.shifted(to_id<RankId>(rank), 1, 7);
        EXPECT_EQ(mesh.coordinate(there, 0), mesh.coordinate(to_id<RankId>(rank), 0));
        EXPECT_EQ(index(mesh.shifted(there, 1, -7)), rank);
    }
}

TEST(Mesh, FindsAnAxisByItsName) {
    const Mesh mesh{{{"tp", 2}, {"dp", 3}}};
    EXPECT_EQ(mesh.digit("dp"), 1u);
    EXPECT_EQ(mesh.size(mesh.digit("dp")), 3u);
}

TEST(MeshDeathTest, AssertsThatAxesExistAndAreNotEmpty) {
    const Mesh mesh{{{"tp", 2}}};
    EXPECT_DEATH((void)mesh.digit("ep"), "found");
    EXPECT_DEATH((Mesh{{{"tp", 0}}}), "size");
}

}  // namespace
}  // namespace orrery
