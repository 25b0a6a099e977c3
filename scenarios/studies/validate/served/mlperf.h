// SPDX-License-Identifier: Apache-2.0
// How MLPerf inference runs a published row, as far as its results do not say: the load generator,
// the data sets, and the configurations of the submitted harnesses (repository of the results of
// v5.1; those of v4.1 are assumed to be alike).
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

// The engine's entry in the catalogue, where the harness of the benchmark decides; else empty.
std::string_view mlperf_engine(const ServingCase& row);
// What the harness sets.
void set_mlperf_options(const ServingCase& row, ServingEngine& engine);

// SchedulerLimits::prompt_batching_steps.
std::uint32_t mlperf_prompt_batching(const ServingCase& row);

// Of one replica: runs last ten minutes at least ("min_duration"), those of DeepSeek-R1 longer.
std::int64_t mlperf_requests(const ServingCase& row);
// The requests are those of the whole run, with its end, not of a part of it.
bool runs_whole_data_set(const ServingCase& row);
// Output tokens a second of a Poisson load, as the load generator counts: all tokens over the time
// at which the request that came last is done, whatever still runs then (loadgen/results.cc,
// "Completed tokens per second").
double mlperf_token_rate(const ServingResult& result);
// Requests of a Poisson load are dealt out to the replicas in turn, or by their load: of the times
// between those of one replica, the standard deviation over the mean.
double mlperf_arrival_variation(const ServingCase& row);
// Of a harness that collects requests before it hands them to a replica.
std::optional<Collecting> mlperf_collecting(const ServingCase& row);

// SchedulerLimits::long_prefill_token_threshold.
std::int64_t mlperf_prompt_chunk(const ServingCase& row);

// Quantiles of the data set's outputs with the row's mean, and the row's mean prompt. Without
// shares if the table has no such model.
Result<LengthTable> mlperf_lengths(const ServingCase& row, const std::filesystem::path& table);

}  // namespace orrery
