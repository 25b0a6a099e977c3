// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/memories.h"

#include <gtest/gtest.h>

#include "runtime/supervisor/memory_copies.h"
#include "tests/runtime/held_ranks.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

const JobShape kTwo{.slots = 2, .units = 2};

// Rank's file of a checkpoint after `step` steps, in a node's memory.
void put(const Memories& memories, NodeNumber node, std::int64_t step, std::int64_t rank) {
    const fs::path folder = memory_of_node(memories.folder(), node) / checkpoint_name(step);
    fs::create_directories(folder);
    HeldRank held{{}, 0, true};
    held.fill(static_cast<float>(step));
    const fs::path whole = memories.folder() / "whole";
    const RankOfRun one{.rank = rank, .num_ranks = 2};
    fs::create_directories(whole / (checkpoint_name(step) + ".tmp"));
    ASSERT_TRUE(save_checkpoint(disk(), whole, tiny_run_state(step), one, held.parameters()));
    const std::string name = checkpoint_file_name(rank);
    const fs::path made = whole / (checkpoint_name(step) + (rank == 0 ? "" : ".tmp")) / name;
    fs::copy_file(made, folder / name, fs::copy_options::overwrite_existing);
    fs::remove_all(whole);
}

TEST(Memories, WithoutAPlaceThereAreNoCopies) {
    Memories memories{true};
    EXPECT_EQ(memories.newest(kTwo), -1);
    EXPECT_FALSE(memories.gather(kTwo));
}

TEST(Memories, TheNewestStepThatIsCompleteCounts) {
    Memories memories{false};
    ASSERT_TRUE(memories.open());
    put(memories, 0, 5, 0);
    put(memories, 0, 5, 1);
    put(memories, 1, 6, 1);
    EXPECT_EQ(memories.newest(kTwo), 5);
    put(memories, 0, 6, 0);
    EXPECT_EQ(memories.newest(kTwo), 6);
    const auto gathered = memories.gather(kTwo);
    ASSERT_TRUE(gathered);
    EXPECT_EQ(gathered->step, 6);
    memories.lose(1);
    EXPECT_EQ(memories.newest(kTwo), 5);
    memories.lose(0);
    EXPECT_EQ(memories.newest(kTwo), -1);
}

TEST(Memories, AReplicaStandsInWhereTheStateIsTheSame) {
    Memories memories{true};
    ASSERT_TRUE(memories.open());
    put(memories, 1, 7, 1);
    EXPECT_EQ(memories.newest(kTwo), 7);
    EXPECT_TRUE(memories.gather(kTwo));
    memories.forget();
    EXPECT_EQ(memories.newest(kTwo), -1);
}

TEST(Memories, GoWithTheSupervisor) {
    fs::path folder;
    {
        Memories memories{true};
        ASSERT_TRUE(memories.open());
        folder = memories.folder();
        EXPECT_TRUE(fs::exists(folder));
    }
    EXPECT_FALSE(fs::exists(folder));
}

}  // namespace
}  // namespace orrery
