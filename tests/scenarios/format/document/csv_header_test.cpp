// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/csv_header.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(CsvHeader, IsTheFirstLineThatIsNoComment) {
    const TestFolder folder;
    EXPECT_EQ(csv_header(folder.write("a.csv", "# what\n#\na,b\r\n1,2\r\n")), "a,b");
    EXPECT_EQ(csv_header(folder.write("b.csv", "")), "");
    EXPECT_EQ(csv_header(folder.write("marked.csv",
                                      "\xEF\xBB\xBF"
                                      "a,b\n")),
              "a,b");
    EXPECT_EQ(csv_header(folder / "none.csv"), "");
    EXPECT_LT(csv_header("/dev/zero").size(), 2'000'000u);  // it has no end of a line
}

}  // namespace
}  // namespace orrery
