// SPDX-License-Identifier: Apache-2.0
// The text of a report beside a golden file: tests/golden/reports/NAME.txt. Where the environment
// has ORRERY_WRITE_REPORTS, the file is written instead.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace orrery {

inline void expect_golden(const std::string& name, const std::string& text) {
    const std::string file = ORRERY_SOURCE_DIR "/tests/golden/reports/" + name + ".txt";
    if (std::getenv("ORRERY_WRITE_REPORTS") != nullptr) {
        std::ofstream{file} << text;
    }
    std::stringstream golden;
    golden << std::ifstream{file}.rdbuf();
    EXPECT_EQ(text, golden.str()) << file;
}

}  // namespace orrery
