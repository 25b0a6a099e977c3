// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/checkpoint_files.h"

#include "tests/runtime/held_ranks.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

RunState saved_in(const std::filesystem::path& folder, bool master) {
    HeldRank rank{{}, 0, master};
    rank.fill(10);
    RunState run = tiny_run_state(3);
    run.precision = master ? "bf16" : "fp32";
    EXPECT_TRUE(save_checkpoint(disk(), folder, run, {}, rank.parameters()));
    return run;
}

TEST(CheckpointFiles, TellTheRun) {
    const TestFolder folder;
    const RunState saved = saved_in(folder.path(), false);
    const auto files = CheckpointFiles::open(folder / "step-000003");
    ASSERT_TRUE(files);
    EXPECT_EQ(files->run().model, saved.model);
    EXPECT_EQ(files->run().precision, "fp32");
    EXPECT_EQ(files->run().seed, 7U);
    EXPECT_EQ(files->run().step, 3);
    EXPECT_EQ(files->run().consumed_samples, 12);
    EXPECT_EQ(files->run().global_batch_size, 4);
}

TEST(CheckpointFiles, WholeWeightsAreThoseOfTheMasterIfThereIsOne) {
    const TestFolder folder;
    for (const bool master : {false, true}) {
        saved_in(folder.path(), master);
        auto files = CheckpointFiles::open(folder / "step-000003");
        ASSERT_TRUE(files);
        const auto vector = files->read_weights("vector", 1, 7);
        ASSERT_TRUE(vector);
        const float first = master ? 10.75f : 10.0f;
        EXPECT_EQ(*vector,
                  (std::vector<float>{
                      first, first + 1, first + 2, first + 3, first + 4, first + 5, first + 6}));
    }
}

TEST(CheckpointFiles, AnotherShapeOrTypeIsAnError) {
    const TestFolder folder;
    saved_in(folder.path(), false);
    auto files = CheckpointFiles::open(folder / "step-000003");
    ASSERT_TRUE(files);
    EXPECT_EQ(files->read_weights("vector", 1, 8).error().what,
              "'weight vector' is 1 x 7 there and 1 x 8 here");
    EXPECT_EQ(files->read_weights("none", 1, 8).error().what, "lacks 'weight none'");
    std::vector<std::byte> storage(14);
    const auto wrong = files->read("vector",
                                   Section::weight,
                                   ParameterBlock::whole(1, 7),
                                   {0, 7},
                                   {storage.data(), Dtype::bf16, 7});
    EXPECT_EQ(wrong.error().what, "'weight vector' is of type F32 there and BF16 here");
}

// A file whose checksum is good, but which is no rank's file.
TEST(CheckpointFiles, ForeignFilesAreErrors) {
    const TestFolder folder;
    EXPECT_FALSE(CheckpointFiles::open(folder.path()));
    ASSERT_TRUE(
        write_safetensors(disk(), folder.path() / checkpoint_file_name(0), {}, {{"format", "pt"}}));
    EXPECT_EQ(CheckpointFiles::open(folder.path()).error().what,
              "is not of the format 'orrery checkpoint 1'");
}

TEST(CheckpointFiles, AMissingRankIsAnErrorWhenItIsNeeded) {
    const TestFolder folder;
    const RankLayout layout{.tensor_parallel = 2, .sharers = 1};
    HeldRank rank{layout, 0, false};
    ASSERT_TRUE(save_checkpoint(
        disk(), folder.path(), tiny_run_state(3), {.rank = 0, .num_ranks = 2}, rank.parameters()));
    auto files = CheckpointFiles::open(folder / "step-000003");
    ASSERT_TRUE(files);
    EXPECT_TRUE(files->read_weights("vector", 1, 7));
    const auto matrix = files->read_weights("matrix", 5, 18);
    ASSERT_FALSE(matrix);
    EXPECT_NE(matrix.error().where.find("rank-00001"), std::string::npos);
}

}  // namespace
}  // namespace orrery
