// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm_algorithms.h"

#include <gtest/gtest.h>

#include <fstream>

namespace orrery {
namespace {

class GemmAlgorithmsFile : public testing::Test {
protected:
    GemmAlgorithmsFile() {
        folder_ = std::filesystem::path{testing::TempDir()} /
                  ("gemm_algorithms_" +
                   std::string{testing::UnitTest::GetInstance()->current_test_info()->name()});
        std::filesystem::remove_all(folder_);
    }
    ~GemmAlgorithmsFile() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path file() const { return folder_ / "deep" / "h100.txt"; }

    static GemmAlgorithms two() {
        GemmAlgorithms all{"H100 80GB", "130100"};
        all.set("a", {.description = {1, 0xFFFFFFFFFFFFFFFF, 3, 4, 5, 6, 7, 0}, .nanoseconds = 10});
        all.set("b", {.description = {9}, .nanoseconds = 11});
        return all;
    }

    std::filesystem::path folder_;
};

TEST_F(GemmAlgorithmsFile, ComesBackAsItWas) {
    ASSERT_TRUE(two().save(file()));
    GemmAlgorithms read{"H100 80GB", "130100"};
    ASSERT_TRUE(read.load(file()));
    EXPECT_EQ(read.size(), 2u);
    EXPECT_EQ(read.find("a"), two().find("a"));
    EXPECT_EQ(read.find("b"), two().find("b"));
    EXPECT_EQ(read.find("c"), std::nullopt);
}

TEST_F(GemmAlgorithmsFile, OfAnotherDeviceOrLibraryCountsForNothing) {
    ASSERT_TRUE(two().save(file()));
    GemmAlgorithms device{"H200", "130100"};
    ASSERT_TRUE(device.load(file()));
    EXPECT_EQ(device.size(), 0u);
    GemmAlgorithms version{"H100 80GB", "130200"};
    ASSERT_TRUE(version.load(file()));
    EXPECT_EQ(version.size(), 0u);
}

TEST_F(GemmAlgorithmsFile, NeedNotBeThere) {
    GemmAlgorithms none{"H100 80GB", "130100"};
    EXPECT_TRUE(none.load(file()));
    EXPECT_EQ(none.size(), 0u);
}

TEST_F(GemmAlgorithmsFile, DamageIsAnErrorAtItsLine) {
    for (const char* line : {"a 10", "a 10 12ab", "a ten 0", "\n", "a 10 zz"}) {
        ASSERT_TRUE(two().save(file()));
        std::ofstream{file(), std::ios::app} << line << '\n';
        GemmAlgorithms read{"H100 80GB", "130100"};
        const Result<void> loaded = read.load(file());
        ASSERT_FALSE(loaded) << line;
        EXPECT_EQ(loaded.error().where, file().string() + ":6") << line;
        EXPECT_EQ(read.size(), 0u);
    }
    std::ofstream{file()} << "something else\n";
    GemmAlgorithms read{"H100 80GB", "130100"};
    EXPECT_FALSE(read.load(file()));
}

TEST_F(GemmAlgorithmsFile, WhereNothingCanBeWrittenIsAnError) {
    EXPECT_FALSE(two().save("/proc/no/such/folder/file"));
}

}  // namespace
}  // namespace orrery
