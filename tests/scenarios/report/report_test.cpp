// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "scenarios/report/console_report.h"
#include "scenarios/report/json_report.h"
#include "scenarios/report/progress.h"
#include "scenarios/report/validation_report.h"
#include "scenarios/utf8.h"

namespace orrery {
namespace {

Answer sample(const std::string& name) {
    Answer a;
    a.scenario = name;
    a.model = name;
    a.cluster = name;
    a.plan = name;
    a.device = "a100-80g";
    a.ranks = 12288;
    a.iteration = Time::seconds(6.34);
    a.tokens_per_s = 1'984'000;
    a.mfu = 0.552;
    a.hfu = 0.56;
    a.peak = FlopRate::per_second(312e12);
    a.lost_mfu = {{Cause::gemm_inefficiency, 0.3, Time::seconds(1.9)},
                  {Cause::exposed_pipeline, 0.148, Time::seconds(0.94)}};
    a.network = {{name, Bandwidth::bits_per_second(1), 0.25, 1.0}};
    a.collectives = {{name, Bytes{1 << 30}, 8, "nvls_tree", "Simple", 24, 123456}};
    a.memory.of[0] = Bytes{std::int64_t{90} << 30};
    a.memory.peak = Bytes{std::int64_t{90} << 30};
    a.memory.device = Bytes{std::int64_t{80} << 30};
    a.memory.fits = false;
    a.memory.moment = name;
    a.memory.largest = {{name, TensorKind::weights, Bytes{1 << 30}}};
    a.simulated_ops = 123'456'789'012;
    a.flows = 12'345'678'901;
    a.rate_solves = 12'345'678'901;
    a.fold_classes = 12'288;
    a.distinct_paths = 1'234'567;
    a.peak_rss_bytes = std::int64_t{4} << 30;
    a.wall_s = 12345.67;
    a.network_model = "analytic";
    a.version = "0.1.0";
    return a;
}

TEST(ConsoleReport, NeverPassesAHundredColumns) {
    for (const std::string& name : {std::string{"x"}, std::string(300, 'n'), std::string{}}) {
        std::istringstream lines{console_report(sample(name))};
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(num_characters(line), kReportColumns) << line;
        }
    }
}

TEST(ConsoleReport, TellsWhatDoesNotFit) {
    const std::string report = console_report(sample("x"));
    EXPECT_NE(report.find("90.0 GiB  of 80.0 GiB: DOES NOT FIT"), std::string::npos) << report;
    EXPECT_NE(report.find("largest buffers"), std::string::npos);
}

TEST(JsonReport, IsOneObjectWithEveryKeyOfTheContract) {
    const auto json = nlohmann::json::parse(json_report(sample("x")));
    for (const char* key : {"iteration_s",
                            "tokens_per_s",
                            "mfu",
                            "mfu_causal",
                            "hfu",
                            "model_flops_per_step",
                            "peak_memory_bytes",
                            "fits",
                            "memory",
                            "lost_mfu",
                            "network",
                            "cost_sources",
                            "uncertainty",
                            "ranks",
                            "simulated_ops",
                            "wall_s",
                            "peak_rss_bytes",
                            "seed",
                            "version",
                            "fold_classes",
                            "flows",
                            "distinct_paths",
                            "rate_solves"}) {
        EXPECT_TRUE(json.contains(key)) << key;
    }
    EXPECT_DOUBLE_EQ(json["iteration_s"], 6.34);
    EXPECT_EQ(json["fits"], false);
    EXPECT_DOUBLE_EQ(json["lost_mfu"]["gemm_inefficiency"], 0.3);
    EXPECT_EQ(json["memory"]["weights"], std::int64_t{90} << 30);
    EXPECT_EQ(json["ranks"], 12288);
}

TEST(JsonReport, BytesThatAreNotUtf8DoNotBreakIt) {
    EXPECT_TRUE(nlohmann::json::accept(json_report(sample("a\xff\"b"))));
}

TEST(ValidationReport, HasEveryRowAndEveryReason) {
    Validation v;
    v.rows = {{.name = "A", .family = "f", .measured_s = 10, .predicted_s = 11, .control_s = 12}};
    v.skipped = {{"B", "g", "mixture-of-experts models are not expressible yet"}};
    summarise_families(v);
    const auto json = nlohmann::json::parse(json_report(v));
    EXPECT_EQ(json["rows"][0]["case"], "A");
    EXPECT_DOUBLE_EQ(json["rows"][0]["measured_s"], 10);
    EXPECT_DOUBLE_EQ(json["rows"][0]["predicted_s"], 11);
    EXPECT_EQ(json["skipped"][0]["reason"], v.skipped[0].reason);
    EXPECT_NEAR(json["families"]["f"]["predicted"]["median"].get<double>(), 0.1, 1e-12);
    EXPECT_NEAR(json["overall"]["control_balanced_error"].get<double>(), 0.2, 1e-12);
    std::istringstream lines{validation_report(v)};
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(num_characters(line), kReportColumns) << line;
    }
}

TEST(ProgressLine, FillsItsBarAndStaysNarrow) {
    EXPECT_NE(progress_line("x", 0.5, 10).find("50 %  10 s left"), std::string::npos);
    EXPECT_EQ(progress_line("x", 2, 1).find('-'), std::string::npos);
    EXPECT_LE(progress_line(std::string(500, 'x'), 0.011, 1e6).size(), 100U);
}

}  // namespace
}  // namespace orrery
