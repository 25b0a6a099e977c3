// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/parameter_shards.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(ShardRange, PartsCoverTheElementsInOrder) {
    for (const std::int64_t elements : {0, 1, 3, 7, 8, 100}) {
        for (const std::int64_t parts : {1, 2, 3, 8}) {
            std::int64_t next = 0;
            for (std::int64_t p = 0; p < parts; ++p) {
                const ElementRange range = shard_range(elements, parts, p);
                EXPECT_EQ(range.first, next);
                EXPECT_LE(range.count, (elements + parts - 1) / parts);
                next = range.first + range.count;
            }
            EXPECT_EQ(next, elements) << elements << " in " << parts;
        }
    }
}

// Two ranks along dp; the optimizer's result is gathered along it.
Program sharded_program() {
    Program program;
    program.parties.front().mesh = Mesh{{{"dp", 2}, {"pp", 1}}};
    program.parties.front().role_axis = 1;
    program.groups = {{.name = "dp", .axes = 1, .subset = {}, .explicit_ranks = {}}};
    program.collectives = {{.kind = CollectiveKind::all_gather, .group = GroupId{0}}};
    for (const char* name : {"gathered", "not gathered"}) {
        program.tensors.push_back(
            {.name = name, .parameter = name, .dtype = Dtype::bf16, .bytes = Bytes{10}});
    }
    program.operands = {{.tensor = TensorId{0}, .access = Access::write}};
    Op gather;
    gather.payload = CollectiveId{0};
    gather.num_operands = 1;
    program.segments = {{.name = "parameter sync", .ops = {gather}}};
    program.roles = {
        {.name = "pp 0",
         .slots = {{.segment = SegmentId{0}, .pass = Pass::parameter_sync, .waits = {}}}}};
    return program;
}

TEST(ParameterShards, AreCutAmongThoseWhoGatherThem) {
    const Program program = sharded_program();
    EXPECT_EQ(ParameterShards(program, RankId{0}).own(TensorId{0}), (ElementRange{0, 3}));
    EXPECT_EQ(ParameterShards(program, RankId{1}).own(TensorId{0}), (ElementRange{3, 2}));
    EXPECT_EQ(ParameterShards(program, RankId{1}).own(TensorId{1}), (ElementRange{0, 5}));
}

}  // namespace
}  // namespace orrery
