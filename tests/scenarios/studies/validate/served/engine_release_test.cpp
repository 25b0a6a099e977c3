// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/engine_release.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

constexpr EngineRelease release(int major, int minor, int patch = 0) {
    return {.major = major, .minor = minor, .patch = patch};
}

TEST(EngineReleases, EndTheNamesOfEngines) {
    EXPECT_EQ(release_of("sglang-0.5.6.post1"), release(0, 5, 6));
    EXPECT_EQ(release_of("trtllm serve 1.2.0rc1"), release(1, 2));
    EXPECT_EQ(release_of("trtllm-0.14"), release(0, 14));
    EXPECT_EQ(release_of("trtllm-0.5.1-rc0.pre3"), std::nullopt);
    EXPECT_EQ(release_of("0.6.3"), release(0, 6, 3));
    for (const char* const name : {"vllm-2024", "trtllm", "vllm-mlperf-v5.1", "vllm-", ""}) {
        EXPECT_EQ(release_of(name), std::nullopt) << name;
    }
}

TEST(EngineReleases, CompareByNumbersAndNotByLetters) {
    EXPECT_TRUE(is_from("sglang-0.5.10.post1", "sglang-", release(0, 5, 9)));
    EXPECT_TRUE(is_from("sglang-0.6.0", "sglang-", release(0, 5, 5)));
    EXPECT_TRUE(is_from("trtllm-1.0", "trtllm-", release(0, 15)));
    EXPECT_FALSE(is_from("sglang-0.5.4", "sglang-", release(0, 5, 5)));
    EXPECT_FALSE(is_from("vllm-0.9", "vllm-", release(0, 10)));
    EXPECT_FALSE(is_from("vllm-0.14.0", "sglang-", release(0, 5, 5)));
    EXPECT_FALSE(is_from("vllm-2024", "vllm-", release(0, 1)));
}

}  // namespace
}  // namespace orrery
