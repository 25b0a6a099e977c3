// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/results_file.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/test_folder.h"

namespace orrery {
namespace results_file_test {

using Access = ResultsFile::Access;

PointResult sample(const std::string& id) {
    return {.id = id,
            .study = "study",
            .scenario = "s.yaml",
            .settings = {{"plan.x", "1"}, {"name", "\"it's, \n quoted\""}},
            .gpus = 8,
            .iteration_s = 1.0 / 3.0,
            .uncertainty = 0.05,
            .tokens_per_s = 1e6,
            .mfu = 0.4,
            .hfu = 0.5,
            .peak_memory_bytes = 1LL << 36,
            .fits = true,
            .wall_s = 0.1,
            .version = "1",
            .answer = "{}"};
}

void execute(const std::filesystem::path& path, const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
}

TEST(ResultsFile, GivesBackWhatItGot) {
    const TestFolder folder;
    auto file = ResultsFile::open(folder / "r.sqlite", Access::write);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->add(sample("a")));
    const auto found = (*file)->find("a");
    ASSERT_TRUE(found && *found);
    EXPECT_TRUE((*found)->same_result(sample("a")));
    EXPECT_EQ((*found)->settings, sample("a").settings);
    EXPECT_EQ((*found)->answer, "{}");
    EXPECT_EQ((*found)->iteration_s, 1.0 / 3.0);
    EXPECT_FALSE((*file)->find("b").value());
}

TEST(ResultsFile, APointTwiceMustBeTheSame) {
    const TestFolder folder;
    auto file = ResultsFile::open(folder / "r.sqlite", Access::write);
    ASSERT_TRUE((*file)->add(sample("a")));
    PointResult again = sample("a");
    again.wall_s = 99;  // another machine
    EXPECT_TRUE((*file)->add(again));
    again.iteration_s = 2;
    const auto other = (*file)->add(again);
    ASSERT_FALSE(other);
    EXPECT_NE(other.error().what.find("another result"), std::string::npos);
    EXPECT_EQ((*file)->find("a").value()->iteration_s, 1.0 / 3.0);
}

TEST(ResultsFile, AnotherFormatIsRefusedAndLeftAsItIs) {
    const TestFolder folder;
    const auto path = folder / "r.sqlite";
    { ASSERT_TRUE(ResultsFile::open(path, Access::write)); }
    execute(path, "PRAGMA user_version = 99");
    const std::string before = folder.text("r.sqlite");
    const auto file = ResultsFile::open(path, Access::write);
    ASSERT_FALSE(file);
    EXPECT_NE(file.error().what.find("format 99"), std::string::npos) << file.error().what;
    EXPECT_EQ(folder.text("r.sqlite"), before);
}

TEST(ResultsFile, WhatIsNoResultsFileIsRefusedAndLeftAsItIs) {
    const TestFolder folder;
    const auto database = folder / "other.sqlite";
    execute(database, "CREATE TABLE mine(x)");
    folder.write("text.sqlite", std::string(5000, 'x'));
    for (const char* name : {"other.sqlite", "text.sqlite"}) {
        const std::string before = folder.text(name);
        const auto file = ResultsFile::open(folder / name, Access::write);
        ASSERT_FALSE(file) << name;
        // Sweeps and merges name their files by different options.
        EXPECT_NE(file.error().hint.find("name another file"), std::string::npos)
            << file.error().to_string();
        EXPECT_EQ(folder.text(name), before);
    }
    EXPECT_FALSE(ResultsFile::open(folder / "none.sqlite", Access::read));
    EXPECT_FALSE(ResultsFile::open(folder / "no/folder.sqlite", Access::write));
    EXPECT_FALSE(ResultsFile::open(folder.path(), Access::write));
}

TEST(ResultsFile, AddsAllOfAnotherOrNothing) {
    const TestFolder folder;
    auto a = ResultsFile::open(folder / "a.sqlite", Access::write);
    auto b = ResultsFile::open(folder / "b.sqlite", Access::write);
    ASSERT_TRUE((*a)->add(sample("1")));
    ASSERT_TRUE((*a)->add(sample("2")));
    ASSERT_TRUE((*b)->add(sample("2")));
    ASSERT_TRUE((*b)->add(sample("3")));
    EXPECT_EQ((*a)->add_all_of(**b).value(), 1);
    EXPECT_EQ((*a)->ids().value(), (std::vector<std::string>{"1", "2", "3"}));
    auto c = ResultsFile::open(folder / "c.sqlite", Access::write);
    ASSERT_TRUE((*c)->add(sample("0")));
    PointResult other = sample("3");
    other.mfu = 0.9;
    ASSERT_TRUE((*c)->add(other));
    EXPECT_FALSE((*a)->add_all_of(**c));
    EXPECT_EQ((*a)->ids().value().size(), 3u);
}

}  // namespace results_file_test
}  // namespace orrery
