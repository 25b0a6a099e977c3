// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters of a served model (kernels/adapters/adapters_cpu.h): of the products of
// attention in every layer, and of the MLP in layers without experts. All adapters of a projection
// are one tensor, named after its weight: NAME.adapter_a [adapters, rank, inputs] and
// NAME.adapter_b [adapters, rank, outputs].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/serve/served_model.h"

namespace orrery {

struct AdaptedProjection {
    std::string name;  // of its weight
    std::int64_t inputs = 0;
    std::vector<std::int64_t> outputs;  // parts, each of which tensor-parallel ranks share
    std::int64_t all_outputs() const;
};
std::vector<AdaptedProjection> adapted_projections(const Transformer& model, std::int64_t layer);

// A as LoRA begins with it, and B not of zeros, as after training: drawn by the seed, with a
// standard deviation of 0.02.
void draw_adapters(ServedModel& served,
                   std::int64_t adapters,
                   std::int64_t rank,
                   std::uint64_t seed);

}  // namespace orrery
