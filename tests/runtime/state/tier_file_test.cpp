// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/tier_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "tests/test_folder.h"

namespace orrery {
namespace {

using Bytes = std::vector<std::byte>;

TEST(TierFile, KeepsWhatIsWrittenAndHasNoName) {
    const TestFolder folder;
    const auto path = folder.path() / "made";
    auto file = TierFile::create(path, 10'000);
    ASSERT_TRUE(file) << file.error().to_string();
    EXPECT_TRUE(std::filesystem::is_empty(path));
    TierFile& f = **file;
    EXPECT_TRUE(std::ranges::all_of(f.bytes(), [](std::byte b) { return b == std::byte{}; }));
    const Bytes written(4000, std::byte{7});
    Bytes read(4000);
    f.write(5000, written);
    f.read(5000, read);  // behind the write
    ASSERT_TRUE(f.wait(read.data()));
    EXPECT_EQ(read, written);
    ASSERT_TRUE(f.wait());
    EXPECT_EQ(f.bytes()[4999], std::byte{});
    EXPECT_EQ(f.bytes()[5000], std::byte{7});
    f.bytes()[3] = std::byte{9};
    f.read(0, read);
    ASSERT_TRUE(f.wait(read.data()));
    EXPECT_EQ(read[3], std::byte{9});
}

TEST(TierFile, SaysWhatIsWrongWithTheFolder) {
    const TestFolder folder;
    const auto none = TierFile::create({}, 10);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().where, "job.offload_folder");
    const auto blocked = TierFile::create("/dev/null/folder", 10);
    ASSERT_FALSE(blocked);
    EXPECT_EQ(blocked.error().hint, "a folder that may be written to");
}

// A limit on the size of files stands for a disk that is full.
TEST(TierFile, AFullDiskIsAnErrorAtTheBeginning) {
    const TestFolder folder;
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto file = TierFile::create(folder.path(), 2 << 20);
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().where, "job.offload_folder");
    EXPECT_NE(file.error().what.find("2097152 bytes"), std::string::npos);
    EXPECT_EQ(file.error().hint, "free some space, or another folder");
}

}  // namespace
}  // namespace orrery
