// SPDX-License-Identifier: Apache-2.0
// Lengths of requests as a table: quantiles, which characterise a load without its trace, or stages
// of a workflow.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct LengthTable {
    // Shares ascend from 0 to 1. The other two hold the largest length of that share of requests.
    std::vector<double> shares;
    std::vector<double> input_tokens;
    std::vector<double> output_tokens;
};

// The quantile of `lengths` at `share`, linear between the shares of the table.
double length_at(const LengthTable& table, const std::vector<double>& lengths, double share);

// Reads a table (CSV) of share, input_tokens and output_tokens.
ResultOrErrors<LengthTable> read_length_table(const std::filesystem::path& file);

// A stage of a workflow, whose calls begin when the previous stage ends. A stage has one row, or
// several rows whose calls run at the same time.
struct WorkflowStage {
    std::int64_t calls = 1;  // at the same time
    double input_tokens = 1;
    double output_tokens = 1;
    // Tokens of the template that prompts begin with. Prompts with equal numbers share it; 0: no
    // template.
    std::int64_t template_tokens = 0;
    std::uint32_t stage = 0;  // counted from 0
};
// Whether the table is of stages.
bool is_stage_table(const std::filesystem::path& file);
// Reads a table (CSV) of calls, input_tokens and output_tokens, and optionally template_tokens and
// stage. Stages are numbered from 1; without this column each row is the next stage.
ResultOrErrors<std::vector<WorkflowStage>> read_stage_table(const std::filesystem::path& file);

}  // namespace orrery
