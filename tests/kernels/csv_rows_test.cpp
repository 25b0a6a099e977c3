// SPDX-License-Identifier: Apache-2.0
#include "kernels/csv_rows.h"

#include <gtest/gtest.h>

#include <sstream>

namespace orrery {
namespace {

ResultOrErrors<std::vector<CsvRow>> read(const std::string& text, bool other_columns = false) {
    std::istringstream stream(text);
    return read_csv(stream, "t.csv", {"a", "b"}, other_columns);
}

TEST(Csv, GivesColumnsInTheOrderAskedForAndTheLineOfEachRow) {
    const auto rows = read("# note\nb,a\r\n2,1\n\n# more\n 4 ,3\n");
    ASSERT_TRUE(rows);
    ASSERT_EQ(rows->size(), 2U);
    EXPECT_EQ((*rows)[0].fields, (std::vector<std::string>{"1", "2"}));
    EXPECT_EQ((*rows)[0].where, "t.csv:3");
    EXPECT_EQ((*rows)[1].fields, (std::vector<std::string>{"3", "4"}));
    EXPECT_EQ((*rows)[1].where, "t.csv:6");
}

TEST(Csv, NamesTheLineOfEveryRowOfAnotherLength) {
    const auto rows = read("a,b\n1\n1,2\n1,2,3\n");
    ASSERT_FALSE(rows);
    ASSERT_EQ(rows.error().size(), 2U);
    EXPECT_EQ(rows.error()[0].where, "t.csv:2");
    EXPECT_EQ(rows.error()[1].where, "t.csv:4");
}

TEST(Csv, RejectsMissingRepeatedAndUnknownColumns) {
    EXPECT_FALSE(read("a\n1\n"));
    EXPECT_FALSE(read("a,b,a\n1,2,3\n", true));
    EXPECT_FALSE(read("a,b,c\n1,2,3\n"));
    EXPECT_TRUE(read("a,b,c\n1,2,3\n", true));
    EXPECT_FALSE(read(""));
    EXPECT_FALSE(read_csv("/no/such/file.csv", {"a"}));
}

TEST(Csv, AFileOfAnotherKindIsOneErrorThatNamesTheColumns) {
    const std::vector<std::string> columns{"c1", "c2", "c3", "c4", "c5", "c6", "c7=1"};
    std::istringstream scenario("cluster:\n  nodes: 1\nmodel: gpt, or another\n");
    const auto rows = read_csv(scenario, "s.yaml", columns);
    ASSERT_FALSE(rows);
    ASSERT_EQ(rows.error().size(), 1U);
    EXPECT_EQ(rows.error()[0].where, "s.yaml:1");
    EXPECT_NE(rows.error()[0].what.find("CSV"), std::string::npos);
    EXPECT_EQ(rows.error()[0].hint, "columns c1, c2, c3, c4, c5, … (7 in all)");
    std::istringstream semicolons("c1;c2;c3\n1;2;3\n");
    const auto separated = read_csv(semicolons, "t.csv", columns);
    ASSERT_EQ(separated.error().size(), 1U);
    EXPECT_TRUE(separated.error()[0].hint.starts_with("commas separate fields; columns c1"));
}

TEST(Csv, ALineTooLongForTheReaderIsAnError) {
    EXPECT_FALSE(read("a,b\n" + std::string(1 << 25, 'x') + ",1\n"));
}

TEST(Csv, NumbersAreWholeFields) {
    EXPECT_EQ(parse_number("1.5e3"), 1500.0);
    EXPECT_FALSE(parse_number("1.5x"));
    EXPECT_FALSE(parse_number(""));
    EXPECT_FALSE(parse_number("inf"));
    EXPECT_FALSE(parse_number("nan"));
    EXPECT_EQ(parse_integer("-3"), -3);
    EXPECT_FALSE(parse_integer("3.0"));
    EXPECT_FALSE(parse_integer("99999999999999999999"));
}

TEST(CsvRows, AColumnWithADefaultMayBeMissing) {
    std::istringstream with("a,b\n1,2\n");
    std::istringstream without("a\n1\n");
    const auto both = read_csv(with, "t.csv", {"a", "b=7"});
    const auto one = read_csv(without, "t.csv", {"a", "b=7"});
    ASSERT_TRUE(both && one);
    EXPECT_EQ(both->front().fields, (std::vector<std::string>{"1", "2"}));
    EXPECT_EQ(one->front().fields, (std::vector<std::string>{"1", "7"}));
}

}  // namespace
}  // namespace orrery
