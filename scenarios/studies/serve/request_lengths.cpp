// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/request_lengths.h"

#include <algorithm>
#include <cmath>

#include "scenarios/studies/serve/numpy_draws.h"

namespace orrery {

std::int64_t whole_tokens(double tokens) {
    return std::max<std::int64_t>(1, std::llround(tokens));
}

RequestLengths::RequestLengths(const WorkloadSpec& workload, const LengthTable* table)
    : workload_(workload), table_(table), random_(workload.seed, 0, 0x4c656e67) {
    if (table == nullptr && workload.length_draws == LengthDraws::numpy) {
        std::mt19937 generator{static_cast<std::uint32_t>(workload.seed)};
        inputs_ = by_numpy(generator, workload.input_tokens);
        outputs_ = by_numpy(generator, workload.output_tokens);
    }
}

std::int64_t RequestLengths::input() {
    return inputs_.empty() ? draw(workload_.input_tokens, &LengthTable::input_tokens)
                           : inputs_[next_input_++];
}

std::int64_t RequestLengths::output() {
    return outputs_.empty() ? draw(workload_.output_tokens, &LengthTable::output_tokens)
                            : outputs_[next_output_++];
}

// Clients truncate the shortest length.
std::vector<std::int64_t> RequestLengths::by_numpy(std::mt19937& generator, double stated) const {
    const auto lowest = static_cast<std::int64_t>(stated * workload_.length_spread);
    return numpy_integers(
        generator, std::max<std::int64_t>(1, lowest), whole_tokens(stated), workload_.num_requests);
}

std::int64_t RequestLengths::draw(double stated, const std::vector<double> LengthTable::*column) {
    if (table_ != nullptr) {
        return whole_tokens(length_at(*table_, table_->*column, random_.uniform()));
    }
    const double share =
        workload_.length_spread + (1 - workload_.length_spread) * random_.uniform();
    return whole_tokens(stated * share);
}

}  // namespace orrery
