// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/served_load_sections.h"

namespace orrery {
namespace {

TEST(ScalingSection, AChartStepsFromOneNumberToTheNext) {
    ServingAnswer answer;
    answer.gpu_hours = 3.25;
    ServingAnswer::ScaledPool& pool = answer.scaled.emplace_back();
    pool.least = 1;
    pool.most = 3;
    pool.mean = 1.5;
    pool.timeline = {{0, 1}, {20, 3}, {50, 2}};
    const ReportSection section = scaling_section(answer);
    ASSERT_EQ(section.table.rows.size(), 1U);
    EXPECT_EQ(cell_text(section.table.rows[0][5], Unit::count), "2");
    EXPECT_EQ(section.after.front(), "3.2 GPU hours.");
    ASSERT_TRUE(section.chart);
    EXPECT_EQ(section.chart->xs, (std::vector<double>{0, 0, 20, 20, 50, 50}));
    ASSERT_EQ(section.chart->series.size(), 1U);
    std::vector<double> values;
    for (const auto& value : section.chart->series[0].values) {
        values.push_back(*value);
    }
    EXPECT_EQ(values, (std::vector<double>{1, 1, 1, 3, 3, 2}));
}

TEST(ScalingSection, EncodersHaveTheirImagesAndTheWaitForThem) {
    const ReportSection section =
        encoder_section({.instances = 4, .images = 70, .busy = 0.25, .wait_s = 1.5});
    ASSERT_EQ(section.table.rows.size(), 1U);
    EXPECT_EQ(std::get<double>(section.table.rows[0][1].value), 70);
    EXPECT_EQ(std::get<double>(section.table.rows[0][3].value), 1.5);
}

TEST(ScalingSection, ARowHasItsPowerInKilowatts) {
    const ReportSection section = row_section(
        {.mean_watts = 1500, .peak_watts = 1900, .limit_watts = 2000, .capped = 3, .brakes = 1});
    ASSERT_EQ(section.table.rows.size(), 1U);
    EXPECT_EQ(cell_text(section.table.rows[0][1], Unit::number), "1.5");
    EXPECT_EQ(cell_text(section.table.rows[0][4], Unit::count), "1");
}

}  // namespace
}  // namespace orrery
