// SPDX-License-Identifier: Apache-2.0
// Initial weights. Matrices are normal with standard deviation 0.02, matrices that write to the
// residual stream with 0.02 / sqrt(2 layers) (GPT-2, Radford et al. 2019, section 2.3); norms begin
// as the identity, biases at zero. A value is a pure function of (seed, parameter name, index in
// the whole parameter): the sharding does not change it.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/executor.h"

namespace orrery {

struct InitialWeights {
    std::uint64_t seed = 0;
    std::int64_t num_layers = 1;
    double standard_deviation = 0.02;
};

// Which random stream a parameter draws from.
std::uint32_t stream_of_parameter(std::string_view name);

// Writes every weight that persists, and its fp32 master where it has one.
void initialise_weights(Executor& executor, const InitialWeights& options);

}  // namespace orrery
