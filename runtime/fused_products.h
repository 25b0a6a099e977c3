// SPDX-License-Identifier: Apache-2.0
// Pairs of launches that one matrix product with an epilogue can replace, with equal results in the
// same memory. There are three kinds: a product with a bias and its GELU (the product also stores
// the values before the GELU); the product that gives the gradient of a GELU's result, with the
// GELU's backward pass; and the product that gives a weight's gradient, with the bias gradient
// beside it. The Program does not change: both ops remain ops.
//
// The partner moves up to the place of its product. That is valid if no launch in between uses the
// same memory, and if no launch of its stream in between waits for another stream.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "runtime/launch_plan.h"

namespace orrery {

struct FusedProduct {
    std::uint32_t product = 0;  // index in the plan's launches, as `partner`
    std::uint32_t partner = 0;
    GemmEpilogue epilogue = GemmEpilogue::gelu;  // or dgelu, bias_gradient
    bool operator==(const FusedProduct&) const = default;
};

// In the order of the products.
std::vector<FusedProduct> fused_products(const RankProgram& rank, const LaunchPlan& plan);

}  // namespace orrery
