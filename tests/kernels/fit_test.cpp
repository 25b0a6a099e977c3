// SPDX-License-Identifier: Apache-2.0
#include "kernels/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>

#include "kernels/catalogue.h"
#include "kernels/efficiency.h"
#include "tests/kernels/devices.h"

namespace orrery {
namespace {

std::vector<Measurement> rows_of(const std::vector<std::string>& paths) {
    std::vector<Measurement> all;
    for (const std::string& path : paths) {
        const auto rows = read_measurements(path, measured_devices());
        EXPECT_TRUE(rows) << rows.error()[0].to_string();
        all.insert(all.end(), rows->begin(), rows->end());
    }
    return all;
}

std::vector<std::string> committed_paths() {
    std::vector<std::string> paths;
    for (const char* file : kMeasurementFiles) {
        paths.push_back(catalogue_path(file));
    }
    return paths;
}

void print(const std::map<std::string, FitSummary>& summaries) {
    for (const auto& [name, summary] : summaries) {
        std::printf(
            "%-28s rows %3zu  median error %+5.1f %%  median |error| %4.1f %%  90th %5.1f %%\n",
            name.c_str(),
            summary.rows,
            100 * summary.median_error,
            100 * summary.median_absolute_error,
            100 * summary.p90_absolute_error);
    }
}

// Made-up GEMM times from known parameters, with 3 % noise and some wild outliers.
std::vector<Measurement> synthetic(const EfficiencyTable& truth, int outlier_every) {
    std::mt19937 random(21);
    const EfficiencyCurves curves(truth, measured_devices().at("h100-80g"));
    std::vector<Measurement> rows;
    for (int i = 0; i < 200; ++i) {
        const auto size = [&] { return static_cast<std::int64_t>(64 * (1 + random() % 100)); };
        const KernelCall call =
            gemm(size(), size(), size(), 1, Dtype::bf16, GemmEpilogue::none, Dtype::bf16);
        double noise = 0;
        for (int j = 0; j < 12; ++j) {  // a sum of uniforms: portable and nearly normal
            noise += static_cast<double>(random()) / 4294967296.0 - 0.5;
        }
        double seconds = curves.time(call).seconds * std::exp(0.03 * noise);
        if (outlier_every > 0 && i % outlier_every == 0) {
            seconds *= 3;
        }
        rows.push_back({.name = std::to_string(i),
                        .family = "gemm",
                        .source = "synthetic",
                        .device = "h100-80g",
                        .calls = {call},
                        .seconds = seconds});
    }
    return rows;
}

TEST(Fit, FindsTheParametersThatMadeTheTimes) {
    EfficiencyTable truth = fit_efficiency({}, measured_devices()).table;
    truth.set("gemm.asymptote", "hopper", "fp16", {0.66, 0, "truth"});
    truth.set("gemm.k_prologue", "hopper", "*", {200, 0, "truth"});
    truth.set("gemm.wave_sharpness", "hopper", "*", {0.8, 0, "truth"});
    for (const int outlier_every : {0, 20}) {
        const FitReport report =
            fit_efficiency(synthetic(truth, outlier_every), measured_devices());
        EXPECT_NEAR(report.table.find("gemm.asymptote", "hopper", "fp16")->value /
                        report.source_factors.at("gemm synthetic"),
                    0.66,
                    0.02);
        EXPECT_NEAR(report.table.find("gemm.k_prologue", "hopper", "*")->value, 200, 40);
        EXPECT_NEAR(report.table.find("gemm.wave_sharpness", "hopper", "*")->value, 0.8, 0.15);
        const FitSummary summary = summarise(report.residuals).at("gemm h100-80g");
        EXPECT_LT(summary.median_absolute_error, 0.04);
    }
}

// Products of 10 % to 60 % of the peak, and one that a burst of the clock made a quarter faster.
TEST(Fit, ABurstOfTheBestProductIsNotWhatALoadReaches) {
    EfficiencyTable truth = fit_efficiency({}, measured_devices()).table;
    truth.set("gemm.asymptote", "blackwell", "fp16", {0.6, 0, "truth"});
    const EfficiencyCurves curves(truth, measured_devices().at("b200"), Load::burst);
    std::vector<Measurement> rows;
    for (std::int64_t size = 1024; size <= 16'384; size *= 2) {
        const KernelCall call =
            gemm(size, size, size, 1, Dtype::bf16, GemmEpilogue::none, Dtype::bf16);
        rows.push_back({.name = std::to_string(size),
                        .family = "gemm",
                        .source = "sustained",
                        .device = "b200",
                        .calls = {call},
                        .seconds = curves.time(call).seconds});
    }
    Measurement best = rows.back();
    best.source = "gemm-best";
    best.seconds *= 0.8;
    rows.push_back(best);
    const FitReport report = fit_efficiency(rows, measured_devices());
    const double asymptote = report.table.value_or("gemm.asymptote", "blackwell", "fp16", 0);
    EXPECT_NEAR(asymptote, 0.6, 0.03);
    EXPECT_NEAR(report.table.value_or("gemm.burst", "blackwell", "fp16", 0), asymptote / 0.8, 0.02);
    EXPECT_NEAR(report.residuals.back().error(), 0, 0.02);
}

TEST(Fit, WithoutRowsStaysAtThePriorsAndSaysSo) {
    const FitReport report = fit_efficiency({}, measured_devices());
    const EfficiencyParameter* asymptote = report.table.find("gemm.asymptote", "hopper", "fp16");
    EXPECT_DOUBLE_EQ(asymptote->value, 0.8);
    EXPECT_NE(asymptote->source.find("prior"), std::string::npos);
    EXPECT_TRUE(report.residuals.empty());
}

TEST(Fit, IsDeterministic) {
    const auto rows = rows_of(committed_paths());
    EXPECT_EQ(efficiency_table_csv(fit_efficiency(rows, measured_devices()).table, ""),
              efficiency_table_csv(fit_efficiency(rows, measured_devices()).table, ""));
}

TEST(Fit, ExplainsPublishedKernels) {
    const FitReport report = fit_efficiency(rows_of(committed_paths()), measured_devices());
    const auto summaries = summarise(report.residuals);
    print(summaries);
    for (const auto& [source, factor] : report.source_factors) {
        std::printf("factor of %-28s %.3f\n", source.c_str(), factor);
        EXPECT_NEAR(factor, 1.0, 0.1) << source;
    }
    for (const char* group : {"gemm a100-80g",
                              "gemm h100-80g",
                              "gemm h200",
                              "attention a100-80g",
                              "attention h100-80g",
                              "attention h200",
                              "gemm b300",
                              "gemm gb200",
                              "attention b200",
                              "attention gb200",
                              "attention gb300",
                              "memory a100-80g",
                              "memory h100-80g",
                              "memory h200",
                              "memory gb200",
                              "memory gb300"}) {
        // Norms on Blackwell: backward passes take up to a third longer than their bytes say.
        const bool norms = std::string{group}.starts_with("memory gb");
        EXPECT_LT(summaries.at(group).median_absolute_error, norms ? 0.13 : 0.08) << group;
        EXPECT_LT(summaries.at(group).p90_absolute_error, norms ? 0.25 : 0.20) << group;
    }
    // Not fitted: eager attention put together from GEMMs and softmax kernels.
    EXPECT_LT(summaries.at("unfused_attention a100-80g").median_absolute_error, 0.20);
}

// What the table claims about itself: two thirds of the rows inside one sigma.
TEST(Fit, ResidualSigmasCoverTwoThirdsOfTheRows) {
    const auto rows = rows_of(committed_paths());
    const auto table = read_efficiency_table(catalogue_path("kernel_efficiency.csv"));
    ASSERT_TRUE(table);
    const auto residuals = residuals_of(*table, rows, measured_devices());
    std::map<std::string, std::pair<int, int>> inside;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const DeviceSpec device = measured_devices().at(rows[i].device);
        const double sigma = EfficiencyCurves(*table, device).time(rows[i].calls[0]).relative_sigma;
        auto& [hits, all] = inside[rows[i].family];
        hits += std::abs(std::log1p(residuals[i].error())) < sigma ? 1 : 0;
        ++all;
    }
    for (const char* family : {"gemm", "attention", "memory"}) {
        const auto [hits, all] = inside.at(family);
        const double share = static_cast<double>(hits) / all;
        std::printf("%s: %.0f %% of %d rows inside one sigma\n", family, 100 * share, all);
        EXPECT_GT(share, 0.60) << family;
        EXPECT_LT(share, 0.90) << family;
    }
}

// H200, of which the fit has seen nothing but the other Hopper parts.
TEST(Fit, PredictsADeviceThatItWasNotFittedTo) {
    std::vector<Measurement> seen;
    std::vector<Measurement> asked;
    for (Measurement& row : rows_of(committed_paths())) {
        (row.device == "h200" ? asked : seen).push_back(std::move(row));
    }
    ASSERT_GT(asked.size(), 50u);
    const EfficiencyTable table = fit_efficiency(seen, measured_devices()).table;
    const auto summaries = summarise(residuals_of(table, asked, measured_devices()));
    print(summaries);
    for (const auto& [name, summary] : summaries) {
        EXPECT_LT(summary.median_absolute_error, 0.15) << name;
    }
}

}  // namespace
}  // namespace orrery
