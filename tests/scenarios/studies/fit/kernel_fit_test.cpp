// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/kernel_fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery {
namespace {

const std::filesystem::path kRoot{ORRERY_SOURCE_DIR "/scenarios/catalogue"};

// tests/scenarios/program/fit_test.cpp fits all tables of the catalogue, which takes much longer.
TEST(KernelFit, LeavesEverySourceOutOnce) {
    const auto table = [](const char* name) { return (kRoot / "measurements" / name).string(); };
    const auto fit =
        fit_kernels({table("layers.csv"), table("gemm_sustained.csv")}, Catalogue{kRoot});
    ASSERT_TRUE(fit) << fit.error().front().to_string();
    ASSERT_EQ(fit->left_out.size(), fit->report.residuals.size());
    double worse = 0;
    for (std::size_t i = 0; i < fit->left_out.size(); ++i) {
        EXPECT_TRUE(fit->left_out[i].predicted_seconds > 0);
        worse += std::abs(std::log1p(fit->left_out[i].error()));
        worse -= std::abs(std::log1p(fit->report.residuals[i].error()));
    }
    EXPECT_GT(worse, 0);
}

TEST(KernelFit, ErrorsOfAFileAreTold) {
    const auto fit = fit_kernels({"nowhere.csv"}, Catalogue{kRoot});
    ASSERT_FALSE(fit);
    EXPECT_NE(fit.error().front().to_string().find("nowhere.csv"), std::string::npos);
}

}  // namespace
}  // namespace orrery
