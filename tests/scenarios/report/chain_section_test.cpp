// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/served_load_sections.h"

namespace orrery {
namespace {

TEST(ChainSection, ANodeIsARow) {
    const std::vector<ChainNodeUse> nodes = {
        {.node = "desktop", .device_layers = 20, .output = true, .token_s = 0.05},
        {.node = "phone", .host_layers = 3, .disk_layers = 2, .token_s = 0.2}};
    const ReportSection section = chain_section(nodes);
    ASSERT_EQ(section.table.rows.size(), 2U);
    EXPECT_EQ(cell_text(section.table.rows[0][1], Unit::count), "20");
    EXPECT_EQ(cell_text(section.table.rows[0][4], Unit::words), "here");
    EXPECT_EQ(cell_text(section.table.rows[1][3], Unit::count), "2");
    const auto json = chain_json<nlohmann::ordered_json>(nodes);
    EXPECT_EQ(json[1]["host_layers"], 3);
    EXPECT_EQ(json[0]["output"], true);
}

}  // namespace
}  // namespace orrery
