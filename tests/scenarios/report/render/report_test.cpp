// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/report.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Cell, IsReadInTheUnitOfItsColumn) {
    EXPECT_EQ(cell_text(Time::seconds(1.5), Unit::seconds), "1.50 s");
    EXPECT_EQ(cell_text(Bytes{std::int64_t{3} << 30}, Unit::bytes), "3.00 GiB");
    EXPECT_EQ(cell_text(86400.0 * 3, Unit::wall_time), "3.00 d");
    EXPECT_EQ(cell_text(0.4476, Unit::share), "44.8 %");
    EXPECT_EQ(cell_text(0.4476, Unit::share, 2), "44.76 %");
    EXPECT_EQ(cell_text(-0.05, Unit::change), "-5.0 %");
    EXPECT_EQ(cell_text(12288, Unit::count), "12,288");
    EXPECT_EQ(cell_text(48.25e9, Unit::rate, 2), "48.25 GB/s");
    EXPECT_EQ(cell_text(2.25, Unit::number, 2), "2.25");
    EXPECT_EQ(cell_text("words", Unit::seconds), "words");
    EXPECT_EQ(cell_text({}, Unit::seconds), "");
}

TEST(ReportTable, OfWordsHasItsHeadAndAlignment) {
    const ReportTable table = words_table({{"name", "size"}, {"a", "1"}}, 1);
    EXPECT_FALSE(is_right(table.columns[0]));
    EXPECT_TRUE(is_right(table.columns[1]));
    EXPECT_EQ(text_rows(table), (std::vector<TextRow>{{"name", "size"}, {"a", "1"}}));
    EXPECT_TRUE(is_right({"time", Unit::seconds}));
}

}  // namespace
}  // namespace orrery
