// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/served_load.h"

#include <cmath>

namespace orrery {

// Prompts and answers of ShareGPT have long tails (Kwon et al., vLLM, SOSP 2023, figure 11). With
// equal lengths the users of a closed loop would send their next prompts together. Exponential laws
// are assumed for both.
LengthTable share_gpt_lengths(const ServingCase& row) {
    constexpr int kShares = 100;
    LengthTable lengths;
    for (int i = 0; i <= kShares; ++i) {
        // The last step ends at the mean of its tail.
        const double left = i < kShares ? 1 - static_cast<double>(i) / kShares : 0.5 / kShares;
        lengths.shares.push_back(static_cast<double>(i) / kShares);
        lengths.input_tokens.push_back(-std::log(left) * row.input_tokens);
        lengths.output_tokens.push_back(-std::log(left) * row.output_tokens);
    }
    return lengths;
}

}  // namespace orrery
