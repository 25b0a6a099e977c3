// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/nccl_choice_table.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using F = NcclFunction;

constexpr NcclCombination kTreeLl128{NcclAlgorithm::tree, NcclProtocol::ll128};
constexpr NcclCombination kRingSimple{NcclAlgorithm::ring, NcclProtocol::simple};

NcclChoiceTable two_sizes() {
    return {{F::all_reduce, 8, 16, 1'000, kRingSimple},
            {F::all_reduce, 8, 16, 0, kTreeLl128},
            {F::all_reduce, 8, 64, 0, kTreeLl128},
            {F::all_reduce, 8, 64, 1'000'000, {}}};
}

TEST(NcclChoiceTable, ARowHoldsFromItsRanksAndBytesOn) {
    const NcclChoiceTable table = two_sizes();
    EXPECT_EQ(choice_of_table(table, F::all_reduce, 2, 16, 999), kTreeLl128);
    EXPECT_EQ(choice_of_table(table, F::all_reduce, 2, 16, 1'000), kRingSimple);
    EXPECT_EQ(choice_of_table(table, F::all_reduce, 4, 32, 2'000), kRingSimple);
    EXPECT_EQ(choice_of_table(table, F::all_reduce, 8, 64, 2'000), kTreeLl128);
}

TEST(NcclChoiceTable, OtherCallsAreLeftToNccl) {
    const NcclChoiceTable table = two_sizes();
    EXPECT_FALSE(choice_of_table(table, F::all_gather, 2, 16, 0));
    EXPECT_FALSE(choice_of_table(table, F::all_reduce, 1, 8, 0));
    EXPECT_FALSE(choice_of_table(table, F::all_reduce, 16, 16, 0));
    EXPECT_FALSE(choice_of_table(table, F::all_reduce, 3, 17, 0));
    EXPECT_FALSE(choice_of_table(table, F::all_reduce, 8, 64, 1'000'000));
    EXPECT_FALSE(choice_of_table({}, F::all_reduce, 2, 16, 0));
}

}  // namespace
}  // namespace orrery
