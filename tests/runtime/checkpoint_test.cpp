// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint.h"

#include <barrier>
#include <thread>

#include "runtime/state/safetensors.h"
#include "tests/runtime/held_ranks.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

// The disk, until operation `fails_at`; that one and, if the process `crashes`, all later ones
// fail. A file that fails is cut in the middle.
class FailingDisk : public FileSystem {
public:
    FailingDisk(int fails_at, bool crashes) : fails_at_(fails_at), crashes_(crashes) {}

    Result<void> create_folder(const Path& path) override {
        return fails() ? error(path) : disk().create_folder(path);
    }
    Result<void> write_file(const Path& path, const Pieces& pieces) override {
        if (!fails()) {
            return disk().write_file(path, pieces);
        }
        const bool gone = crashes_ && operations_ > fails_at_ + 1;
        const Result<void> ignored =
            gone ? Result<void>{} : disk().write_file(path, {pieces.begin(), pieces.end() - 1});
        return error(path);
    }
    Result<void> rename(const Path& from, const Path& to) override {
        return fails() ? error(to) : disk().rename(from, to);
    }
    Result<void> remove(const Path& path) override {
        return fails() ? error(path) : disk().remove(path);
    }
    int operations() const { return operations_; }

private:
    bool fails() {
        const int now = operations_++;
        return now == fails_at_ || (crashes_ && now > fails_at_);
    }
    static Result<void> error(const Path& path) { return fail(path.string(), "no space left"); }

    int fails_at_;
    bool crashes_;
    int operations_ = 0;
};

Result<void> save(FileSystem& files, const std::filesystem::path& folder, std::int64_t step) {
    HeldRank rank{{}, 0, true};
    rank.fill(static_cast<float>(1000 * step));
    return save_checkpoint(files, folder, tiny_run_state(step), {}, rank.parameters());
}

// The step of the checkpoint that is found, all of which must be of that step; -1 if none is.
std::int64_t loaded_step(const std::filesystem::path& folder) {
    const auto checkpoint = find_checkpoint(folder);
    if (!checkpoint) {
        return -1;
    }
    HeldRank rank{{}, 0, true};
    const auto run = load_checkpoint(*checkpoint, tiny_run_state(0), 0, rank.parameters());
    if (!run) {
        ADD_FAILURE() << run.error().to_string();
        return -1;
    }
    HeldRank expected{{}, 0, true};
    expected.fill(static_cast<float>(1000 * run->step));
    EXPECT_EQ(rank.values(), expected.values());
    EXPECT_EQ(run->consumed_samples, 4 * run->step);
    return run->step;
}

TEST(Checkpoint, IsLoadedAsItWasSaved) {
    const TestFolder folder;
    EXPECT_EQ(loaded_step(folder.path()), -1);
    ASSERT_TRUE(save(disk(), folder / "run", 5));
    EXPECT_EQ(loaded_step(folder / "run"), 5);
    ASSERT_TRUE(save(disk(), folder / "run", 123));
    EXPECT_EQ(loaded_step(folder / "run"), 123);
    EXPECT_EQ(read_text(folder / "run/latest"), "step-000123\n");
    EXPECT_EQ(loaded_step(folder / "run/step-000005"), 5);
    EXPECT_TRUE(Safetensors::open(folder / "run/step-000005/rank-00000.safetensors"));
}

// `second` is saved over a good step 5 and fails at every operation in turn.
void expect_intact(const std::filesystem::path& folder, std::int64_t second, bool crashes) {
    for (int fails_at = 0;; ++fails_at) {
        std::filesystem::remove_all(folder);
        ASSERT_TRUE(save(disk(), folder, 5));
        FailingDisk failing{fails_at, crashes};
        const bool saved = static_cast<bool>(save(failing, folder, second));
        const std::int64_t step = loaded_step(folder);
        EXPECT_TRUE(step == 5 || step == second) << fails_at;
        EXPECT_EQ(saved, failing.operations() <= fails_at);
        if (saved) {
            EXPECT_GE(fails_at, 6);
            EXPECT_EQ(step, second);
            return;
        }
        ASSERT_TRUE(save(disk(), folder, second + 1)) << fails_at;
        EXPECT_EQ(loaded_step(folder), second + 1);
    }
}

TEST(Checkpoint, AFailureAnywhereLeavesTheLastGoodOne) {
    const TestFolder folder;
    expect_intact(folder / "run", 10, false);
}

TEST(Checkpoint, ACrashAnywhereLeavesTheLastGoodOne) {
    const TestFolder folder;
    expect_intact(folder / "run", 10, true);
}

TEST(Checkpoint, ACrashWhileOneOfTheSameStepIsReplacedLeavesOne) {
    const TestFolder folder;
    expect_intact(folder / "run", 5, true);
    expect_intact(folder / "run", 5, false);
}

TEST(Checkpoint, AFailedAttemptLeavesNoFiles) {
    const TestFolder folder;
    ASSERT_TRUE(save(disk(), folder.path(), 5));
    FailingDisk failing{2, false};  // remove, create, write
    const auto saved = save(failing, folder.path(), 10);
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().what, "no space left");
    EXPECT_FALSE(std::filesystem::exists(folder / "step-000010.tmp"));
    EXPECT_FALSE(std::filesystem::exists(folder / "step-000010"));
}

TEST(Checkpoint, AFolderThatCannotBeMadeIsAnError) {
    const TestFolder folder;
    write_text(folder / "file", "");
    const auto saved = save(disk(), folder / "file/run", 5);
    ASSERT_FALSE(saved);
    EXPECT_NE(saved.error().where.find("file/run"), std::string::npos);
}

// Whatever byte of a file changes, loading tells; no part of a damaged file is taken for good.
TEST(Checkpoint, DamageIsFound) {
    const TestFolder folder;
    ASSERT_TRUE(save(disk(), folder.path(), 5));
    const auto path = folder / "step-000005/rank-00000.safetensors";
    const std::string good = read_text(path);
    const auto error_of = [&](const std::string& text) {
        write_text(path, text);
        HeldRank rank{{}, 0, true};
        const auto run =
            load_checkpoint(folder / "step-000005", tiny_run_state(0), 0, rank.parameters());
        return run ? std::string{} : run.error().what;
    };
    EXPECT_EQ(error_of(good), "");
    for (std::size_t i = 0; i < good.size(); i += 17) {
        std::string text = good;
        text[i] = static_cast<char>(text[i] ^ 0x10);
        EXPECT_NE(error_of(text), "") << i;
    }
    std::string text = good;
    text[good.size() - 100] = static_cast<char>(text[good.size() - 100] ^ 1);
    EXPECT_EQ(error_of(text), "is damaged: its checksum is another");
    EXPECT_NE(error_of(good.substr(0, good.size() / 2)), "");
    std::filesystem::remove(path);
    EXPECT_NE(error_of(good.substr(0, 7)), "");
}

TEST(Checkpoint, OfAnotherRunIsAnErrorThatNamesWhatDiffers) {
    const TestFolder folder;
    ASSERT_TRUE(save(disk(), folder.path(), 5));
    RunState other = tiny_run_state(0);
    other.model.num_layers = 3;
    other.seed = 8;
    other.precision = "bf16";
    HeldRank rank{{}, 0, true};
    const auto run = load_checkpoint(folder / "step-000005", other, 0, rank.parameters());
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().what,
              "is of another run: job.seed is 7 there and 8 here; model.num_layers is 2 there and "
              "3 here; plan.precision is fp32 there and bf16 here");
}

TEST(Checkpoint, AParameterThatItLacksIsNamed) {
    const TestFolder folder;
    HeldRank saved{{}, 0, false};
    ASSERT_TRUE(save_checkpoint(disk(), folder.path(), tiny_run_state(1), {}, saved.parameters()));
    HeldRank rank{{}, 0, true};
    const auto run =
        load_checkpoint(folder / "step-000001", tiny_run_state(0), 0, rank.parameters());
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().what, "lacks 'master matrix'");
}

TEST(FindCheckpoint, TellsWhereThereIsNone) {
    const TestFolder folder;
    EXPECT_EQ(find_checkpoint(folder.path()).error().what, "holds no checkpoint");
    write_text(folder / "latest", "step-000007\n");
    EXPECT_NE(find_checkpoint(folder.path()).error().what.find("is not there"), std::string::npos);
}

// All ranks of a layout, each in a thread; std::barrier is what they agree by.
void save_ranks(const std::filesystem::path& folder, RankLayout layout) {
    std::barrier<> barrier{layout.num_ranks()};
    std::vector<std::thread> threads;
    for (std::int64_t i = 0; i < layout.num_ranks(); ++i) {
        threads.emplace_back([&, i] {
            HeldRank rank{layout, i, true};
            rank.fill(3);
            const auto agree = [&](Result<void> own) {
                barrier.arrive_and_wait();
                return own;
            };
            EXPECT_TRUE(
                save_checkpoint(disk(),
                                folder,
                                tiny_run_state(2),
                                {.rank = i, .num_ranks = layout.num_ranks(), .agree = agree},
                                rank.parameters()));
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

TEST(Checkpoint, IsLoadedByRanksOfAnyOtherLayout) {
    const TestFolder folder;
    const RankLayout layouts[] = {
        {1, 1}, {2, 1}, {1, 3}, {3, 2}, {2, 4}, {1, 5, true}, {2, 3, true}};
    for (const RankLayout from : layouts) {
        const auto run_folder =
            folder / (std::to_string(from.tensor_parallel) + std::to_string(from.sharers) +
                      (from.shares_weights ? "w" : ""));
        save_ranks(run_folder, from);
        for (const RankLayout to : layouts) {
            for (std::int64_t i = 0; i < to.num_ranks(); ++i) {
                HeldRank rank{to, i, true};
                const auto run = load_checkpoint(
                    run_folder / "step-000002", tiny_run_state(0), i, rank.parameters());
                ASSERT_TRUE(run) << run.error().to_string();
                HeldRank expected{to, i, true};
                expected.fill(3);
                EXPECT_EQ(rank.values(), expected.values());
            }
        }
    }
}

TEST(Checkpoint, ARankThatFailsKeepsAllFromNamingIt) {
    const TestFolder folder;
    ASSERT_TRUE(save(disk(), folder.path(), 5));
    HeldRank rank{{}, 0, true};
    int turn = 0;
    const auto agree = [&](Result<void> own) {
        return ++turn == 2 ? fail("", "another rank could not do it") : own;
    };
    const auto saved = save_checkpoint(disk(),
                                       folder.path(),
                                       tiny_run_state(6),
                                       {.rank = 0, .num_ranks = 2, .agree = agree},
                                       rank.parameters());
    EXPECT_FALSE(saved);
    EXPECT_EQ(turn, 2);
    EXPECT_EQ(loaded_step(folder.path()), 5);
    EXPECT_FALSE(std::filesystem::exists(folder / "step-000006.tmp"));
}

}  // namespace
}  // namespace orrery
