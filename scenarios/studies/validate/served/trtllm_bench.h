// SPDX-License-Identifier: Apache-2.0
// Facts that NVIDIA's maximum-load tables of TensorRT-LLM omit in their rows: the number of
// requests, and the limits with which trtllm-bench builds an engine.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/device_spec.h"
#include "models/serving/serving_plan.h"
#include "scenarios/studies/validate/served/serving_cases.h"

namespace orrery {

// Whether trtllm-bench measured the row. MLPerf measured the other rows of these engines.
bool is_trtllm_bench(const ServingCase& row);

// Number of requests for a pair of lengths (docs/source/performance/perf-overview.md, "Preparing a
// Dataset"); 0 for other lengths.
std::int64_t trtllm_bench_requests(const ServingCase& row);

struct EngineLimits {
    std::int64_t max_num_seqs = 0;
    std::int64_t max_num_batched_tokens = 0;
    bool operator==(const EngineLimits&) const = default;
};

// Up to 0.14 a list of models, splits and lengths (tensorrt_llm/bench/build/benchmark_config.yml).
// From 0.15 on a rule: as many sequences as the free memory holds, rounded up, and the tokens per
// step with which they arrive and leave evenly (tensorrt_llm/bench/build/tuning.py). Nothing for a
// model that the list lacks.
std::optional<EngineLimits> trtllm_bench_limits(const ServingCase& row,
                                                const Transformer& model,
                                                const ServingPlan& plan,
                                                const DeviceSpec& device);

}  // namespace orrery
