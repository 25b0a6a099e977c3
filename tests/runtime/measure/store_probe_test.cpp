// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/store_probe.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/runtime/held_ranks.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

TEST(StoreProbe, TimesAreThoseAStoreCanHaveAndNothingIsLeft) {
    const TestFolder folder;
    const fs::path place = folder / "run";
    const auto begin = std::chrono::steady_clock::now();
    const auto times = probe_store(place, tiny_run_state(7), 1 << 20);
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
    ASSERT_TRUE(times) << times.error().to_string();
    for (const double seconds : {times->save_s, times->check_s, times->load_s, times->copy_s}) {
        EXPECT_GT(seconds, 1e-6);
        EXPECT_LT(seconds, whole.count());
    }
    EXPECT_TRUE(fs::is_empty(place));
}

// 64 TiB are not written: 16 MiB are, and what they take counts four million times.
TEST(StoreProbe, AnyAmountIsAskedForByASmallPart) {
    const TestFolder folder;
    const auto few = probe_store(folder.path(), tiny_run_state(7), 1 << 20);
    const auto many = probe_store(folder.path(), tiny_run_state(7), std::int64_t{1} << 46);
    ASSERT_TRUE(few && many);
    EXPECT_GT(many->check_s, 100 * few->check_s);
}

TEST(StoreProbe, AFolderThatCannotBeMadeIsAnError) {
    const auto times = probe_store("/proc/nowhere", tiny_run_state(7), 1);
    ASSERT_FALSE(times);
    EXPECT_EQ(times.error().where, "/proc/nowhere");
}

}  // namespace
}  // namespace orrery
