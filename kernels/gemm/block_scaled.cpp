// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/block_scaled.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/gemm/grouped_gemm.h"

namespace orrery {

namespace {

constexpr BlockScaledCurve kHopper;
// Least squares over 108 products of an MI300X with 16 to 16,384 rows: times of Composable Kernel's
// instances in AITER (MIT; aiter/configs/a8w8_blockscale_tuned_gemm.csv, 304 compute units). A
// product of few rows takes 2.2 ns for each element of k however few its columns are: a tile's
// loads wait.
constexpr BlockScaledCurve kCdna3{.asymptote = 0.289,
                                  .k_prologue = 324,
                                  .wave_sharpness = 0.45,
                                  .tile_penalty = 0.207,
                                  .latency_us = 0.45,
                                  .residual = 0.09,
                                  .k_step_ns = 2.2};

}  // namespace

const BlockScaledCurve* block_scaled_curve(std::string_view generation) {
    return generation == "hopper" ? &kHopper : generation == "cdna3" ? &kCdna3 : nullptr;
}

double block_scaled_seconds(const KernelCall& call,
                            const DeviceSpec& device,
                            const BlockScaledCurve& curve) {
    constexpr double kFreePerimeter = 1.8;  // in units of 128 / side
    const double sms = std::max<double>(device.num_sms, 1);
    const double sm_rate = device.peak(Dtype::fp8).per_second() * curve.asymptote / sms;
    const double depth = static_cast<double>(call.dims[2]) + curve.k_prologue;
    double best = std::numeric_limits<double>::infinity();
    for (const std::int64_t rows : {std::int64_t{64}, std::int64_t{128}}) {
        // 16, 24 … 128, 144, 160.
        for (std::int64_t columns = 16; columns <= 160; columns += columns < 128 ? 8 : 16) {
            const double across = static_cast<double>((call.dims[1] + columns - 1) / columns);
            const double waves = row_tiles(call, rows) * across / sms;
            const double rounds = curve.wave_sharpness * std::ceil(waves) +
                                  (1 - curve.wave_sharpness) * std::max(waves, 1.0);
            const double perimeter =
                128.0 / static_cast<double>(rows) + 128.0 / static_cast<double>(columns);
            const double slowdown =
                1 + curve.tile_penalty * std::max(0.0, perimeter - kFreePerimeter);
            const double tile = 2.0 * static_cast<double>(rows * columns) * slowdown / sm_rate;
            best = std::min(best, rounds * depth * std::max(tile, curve.k_step_ns * 1e-9));
        }
    }
    return best;
}

}  // namespace orrery
