// SPDX-License-Identifier: Apache-2.0
// Lengths of requests as a table: quantiles, which say what a load resembles without the trace
// itself, or stages of a workflow.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct LengthTable {
    // Ascending from 0 to 1; the other two hold the largest length of that share of requests.
    std::vector<double> shares;
    std::vector<double> input_tokens;
    std::vector<double> output_tokens;
};

// The quantile of `lengths`, linear between the shares of the table.
double length_at(const LengthTable& table, const std::vector<double>& lengths, double share);

// A table (CSV) of share, input_tokens and output_tokens.
ResultOrErrors<LengthTable> read_length_table(const std::filesystem::path& file);

// Workflows whose calls come one stage after the other.
struct WorkflowStage {
    std::int64_t calls = 1;  // at a time
    double input_tokens = 1;
    double output_tokens = 1;
};
// Whether the table is of stages.
bool is_stage_table(const std::filesystem::path& file);
// A table (CSV) of calls, input_tokens and output_tokens, a stage a row.
ResultOrErrors<std::vector<WorkflowStage>> read_stage_table(const std::filesystem::path& file);

}  // namespace orrery
