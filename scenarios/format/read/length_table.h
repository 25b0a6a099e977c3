// SPDX-License-Identifier: Apache-2.0
// Lengths of requests as a table of quantiles: what a load resembles without the trace itself.
#pragma once

#include <filesystem>
#include <vector>

#include "engine/result.h"

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

}  // namespace orrery
