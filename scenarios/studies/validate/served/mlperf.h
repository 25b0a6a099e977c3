// SPDX-License-Identifier: Apache-2.0
// Runs of MLPerf inference, where the published results do not describe them: the load generator,
// the data sets, and the configurations of the submitted harnesses (repository of the results of
// v5.1; v4.1 is assumed to be alike).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "engine/base/result.h"
#include "engine/serving/serving_run.h"
#include "scenarios/format/read/length_table.h"
#include "scenarios/format/specs/serving_spec.h"
#include "scenarios/studies/serve/collected_load.h"
#include "scenarios/studies/validate/served/serving_cases.h"

namespace orrery {

bool is_mlperf(const ServingCase& row);

// Catalogue entry of the engine if the benchmark's harness decides it; else empty.
std::string_view mlperf_engine(const ServingCase& row);
// Sets the options of the row's harness.
void set_mlperf_options(const ServingCase& row, ServingEngine& engine);

// SchedulerLimits::prompt_batching_steps of the row.
std::uint32_t mlperf_prompt_batching(const ServingCase& row);

// Requests per replica. Runs last at least ten minutes ("min_duration"), those of DeepSeek-R1
// longer.
std::int64_t mlperf_requests(const ServingCase& row);
// Whether the simulated requests are the whole run, its end included, rather than a part of it.
bool runs_whole_data_set(const ServingCase& row);
// Output tokens per second of a Poisson load as the load generator counts them: all tokens over the
// time until the last-issued request ends, even if others still run (loadgen/results.cc, "Completed
// tokens per second").
double mlperf_token_rate(const ServingResult& result);
// Coefficient of variation of the times between arrivals at one replica. Requests of a Poisson load
// go to the replicas in turn or by their load.
double mlperf_arrival_variation(const ServingCase& row);
// Batching of a harness that collects requests before it sends them to a replica; nothing for other
// harnesses.
std::optional<Collecting> mlperf_collecting(const ServingCase& row);

// SchedulerLimits::long_prefill_token_threshold of the row.
std::int64_t mlperf_prompt_chunk(const ServingCase& row);

// Quantiles of the data set's output lengths, scaled to the row's mean, with the row's mean prompt.
// No shares if the table lacks the model.
Result<LengthTable> mlperf_lengths(const ServingCase& row, const std::filesystem::path& table);

}  // namespace orrery
