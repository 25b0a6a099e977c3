// SPDX-License-Identifier: Apache-2.0
#include "kernels/range_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/catalogue.h"
#include "kernels/efficiency.h"
#include "kernels/fit.h"
#include "tests/kernels/devices.h"

namespace orrery {
namespace {

// Products of 512 to 16,384 rows that took what the curves say, the longest `slower` times that.
std::vector<Measurement> square_products(double slower) {
    const EfficiencyTable truth = fit_efficiency({}, measured_devices()).table;
    const EfficiencyCurves curves(truth, measured_devices().at("h100-80g"));
    std::vector<Measurement> rows;
    for (std::int64_t size = 512; size <= 16'384; size *= 2) {
        for (const std::int64_t depth : {1024, 2048, 4096}) {
            const KernelCall call =
                gemm(size, size, depth, 1, Dtype::bf16, GemmEpilogue::none, Dtype::bf16);
            rows.push_back({.name = std::to_string(size),
                            .family = "gemm",
                            .source = "synthetic",
                            .device = "h100-80g",
                            .calls = {call},
                            .seconds = curves.time(call).seconds * (size > 8192 ? slower : 1)});
        }
    }
    return rows;
}

TEST(ResidualPerOctave, IsSmallWhereTheCurvesHoldBeyondTheMeasuredShapes) {
    EXPECT_EQ(residual_per_octave({}, measured_devices(), {}), 0);
    EfficiencyTable near;
    near.set("gemm.residual", "*", "*", {.value = 0.01, .sigma = 0, .source = "test"});
    EXPECT_LT(residual_per_octave(square_products(1), measured_devices(), near), 0.02);
    EXPECT_GT(residual_per_octave(square_products(3), measured_devices(), near), 0.2);
}

// What kernel_efficiency.csv says comes from these.
TEST(ResidualPerOctave, OfTheCommittedMeasurementsIsAFewPercent) {
    std::vector<Measurement> rows;
    for (const char* file : kMeasurementFiles) {
        const auto read = read_measurements(catalogue_path(file), measured_devices());
        ASSERT_TRUE(read);
        rows.insert(rows.end(), read->begin(), read->end());
    }
    const double found = residual_per_octave(
        rows, measured_devices(), fit_efficiency(rows, measured_devices()).table);
    EXPECT_GT(found, 0);
    EXPECT_LT(found, 0.5);
}

}  // namespace
}  // namespace orrery
