// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/kernel_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

namespace orrery {
namespace {

const std::filesystem::path kRoot{ORRERY_SOURCE_DIR "/scenarios/catalogue"};

std::string text_of(const std::filesystem::path& path) {
    std::stringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

// All that is in the repository, and nothing else. One fit, which takes seconds, tells both.
TEST(KernelFit, MakesTheCommittedTableAndLeavesEverySourceOutOnce) {
    const auto fit = fit_kernels(measurement_files(kRoot), Catalogue{kRoot});
    ASSERT_TRUE(fit) << fit.error().front().to_string();
    const std::string made = kernel_efficiency_csv(*fit);
    const std::string committed = text_of(kRoot / "kernel_efficiency.csv");
    EXPECT_EQ(made.substr(0, made.find("name,")), committed.substr(0, committed.find("name,")));
    const auto table = read_efficiency_table((kRoot / "kernel_efficiency.csv").string());
    ASSERT_TRUE(table);
    ASSERT_EQ(table->rows().size(), fit->report.table.rows().size());
    for (const auto& [key, parameter] : fit->report.table.rows()) {
        const auto& [name, generation, dtype] = key;
        const EfficiencyParameter* row = table->find(name, generation, dtype);
        ASSERT_NE(row, nullptr) << name;
        EXPECT_NEAR(row->value, parameter.value, 1e-3 * std::abs(parameter.value))
            << name << " " << generation;
        EXPECT_EQ(row->source, parameter.source) << name << " " << generation;
    }
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
