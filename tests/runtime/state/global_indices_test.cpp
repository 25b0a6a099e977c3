// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/global_indices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "models/plan/layout.h"

namespace orrery {
namespace {

Program two_ranks() {
    Program program;
    program.parties.front().mesh = Mesh{{{"tp", 2}}};
    return program;
}

std::vector<std::int64_t> indices(const Tensor& tensor, RankId rank, std::int64_t count) {
    const Program program = two_ranks();
    const GlobalIndices of{program, rank, tensor};
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < count; ++i) {
        all.push_back(of.of(i));
        for (std::int64_t n = 0; n < std::min(of.consecutive(i), count - i); ++n) {
            EXPECT_EQ(of.of(i + n), all.back() + n);
        }
        EXPECT_GE(of.consecutive(i), 1);
    }
    return all;
}

TEST(GlobalIndices, RowsAndColumnsAreCutAsTheLayoutSays) {
    Tensor tensor;
    tensor.global_shape = {2, 4};
    tensor.layout = {replicated()};
    EXPECT_EQ(indices(tensor, RankId{1}, 8), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    tensor.layout = {sharded(kInput)};
    EXPECT_EQ(indices(tensor, RankId{1}, 4), (std::vector<std::int64_t>{4, 5, 6, 7}));
    tensor.layout = {sharded(kOutput)};
    EXPECT_EQ(indices(tensor, RankId{1}, 4), (std::vector<std::int64_t>{2, 3, 6, 7}));
}

TEST(GlobalIndices, EachPartOfTheColumnsIsCut) {
    Tensor tensor;
    tensor.global_shape = {2, 8};
    tensor.column_parts = {4, 2, 2};
    tensor.layout = {sharded(kOutput)};
    EXPECT_EQ(indices(tensor, RankId{0}, 8), (std::vector<std::int64_t>{0, 1, 4, 6, 8, 9, 12, 14}));
    EXPECT_EQ(indices(tensor, RankId{1}, 8),
              (std::vector<std::int64_t>{2, 3, 5, 7, 10, 11, 13, 15}));
}

// Two experts [4, 2] of which each rank has two rows: of the first expert, then of the second.
TEST(GlobalIndices, RowsOfEachExpertAreCut) {
    Tensor tensor;
    tensor.global_shape = {2, 4, 2};
    tensor.layout = {sharded(1)};
    EXPECT_EQ(indices(tensor, RankId{0}, 8), (std::vector<std::int64_t>{0, 1, 2, 3, 8, 9, 10, 11}));
    EXPECT_EQ(indices(tensor, RankId{1}, 8),
              (std::vector<std::int64_t>{4, 5, 6, 7, 12, 13, 14, 15}));
    tensor.layout = {sharded(0)};
    EXPECT_EQ(indices(tensor, RankId{1}, 8),
              (std::vector<std::int64_t>{8, 9, 10, 11, 12, 13, 14, 15}));
}

}  // namespace
}  // namespace orrery
