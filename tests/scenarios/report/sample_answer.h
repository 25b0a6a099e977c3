// SPDX-License-Identifier: Apache-2.0
// An answer with large and odd values in every field that reports print.
#pragma once

#include <string>

#include "scenarios/studies/simulate/answer.h"

namespace orrery {

inline Answer sample_answer(const std::string& name) {
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
    a.collectives = {
        {name, Bytes{1 << 30}, 8, "nvls_tree", "Simple", 24, TransferEngine::sm, 24, 123456}};
    a.memory.of[0] = Bytes{std::int64_t{90} << 30};
    a.memory.in_use = Bytes{std::int64_t{90} << 30};
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

}  // namespace orrery
