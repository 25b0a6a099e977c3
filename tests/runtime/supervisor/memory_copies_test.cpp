// SPDX-License-Identifier: Apache-2.0
// Copies of real trainings: tests/program/supervised_training_test.cpp; what is made of them:
// memories_test.cpp.
#include "runtime/supervisor/memory_copies.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(MemoryCopies, EachNodeHasAPlaceOfItsOwn) {
    EXPECT_EQ(memory_of_node("/m", 3), "/m/node-00003");
    EXPECT_NE(memory_of_node("/m", 3), memory_of_node("/m", 30));
}

TEST(MemoryCopies, DamagedOnesAreNotPutTogether) {
    const TestFolder folder;
    const auto memory = memory_of_node(folder.path(), 0) / "step-000004";
    std::filesystem::create_directories(memory);
    write_text(memory / "rank-00000.safetensors", "torn");
    const JobShape one{.slots = 1};
    EXPECT_EQ(newest_in_memory(folder.path(), one, false), 4);
    EXPECT_FALSE(gather_from_memory(folder.path(), one, false, 4, folder / "gathered"));
    EXPECT_FALSE(gather_from_memory(folder.path(), one, false, 5, folder / "gathered"));
}

}  // namespace
}  // namespace orrery
