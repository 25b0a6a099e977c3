// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/parameter_shards.h"

#include <gtest/gtest.h>

#include "models/plan/layout.h"

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

// Ranks 0 and 1 along dp hold a parameter of five elements whole and step a part each; ranks along
// dpr are copies of them.
Program sharded_program() {
    Program program;
    program.parties.front().mesh = Mesh{{{"dp", 2}, {"dpr", 2}, {"pp", 1}}};
    program.parties.front().role_digit = 2;
    const Layout shards{flat(), replicated(), replicated()};
    const auto add = [&](const char* name, const Layout& layout, const Layout& step, int bytes) {
        program.tensors.push_back({.name = name,
                                   .parameter = name,
                                   .dtype = Dtype::bf16,
                                   .kind = TensorKind::gradients,
                                   .lifetime = Lifetime::persistent,
                                   .global_shape = {1, 5},
                                   .layout = layout,
                                   .step_layout = step,
                                   .column_parts = {},
                                   .bytes = Bytes{bytes}});
    };
    add("stepped by shards", Layout(3), shards, 10);
    add("stepped by all", Layout(3), {}, 10);
    add("held by shards", shards, {}, 6);
    program.tensors.push_back({.name = "norm",
                               .parameter = {},
                               .dtype = Dtype::fp32,
                               .layout = {partial(), partial(), replicated()},
                               .column_parts = {},
                               .bytes = Bytes{4}});
    program.operands = {{.tensor = TensorId{3}, .access = Access::write}};
    program.kernels = {{.kind = KernelKind::gradient_norm, .dims = {}}};
    Op norm;
    norm.payload = KernelId{0};
    norm.num_operands = 1;
    program.segments = {{.name = "optimizer", .ops = {norm}}};
    program.roles = {{.name = "pp 0",
                      .slots = {{.segment = SegmentId{0}, .pass = Pass::optimizer, .waits = {}}}}};
    return program;
}

constexpr ElementRange kNone{};

TEST(ParameterShards, StepTheirPartOfWhatIsWhole) {
    const Program program = sharded_program();
    EXPECT_EQ(ParameterShards(program, RankId{0}).own(TensorId{0}), (ElementRange{0, 3}));
    EXPECT_EQ(ParameterShards(program, RankId{1}).own(TensorId{0}), (ElementRange{3, 2}));
    EXPECT_EQ(ParameterShards(program, RankId{1}).own(TensorId{1}), (ElementRange{0, 5}));
    EXPECT_EQ(ParameterShards(program, RankId{1}).stored(TensorId{0}), (ElementRange{0, 5}));
}

TEST(ParameterShards, AreWhatAShardHoldsWithoutItsPadding) {
    const Program program = sharded_program();
    EXPECT_EQ(ParameterShards(program, RankId{0}).stored(TensorId{2}), (ElementRange{0, 3}));
    EXPECT_EQ(ParameterShards(program, RankId{1}).stored(TensorId{2}), (ElementRange{3, 2}));
    EXPECT_EQ(ParameterShards(program, RankId{1}).own(TensorId{2}), (ElementRange{0, 3}));
}

TEST(ParameterShards, CountOnceInTheNorm) {
    const Program program = sharded_program();
    EXPECT_EQ(ParameterShards(program, RankId{1}).own_in_norm(TensorId{0}), (ElementRange{3, 2}));
    EXPECT_EQ(ParameterShards(program, RankId{3}).own_in_norm(TensorId{0}), kNone);  // a copy
    EXPECT_EQ(ParameterShards(program, RankId{0}).own_in_norm(TensorId{1}), (ElementRange{0, 5}));
    EXPECT_EQ(ParameterShards(program, RankId{1}).own_in_norm(TensorId{1}), kNone);
}

TEST(ParameterShards, OfATiedEmbeddingTheFirstCopyCounts) {
    Program program = sharded_program();
    program.tensors[1].parameter = program.tensors[0].parameter;
    EXPECT_EQ(ParameterShards(program, RankId{0}).own_in_norm(TensorId{0}), (ElementRange{0, 3}));
    EXPECT_EQ(ParameterShards(program, RankId{0}).own_in_norm(TensorId{1}), kNone);
}

}  // namespace
}  // namespace orrery
