// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/checkpoint_choice.h"

#include <gtest/gtest.h>

#include <fstream>

#include "runtime/state/file_system.h"
#include "tests/runtime/held_ranks.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

Result<void> save(const fs::path& folder, std::int64_t step, FileSystem& files = disk()) {
    HeldRank rank{{}, 0, true};
    rank.fill(static_cast<float>(1000 * step));
    return save_checkpoint(files, folder, tiny_run_state(step), {}, rank.parameters());
}

std::int64_t chosen(const fs::path& folder, std::int64_t most = INT64_MAX, std::uint32_t back = 0) {
    const auto found = newest_intact(folder, most, back);
    return found ? found->step : -1;
}

TEST(CheckpointChoice, IsTheNewestOfThoseAllowed) {
    const TestFolder folder;
    EXPECT_EQ(chosen(folder.path()), -1);
    EXPECT_EQ(chosen(folder / "nowhere"), -1);
    for (const std::int64_t step : {5, 10, 15}) {
        ASSERT_TRUE(save(folder.path(), step));
    }
    EXPECT_EQ(chosen(folder.path()), 15);
    EXPECT_EQ(chosen(folder.path(), 14), 10);
    EXPECT_EQ(chosen(folder.path(), 15, 2), 5);
    EXPECT_EQ(chosen(folder.path(), 15, 3), -1);
}

TEST(CheckpointChoice, WhatAnEarlierRunLeftIsNotOfThisOne) {
    const TestFolder folder;
    ASSERT_TRUE(save(folder.path(), 60));
    const auto now = fs::file_time_type::clock::now();
    fs::last_write_time(folder / "step-000060", now - std::chrono::seconds{5});
    EXPECT_FALSE(newest_intact(folder.path(), INT64_MAX, 0, {}, now));
    ASSERT_TRUE(save(folder.path(), 10));
    fs::last_write_time(folder / "step-000010", now + std::chrono::seconds{5});
    EXPECT_EQ(newest_intact(folder.path(), INT64_MAX, 0, {}, now)->step, 10);
}

// Every bit of every file of the newest checkpoint, one after the other.
TEST(CheckpointChoice, AnyFlippedBitIsFoundAndThePreviousOneIsTaken) {
    const TestFolder folder;
    ASSERT_TRUE(save(folder.path(), 5));
    ASSERT_TRUE(save(folder.path(), 10));
    const fs::path file = folder / "step-000010/rank-00000.safetensors";
    const std::string whole = read_text(file);
    std::size_t accepted = 0;
    std::fstream bytes{file, std::ios::binary | std::ios::in | std::ios::out};
    const auto put = [&](std::size_t at, char byte) {
        bytes.seekp(static_cast<std::streamoff>(at)).put(byte).flush();
    };
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        const std::size_t at = bit / 8;
        put(at, static_cast<char>(whole[at] ^ (1 << bit % 8)));
        accepted += verify_checkpoint(file.parent_path()) ? 1 : 0;
        accepted += bit % 101 == 0 && chosen(folder.path()) != 5 ? 1 : 0;
        put(at, whole[at]);
    }
    EXPECT_EQ(accepted, 0u) << "of " << 8 * whole.size();
    EXPECT_GT(whole.size(), 1000u);
    EXPECT_EQ(chosen(folder.path()), 10);
}

TEST(CheckpointChoice, AnyTruncatedFileIsPassedOver) {
    const TestFolder folder;
    ASSERT_TRUE(save(folder.path(), 5));
    ASSERT_TRUE(save(folder.path(), 10));
    const fs::path file = folder / "step-000010/rank-00000.safetensors";
    const std::string whole = read_text(file);
    for (std::size_t size = 0; size < whole.size(); size += 7) {
        write_text(file, whole.substr(0, size));
        ASSERT_EQ(chosen(folder.path()), 5) << size;
    }
    fs::remove(file);
    EXPECT_EQ(chosen(folder.path()), 5);
}

// Every operation of a save is done, or left out with all after it, or, of a write, done in part:
// whole sectors of 512 bytes, in order or all but one, and torn inside of one.
class CrashingDisk final : public FileSystem {
public:
    struct Cut {
        int operation = 0;
        std::size_t bytes = 0;               // of a write
        std::size_t hole = ~std::size_t{0};  // a sector that did not arrive
    };
    explicit CrashingDisk(Cut cut) : cut_(cut) {}

    Result<void> create_folder(const Path& path) override {
        return now() == Moment::before ? disk().create_folder(path) : gone();
    }
    Result<void> write_file(const Path& path, const Pieces& pieces) override {
        const Moment moment = now();
        if (moment == Moment::after) {
            return gone();
        }
        std::string bytes;
        for (const auto& piece : pieces) {
            bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
        }
        largest_ = std::max(largest_, bytes.size());
        if (moment == Moment::before) {
            return disk().write_file(path, pieces);
        }
        if (cut_.hole < bytes.size() / kSector + 1) {
            const std::size_t begin = cut_.hole * kSector;
            std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(std::min(begin, bytes.size())),
                        std::min(kSector, bytes.size() - std::min(begin, bytes.size())),
                        '\0');
        } else {
            bytes.resize(std::min(bytes.size(), cut_.bytes));
        }
        write_text(path, bytes);
        return gone();
    }
    Result<void> rename(const Path& from, const Path& to) override {
        return now() == Moment::before ? disk().rename(from, to) : gone();
    }
    Result<void> remove(const Path& path) override {
        return now() == Moment::before ? disk().remove(path) : gone();
    }
    int operations() const { return operations_; }
    std::size_t largest() const { return largest_; }
    static constexpr std::size_t kSector = 512;

private:
    enum class Moment { before, at, after };
    Moment now() {
        const int operation = operations_++;
        return operation < cut_.operation    ? Moment::before
               : operation == cut_.operation ? Moment::at
                                             : Moment::after;
    }
    static Result<void> gone() { return fail("disk", "the power is gone"); }
    Cut cut_;
    int operations_ = 0;
    std::size_t largest_ = 0;
};

TEST(CheckpointChoice, NoStateThatACrashLeavesIsBad) {
    // In memory, where there is such a place: thousands of files wait for a disk.
    const TestFolder own;
    const fs::path memory = fs::path{"/dev/shm"} / own.path().filename();
    std::error_code error;
    const bool in_memory = fs::create_directories(memory, error) || fs::exists(memory, error);
    const fs::path folder = in_memory ? memory : own.path();
    const fs::path before = folder / "before";
    fs::remove_all(before);
    ASSERT_TRUE(save(before, 5));
    CrashingDisk whole{{.operation = 1000}};
    ASSERT_TRUE(save(folder / "probe", 10, whole));
    const std::size_t sectors = whole.largest() / CrashingDisk::kSector + 1;
    int states = 0;
    const auto crash = [&](CrashingDisk::Cut cut, std::int64_t step) {
        const fs::path run = folder / "run";
        fs::remove_all(run);
        fs::copy(before, run, fs::copy_options::recursive);
        CrashingDisk crashing{cut};
        const bool saved = static_cast<bool>(save(run, step, crashing));
        const std::int64_t found = chosen(run);
        EXPECT_TRUE(found == 5 || found == step) << cut.operation << " " << cut.bytes;
        EXPECT_TRUE(!saved || found == step);
        const auto loaded = newest_intact(run);
        ASSERT_TRUE(loaded);
        HeldRank rank{{}, 0, true};
        ASSERT_TRUE(load_checkpoint(loaded->folder, tiny_run_state(0), 0, rank.parameters()));
        HeldRank expected{{}, 0, true};
        expected.fill(static_cast<float>(1000 * found));
        EXPECT_EQ(rank.values(), expected.values());
        ++states;
    };
    for (const std::int64_t step : {10, 5}) {
        for (int operation = 0; operation <= whole.operations() + 4; ++operation) {
            for (std::size_t hole = 0; hole < sectors; ++hole) {
                crash({operation, 0, hole}, step);
            }
            for (std::size_t bytes = 0; bytes <= whole.largest(); bytes += 61) {
                crash({operation, bytes}, step);
            }
        }
    }
    EXPECT_GE(states, 1000);
    fs::remove_all(memory, error);
}

}  // namespace
}  // namespace orrery
