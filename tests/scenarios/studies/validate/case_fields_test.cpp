// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/case_fields.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

const CaseColumns kThree{"name,ranks,note="};

struct ThreeFields {
    std::string name;
    std::int64_t ranks = 0;
    std::int64_t stated = 0;
    std::string note;
};

ThreeFields three_fields_of(CaseFields& fields) {
    return {.name = fields.text("name"),
            .ranks = fields.count("ranks", 8),
            .stated = fields.stated("ranks", -1),
            .note = fields.text("note")};
}

TEST(CaseColumns, ANameWithAnEqualsSignIsFoundWithoutIt) {
    EXPECT_EQ(kThree.names().size(), 3u);
    EXPECT_EQ(kThree.position("note"), 2u);
    EXPECT_EQ(kThree.position("ranks="), 3u);
}

TEST(CaseFields, AreFoundByTheNameOfTheirColumnInAnyOrder) {
    const TestFolder folder;
    const auto cases = read_cases(
        folder.write("t.csv", "other,ranks,name\nx,4,a\ny,8,b\n"), kThree, three_fields_of);
    ASSERT_TRUE(cases);
    EXPECT_EQ((*cases)[1].name, "b");
    EXPECT_EQ((*cases)[1].ranks, 8);
    EXPECT_EQ((*cases)[1].note, "");
}

TEST(CaseFields, AllThatIsWrongIsSaidWithItsLine) {
    const TestFolder folder;
    const auto cases = read_cases(
        folder.write("t.csv", "name,ranks\na,0\nb,9\nc,many\nd,\ne,3\n"), kThree, three_fields_of);
    ASSERT_FALSE(cases);
    ASSERT_EQ(cases.error().size(), 4u);
    EXPECT_EQ(cases.error()[1].what, "ranks can't be '9'");
    EXPECT_NE(cases.error()[2].where.find("t.csv:4"), std::string::npos);
}

TEST(CaseFields, ReadEachKindOfField) {
    const CaseColumns columns{"a,b,c,d,e"};
    const CsvRow row{"t.csv:2", {"", "-1", "2.5", "true", "no"}};
    Errors errors;
    CaseFields fields{row, columns, errors};
    EXPECT_EQ(fields.integer("a", 7), 7);
    EXPECT_EQ(fields.count_or("a", 7), 7);
    EXPECT_EQ(fields.number("c"), 2.5);
    EXPECT_EQ(fields.positive("c"), 2.5);
    EXPECT_TRUE(fields.flag("d"));
    EXPECT_FALSE(fields.flag("a"));
    EXPECT_EQ(fields.stated("e", 5), 5);
    EXPECT_EQ(fields.stated("e"), 0);
    EXPECT_TRUE(errors.empty());
    EXPECT_EQ(fields.integer("b", 7), 7);
    EXPECT_EQ(fields.positive("a"), 1);
    EXPECT_FALSE(fields.flag("e"));
    fields.number("e");
    EXPECT_EQ(errors.size(), 4u);
    EXPECT_EQ(errors[0].what, "b '-1' must be a whole number");
    fields.number("b");
    EXPECT_EQ(errors[4].what, "b '-1' must not be negative");
}

}  // namespace
}  // namespace orrery
