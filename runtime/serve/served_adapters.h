// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters of a served model (kernels/adapters/adapters_cpu.h): of the products of
// attention in every layer, and of the MLP in layers without experts. All adapters of a projection
// are one tensor, named after its weight: NAME.adapter_a [adapters, rank, inputs] and
// NAME.adapter_b [adapters, rank, outputs].
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/serve/served_model.h"

namespace orrery {

// The products of a layer that adapters change. Layers with experts have only those of attention.
enum class AdaptedProduct : std::uint8_t { qkv, projection, fc1, fc2 };

// The adapters of a layer by product, in the form of a decoder. Empty without adapters.
template <class Adapters>
class AdaptersOfLayer {
public:
    Adapters& operator[](AdaptedProduct product) { return of_[static_cast<std::size_t>(product)]; }
    const Adapters& operator[](AdaptedProduct product) const {
        return of_[static_cast<std::size_t>(product)];
    }

private:
    std::array<Adapters, 4> of_{};
};

struct AdaptedProjection {
    AdaptedProduct product = AdaptedProduct::qkv;
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
