// SPDX-License-Identifier: Apache-2.0
// LayerNorm and RMSNorm have the same operands and obey the same laws: each law once, for a norm
// that is given by its kernels and by its float64 definition.
#pragma once

#include <functional>

#include "kernels/norm_operands.h"
#include "tests/kernels/numeric.h"

namespace orrery::cpu {

struct NormKind {
    void (*forward)(const NormShape&, const NormForward&);
    void (*backward)(const NormShape&, const NormBackward&);
    std::int64_t weight_rows;      // weight is [weight_rows * hidden]
    std::int64_t statistics_size;  // of a token
    // y of one row, in float64.
    std::function<numeric::Doubles(
        const numeric::Doubles& x, const numeric::Doubles& weight, double epsilon)>
        definition;
};

// A row in float64 (NormKind::definition).
numeric::Doubles layernorm_definition(const numeric::Doubles& x,
                                      const numeric::Doubles& weight,
                                      double epsilon);
numeric::Doubles rmsnorm_definition(const numeric::Doubles& x,
                                    const numeric::Doubles& weight,
                                    double epsilon);

// What each checks is said in norm_cases.cpp, before it.
void check_norm_forward(const NormKind& kind, std::uint64_t seed, Dtype dtype);
void check_norm_gradients(const NormKind& kind, std::uint64_t seed, Dtype dtype);
void check_norm_residual(const NormKind& kind, std::uint64_t seed, Dtype dtype);
void check_norm_statistics(const NormKind& kind, std::uint64_t seed, Dtype dtype);

// One of these laws for twenty seeds in fp32 and bf16.
void for_drawn(void (*law)(const NormKind&, std::uint64_t, Dtype), const NormKind& kind);

}  // namespace orrery::cpu
