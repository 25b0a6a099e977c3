// SPDX-License-Identifier: Apache-2.0
// Initial weights. Matrices are normal with standard deviation 0.02, and 0.02 / sqrt(2 layers) if
// they write to the residual stream (GPT-2, Radford et al. 2019, section 2.3). Norms start
// as the identity, biases at zero. A value is a pure function of (seed, parameter name, index in
// the whole parameter), so that sharding does not change it.
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

// The random stream of a parameter.
std::uint32_t stream_of_parameter(std::string_view name);

// Sets every persistent weight, and its fp32 master if there is one.
void initialise_weights(Executor& executor, const InitialWeights& options);

}  // namespace orrery
