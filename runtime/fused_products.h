// SPDX-License-Identifier: Apache-2.0
// Pairs of launches that one matrix product with an epilogue can take the place of, with the same
// results in the same memory: a product with a bias and the GELU of it (the product leaves the
// values before the GELU beside the result), the product that is the gradient of a GELU's result
// with the GELU's backward pass, and the product that is a weight's gradient with the gradient of
// the bias beside it. The Program knows nothing of it: both ops stay ops.
//
// The product's partner moves up to the place of its product. That is right if nothing in between
// touches what it touches, and if no launch of its stream in between waits for another stream.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "runtime/launch_plan.h"

namespace orrery {

struct FusedProduct {
    std::uint32_t product = 0;  // launches
    std::uint32_t partner = 0;
    GemmEpilogue epilogue = GemmEpilogue::gelu;  // or dgelu, bias_gradient
    bool operator==(const FusedProduct&) const = default;
};

// By product.
std::vector<FusedProduct> fused_products(const RankProgram& rank, const LaunchPlan& plan);

}  // namespace orrery
