// SPDX-License-Identifier: Apache-2.0
// Helpers for kernels that memory bandwidth bounds, with work in proportion to the number of
// elements. FLOP per element are rounded counts; they never determine the time.
#pragma once

#include "engine/program/kernel_call.h"

namespace orrery {

inline KernelCall memory_bound_call(KernelKind kind,
                                    Dtype dtype,
                                    int variant,
                                    std::array<std::int64_t, 6> dims,
                                    double flop,
                                    std::int64_t bytes) {
    return {.kind = kind,
            .dtype = dtype,
            .variant = static_cast<std::uint8_t>(variant),
            .dims = dims,
            .flop = flop,
            .bytes = bytes};
}

inline double element_count(std::int64_t rows, std::int64_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
}

}  // namespace orrery
