// SPDX-License-Identifier: Apache-2.0
#include "engine/base/large_pages.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace orrery {
namespace {

// VmFlags of the mappings that the heap lies in (proc(5): hg is advice to take large pages).
std::string flags_of_heap() {
    std::ifstream maps{"/proc/self/smaps"};
    std::string flags;
    bool heap = false;
    for (std::string line; std::getline(maps, line);) {
        if (line.starts_with("VmFlags:")) {
            flags += heap ? line.substr(8) : "";
            heap = false;
        } else if (line.ends_with("[heap]")) {
            heap = true;
        }
    }
    return flags;
}

TEST(LargePages, ArePreferredForTheHeapThatFollows) {
    if (flags_of_heap().empty() ||
        !std::filesystem::exists("/sys/kernel/mm/transparent_hugepage/enabled")) {
        GTEST_SKIP() << "this heap or system has no large pages";
    }
    ASSERT_EQ(flags_of_heap().find(" hg"), std::string::npos);
    prefer_large_pages(std::size_t{64} << 20);
    EXPECT_NE(flags_of_heap().find(" hg"), std::string::npos);
    prefer_large_pages(std::size_t{64} << 20);  // once is enough
}

}  // namespace
}  // namespace orrery
