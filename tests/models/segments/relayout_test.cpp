// SPDX-License-Identifier: Apache-2.0
#include "models/segments/relayout.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace orrery {
namespace {

const Mesh kMesh{{{"tp", 2}, {"dp", 4}, {"dpr", 2}}};

std::vector<RelayoutStep> steps_of(std::int64_t elements, const Layout& from, const Layout& to) {
    return relayout_steps(
        from, to, [&](const Layout& layout) { return local_elements({elements}, layout, kMesh); });
}

// NCCL counts the longer side: the input of a reduce-scatter, the output of an all-gather.
TEST(Relayout, CountsTheLongerSide) {
    const Layout whole(3);
    const Layout shard = along(kMesh, 2, flat());
    const auto gather = steps_of(10, shard, whole);
    ASSERT_EQ(gather.size(), 1u);
    EXPECT_EQ(gather[0].step, (LayoutStep{CollectiveKind::all_gather, 2}));
    EXPECT_EQ(gather[0].elements, 10);
    EXPECT_TRUE(gather[0].last);
    const auto scatter = steps_of(10, along(kMesh, 6, partial()), shard);
    ASSERT_EQ(scatter.size(), 2u);
    EXPECT_EQ(scatter[0].elements, 10);
    EXPECT_FALSE(scatter[0].last);
    EXPECT_EQ(scatter[0].to, (Layout{replicated(), flat(), partial()}));
    EXPECT_EQ(scatter[1].step, (LayoutStep{CollectiveKind::all_reduce, 4}));
    EXPECT_EQ(scatter[1].elements, 3);  // a shard of the first step, padded
    EXPECT_TRUE(steps_of(10, whole, whole).empty());
}

TEST(Relayout, EmitsACollectiveOnTheLaneOfItsTraffic) {
    Program program;
    program.parties.front().mesh = kMesh;
    ProgramTables tables{program};
    SegmentBuilder ops{tables, "segment"};
    const TensorId tensor = tables.tensor({.name = "t",
                                           .parameter = {},
                                           .dtype = Dtype::fp32,
                                           .column_parts = {},
                                           .bytes = Bytes{40}});
    for (const RelayoutStep& step : steps_of(10, along(kMesh, 6, partial()), Layout(3))) {
        emit(ops,
             step,
             {.traffic = Traffic::norm_gradient, .wire = Dtype::bf16, .pieces = 4},
             {.name = "reduce", .reads = {}, .writes = {}, .accumulates = {tensor}});
    }
    sum_over_ranks(ops, {}, "nothing to add", tensor);
    sum_over_ranks(ops, {.digits = 1}, "norm", tensor);
    const SegmentId id = ops.finish();
    const std::vector<Op>& made = program.segments[index(id)].ops;
    ASSERT_EQ(made.size(), 2u);
    const TrafficLane& lane = lane_of(Traffic::norm_gradient);
    EXPECT_EQ(made[0].stream, lane.stream);
    EXPECT_EQ(made[0].cause, lane.cause);
    const CollectiveCall& reduce = program.collective(made[0]);
    EXPECT_EQ(reduce.communicator, lane.communicator);
    EXPECT_EQ(reduce.bytes, Bytes{3 * 2});  // a quarter of ten elements
    EXPECT_EQ(program.groups[index(reduce.group)].name, "dp-dpr");
    EXPECT_EQ(program.collective(made[1]).bytes, Bytes{40});
}

// A collective is the transition between two layouts: nothing else in the room appends one.
TEST(Relayout, IsTheOnlyPlaceThatEmitsCollectives) {
    int places = 0;
    const std::string room = std::string{ORRERY_SOURCE_DIR} + "/models";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(room)) {
        std::ifstream in{entry.path()};
        std::ostringstream text;
        text << in.rdbuf();
        std::string dense = text.str();
        std::erase_if(dense, [](char c) { return c == ' ' || c == '\n'; });
        if (dense.find(".collective({") != std::string::npos) {
            ++places;
            EXPECT_EQ(entry.path().filename(), "relayout.cpp");
        }
    }
    EXPECT_EQ(places, 1);
}

}  // namespace
}  // namespace orrery
