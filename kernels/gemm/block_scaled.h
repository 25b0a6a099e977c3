// SPDX-License-Identifier: Apache-2.0
// Block-scaled FP8 products on Hopper and CDNA 3. The sums leave the tensor cores every 128 of k to
// be scaled in FP32 (DeepGEMM). One persistent kernel uses tiles of 64 or 128 rows and of 16 to 160
// columns, whichever gives the best waves, without splitting k. Filling its pipeline and storing a
// tile do not overlap with the next tile, and cost as much as some hundreds of k.
#pragma once

#include <string_view>

#include "engine/program/kernel_call.h"
#include "kernels/device_spec.h"

namespace orrery {

// A least-squares fit of log(predicted / measured) to the 18 dense products in DeepGEMM's README
// for an H800 (March 2025; errors clipped at 15 %). The README's grouped products, and the products
// of the release before, were not used.
struct BlockScaledCurve {
    double asymptote = 0.756;      // of the peak
    double k_prologue = 482;       // elements of k
    double wave_sharpness = 0.94;  // 1: a partial wave costs a whole one
    // Loss of tiles smaller than 128 x 160, by half perimeter over area
    double tile_penalty = 0.127;
    double latency_us = 1.0;  // on top of the device's kernel_latency
    double residual = 0.06;   // relative sigma of the remaining error
    double k_step_ns = 0;     // least time of a tile for an element of k
};

// The curve of a generation, or nothing if its tensor cores apply the scales themselves.
const BlockScaledCurve* block_scaled_curve(std::string_view generation);

// Time of the tensor cores in seconds, for the best tile.
double block_scaled_seconds(const KernelCall& call,
                            const DeviceSpec& device,
                            const BlockScaledCurve& curve);

}  // namespace orrery
