// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/published_cases.h"

#include <gtest/gtest.h>

#include <fstream>

namespace orrery {
namespace {

TEST(PublishedCases, BadTablesAreErrorsWithTheirLine) {
    const std::string path = testing::TempDir() + "/cases.csv";
    std::ifstream good{ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training.csv"};
    std::string header;
    std::string line;
    std::getline(good, header);
    std::getline(good, line);
    std::ofstream{path} << "# comment\n" << header << "\n# another\n" << line << "\n";
    EXPECT_EQ(read_published_cases(path)->size(), 1U);
    const std::size_t at = line.find(",256,");
    std::ofstream{path} << header << "\n" << line.replace(at, 5, ",many,") << "\n";
    const auto bad = read_published_cases(path);
    ASSERT_FALSE(bad);
    EXPECT_NE(bad.error()[0].to_string().find("cases.csv:2: error: num_gpus 'many' must be"),
              std::string::npos)
        << bad.error()[0].to_string();
    std::ofstream{path} << header << "\n";
    EXPECT_EQ(read_published_cases(path).error()[0].what, "the table has no rows");
    EXPECT_FALSE(read_published_cases("/nowhere.csv"));
    EXPECT_FALSE(read_published_cases("/"));
}

TEST(PublishedCases, AllErrorsOfATableComeAtOnce) {
    const std::string path = testing::TempDir() + "/many_errors.csv";
    std::ifstream good{ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training.csv"};
    std::string header;
    std::string line;
    std::getline(good, header);
    std::getline(good, line);
    std::string other = line;
    line.replace(line.find(",bf16,"), 6, ",bf61,");
    other.replace(other.find(",optim,"), 7, ",zero9,");
    std::ofstream{path} << header << "\n" << line << "\n" << other << "\n";
    const auto bad = read_published_cases(path);
    ASSERT_FALSE(bad);
    ASSERT_EQ(bad.error().size(), 2U);
    EXPECT_EQ(bad.error()[0].to_string(), path + ":2: error: precision 'bf61' is not a known word");
    EXPECT_EQ(bad.error()[1].where, path + ":3");
}

}  // namespace
}  // namespace orrery
