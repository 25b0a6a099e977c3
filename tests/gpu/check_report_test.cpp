// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/check_report.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery::gpu_check {
namespace {

CheckedCase checked() {
    return {.family = "attention/warps",
            .kernel = "attention_forward",
            .shape = "b1 s1024, \"causal\"",
            .dtype = "bf16",
            .cores = "warps",
            .status = "ok",
            .error = 0.00123};
}

TEST(CheckReport, SaysTheErrorOfACheckedCaseAndTheRateOfATimedOne) {
    CheckedCase row = checked();
    EXPECT_NE(check_line(row).find(" 1.23e-03  ok\n"), std::string::npos) << check_line(row);
    row.status = "is off by more than 1e-02";
    EXPECT_FALSE(row.good());
    EXPECT_NE(check_line(row).find("FAILED: is off by more than 1e-02\n"), std::string::npos);
    row.status = "timed";
    row.error.reset();
    row.seconds = 12.5e-6;
    row.rate = 3456.78;
    row.unit = "GB/s";
    EXPECT_TRUE(row.good());
    EXPECT_NE(check_line(row).find("12.5 us    3456.8 GB/s\n"), std::string::npos)
        << check_line(row);
}

TEST(CheckReport, HasAColumnForEveryFieldOfTheCsv) {
    CheckedCase row = checked();
    EXPECT_EQ(csv_line(row),
              "attention/warps,attention_forward,\"b1 s1024, \"\"causal\"\"\",bf16,warps,ok,"
              "1.230e-03,,,\n");
    row.shape = "b1";
    row.error.reset();
    row.status = "timed";
    row.seconds = 12.5e-6;
    row.rate = 345.6;
    row.unit = "TFLOP/s";
    EXPECT_EQ(csv_line(row),
              "attention/warps,attention_forward,b1,bf16,warps,timed,,1.2500e-05,345.6,TFLOP/s\n");
    const std::string line = csv_line(row);
    const std::string head = csv_head();
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), std::count(head.begin(), head.end(), ','));
}

}  // namespace
}  // namespace orrery::gpu_check
