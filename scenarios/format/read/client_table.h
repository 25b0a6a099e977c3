// SPDX-License-Identifier: Apache-2.0
// A load as the sum of its clients, each with its own rate, burstiness and lengths (Xiang et al.,
// ServeGen, 2025). The table has the columns workload, rate_per_s, gap_cv, and for input and output
// the quantiles _p50, _p90 and _p99.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/read/length_table.h"

namespace orrery {

struct LoadClient {
    double rate = 1;           // requests a second
    double gap_variation = 1;  // of the times between requests: standard deviation over mean
    // Lengths are uniform between quantiles, and at most the last quantile.
    LengthTable lengths;
};

// The clients of one workload of the table, or of all if it is empty.
ResultOrErrors<std::vector<LoadClient>> read_client_table(const std::filesystem::path& file,
                                                          const std::string& group);

}  // namespace orrery
