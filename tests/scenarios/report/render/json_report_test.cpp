// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/json_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/scenarios/report/sample_answer.h"

namespace orrery {
namespace {

TEST(JsonReport, IsOneObjectWithEveryKeyOfTheContract) {
    const auto json = nlohmann::json::parse(json_report(sample_answer("x")));
    for (const char* key : {"iteration_s",
                            "tokens_per_s",
                            "mfu",
                            "mfu_causal",
                            "hfu",
                            "model_flops_per_step",
                            "critical_path_s",
                            "peak_memory_bytes",
                            "fits",
                            "memory",
                            "lost_mfu",
                            "network",
                            "cost_sources",
                            "uncertainty",
                            "uncertainty_shift",
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
    EXPECT_TRUE(nlohmann::json::accept(json_report(sample_answer("a\xff\"b"))));
}

TEST(JsonReport, SaysMemoryByKindNetworkByClassAndCostsBySource) {
    Answer a = sample_answer("x");
    a.network = {{"nvlink", Bandwidth{}, 0.25, 0.5}};
    a.cost_sources = {.measured = 0.2, .interpolated = 0.3, .roofline = 0.5};
    a.critical_path[Cause::launch] = Time::seconds(0.5);
    const auto json = nlohmann::json::parse(json_report(a));
    EXPECT_EQ(json["memory"].size(), kNumTensorKinds);
    EXPECT_DOUBLE_EQ(json["network"]["nvlink"]["mean"], 0.25);
    EXPECT_DOUBLE_EQ(json["network"]["nvlink"]["max"], 0.5);
    EXPECT_DOUBLE_EQ(json["cost_sources"]["interpolated"], 0.3);
    EXPECT_DOUBLE_EQ(json["critical_path_s"]["launch"], 0.5);
    EXPECT_EQ(json["critical_path_s"].size(), 1U);
    EXPECT_DOUBLE_EQ(json["lost_s"]["exposed_pipeline"], 0.94);
    EXPECT_EQ(json["memory_peak"]["largest"][0]["kind"], "weights");
    EXPECT_TRUE(json["memory_overheads"].empty());
    a.memory.overheads = {{"CUDA context", Bytes{500}}};
    EXPECT_EQ(nlohmann::json::parse(json_report(a))["memory_overheads"]["CUDA context"], 500);
}

TEST(JsonReport, KeepsWholeNumbersWhole) {
    Answer a = sample_answer("x");
    a.simulated_ops = 9'007'199'254'740'993;  // no double is that
    a.seed = 18'446'744'073'709'551'615U;
    const auto json = nlohmann::json::parse(json_report(a));
    EXPECT_EQ(json["simulated_ops"].get<std::int64_t>(), a.simulated_ops);
    EXPECT_EQ(json["seed"].get<std::uint64_t>(), a.seed);
}

}  // namespace
}  // namespace orrery
