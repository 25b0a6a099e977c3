// SPDX-License-Identifier: Apache-2.0
// The lengths of a drawn load's prompts and outputs.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "engine/base/counter_random.h"
#include "scenarios/format/read/length_table.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

// At least one.
std::int64_t whole_tokens(double tokens);

// Draws by the workload's keys, or from its table (null: it has none).
class RequestLengths {
public:
    RequestLengths(const WorkloadSpec& workload, const LengthTable* table);
    // The lengths of the next request. With LengthDraws::numpy at most num_requests of each.
    std::int64_t input();
    std::int64_t output();

private:
    std::vector<std::int64_t> by_numpy(std::mt19937& generator, double stated) const;
    std::int64_t draw(double stated, const std::vector<double> LengthTable::*column);

    const WorkloadSpec& workload_;
    const LengthTable* table_;
    CounterRandom random_;
    std::vector<std::int64_t> inputs_;  // empty unless NumPy draws them
    std::vector<std::int64_t> outputs_;
    std::size_t next_input_ = 0;
    std::size_t next_output_ = 0;
};

}  // namespace orrery
