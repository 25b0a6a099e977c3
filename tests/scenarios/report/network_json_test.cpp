// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_report.h"

namespace orrery {
namespace {

using namespace literals;

TEST(NetworkJson, HasRowsFlowsPacketsAndLinksInMicroseconds) {
    NetworkAnswer a;
    a.rows = {{.size = 4_KiB, .time = 100_us, .algbw = 41.94, .busbw = 73.4}};
    a.flows = {{.size = 4_KiB, .flows = 8, .finished = 7, .max = 5_ms}};
    a.packets = {{.size = 4_KiB, .pauses = 77, .queue_at = "leaf 0 -> host 0"}};
    a.busiest = {{.link = "leaf 0 -> spine 1", .utilisation = 0.5, .bytes = 1 << 20, .flows = 3}};
    const auto json = nlohmann::json::parse(json_report(a));
    ASSERT_EQ(json["rows"].size(), 1U);
    EXPECT_EQ(json["rows"][0]["size_bytes"], 4096);
    EXPECT_DOUBLE_EQ(json["rows"][0]["time_s"], 100e-6);
    EXPECT_DOUBLE_EQ(json["rows"][0]["algbw_bytes_per_s"], 41.94e9);
    EXPECT_DOUBLE_EQ(json["rows"][0]["busbw_bytes_per_s"], 73.4e9);
    EXPECT_EQ(json["flows"][0]["finished"], 7);
    EXPECT_DOUBLE_EQ(json["flows"][0]["max_s"], 5000e-6);
    EXPECT_EQ(json["packets"][0]["pauses"], 77);
    EXPECT_NE(json["links"].dump().find("leaf 0 -> spine 1"), std::string::npos);
}

}  // namespace
}  // namespace orrery
