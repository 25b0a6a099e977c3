// SPDX-License-Identifier: Apache-2.0
#include "engine/world/placed_network.h"

#include <gtest/gtest.h>

#include "tests/engine/toy_network.h"

namespace orrery {
namespace {

TEST(PlacedNetwork, PlansWhatTheGpusWouldBeToldTo) {
    const ToyNetwork gpus({.num_ranks = 8, .ranks_per_node = 4, .uplinks = 2});
    // Ranks 0 to 3 on GPUs 2, 3, 6 and 7; ranks 4 to 7 there as well.
    const std::vector<RankId> place{
        RankId{2}, RankId{3}, RankId{6}, RankId{7}, RankId{2}, RankId{3}, RankId{6}, RankId{7}};
    const PlacedNetwork placed(gpus, place);
    const CollectiveCall call{.kind = CollectiveKind::all_reduce, .bytes = Bytes{4096}};
    const std::vector<RankId> first{RankId{0}, RankId{2}, RankId{3}};
    const std::vector<RankId> second{RankId{4}, RankId{6}, RankId{7}};
    const std::vector<RankId> there{RankId{2}, RankId{6}, RankId{7}};
    const TransferPlan expected = gpus.plan(call, there);
    EXPECT_EQ(placed.plan(call, first).phases, expected.phases);
    EXPECT_EQ(placed.plan(call, second).phases, expected.phases);
    EXPECT_EQ(placed.plan(SendCall{Bytes{7}}, std::array{RankId{1}, RankId{6}}).phases,
              gpus.plan(SendCall{Bytes{7}}, std::array{RankId{3}, RankId{6}}).phases);
    EXPECT_EQ(placed.links().data(), gpus.links().data());
}

// Knows a path around anything, and moves as many bytes over it as the ranks that it is asked for
// say.
class Detours final : public NetworkModel {
public:
    TransferPlan plan(const TransferCall&, std::span<const RankId>) const override { return {}; }
    std::vector<OtherPath> paths_around(const TransferCall&,
                                        std::span<const RankId> members,
                                        std::span<const std::uint8_t> down) const override {
        return path(members.front(), members.back(), down);
    }
    std::span<const LinkInfo> links() const override { return {}; }
    std::span<const std::string> link_class_names() const override { return {}; }
    bool has_contention() const override { return true; }

private:
    static std::vector<OtherPath> path(RankId a, RankId b, std::span<const std::uint8_t> down) {
        OtherPath path;
        path.part.bytes =
            Bytes{static_cast<std::int64_t>(100 * down.size() + 10 * index(a) + index(b))};
        return {path};
    }
};

TEST(PlacedNetwork, AsksForPathsAroundLinksWhereItsRanksStand) {
    const Detours gpus;
    const PlacedNetwork placed(gpus, {RankId{2}, RankId{5}, RankId{7}});
    const std::vector<std::uint8_t> down(3, 0);
    const std::vector<RankId> members{RankId{0}, RankId{2}};
    const std::vector<RankId> sender_first{RankId{2}, RankId{1}};
    EXPECT_EQ(placed.paths_around(SendCall{Bytes{7}}, sender_first, down).at(0).part.bytes,
              Bytes{375});
    EXPECT_EQ(placed.paths_around(CollectiveCall{}, members, down).at(0).part.bytes, Bytes{327});
}

}  // namespace
}  // namespace orrery
