// SPDX-License-Identifier: Apache-2.0
// Block-scaled FP8 products on Hopper, where the sums leave the tensor cores every 128 of k to be
// scaled in FP32 (DeepGEMM). One persistent kernel takes tiles of 64 or 128 rows and of 16 to 160
// columns, whichever waves come out best, without splitting k; filling its pipeline and storing a
// tile cost as much as some hundreds of k, for neither hides behind the next tile.
#pragma once

#include "engine/program/kernel_call.h"
#include "kernels/device_spec.h"

namespace orrery {

// Least squares of log(predicted / measured) over the 18 dense products that DeepGEMM's README
// prints for an H800 (March 2025; clipped at 15 %). Its grouped products and those of the release
// before were not used.
struct BlockScaledCurve {
    double asymptote = 0.756;      // of the peak
    double k_prologue = 482;       // elements of k
    double wave_sharpness = 0.94;  // 1: a partial wave costs a whole one
    double tile_penalty = 0.127;   // loss of tiles smaller than 128 x 160, per half perimeter
    double latency_us = 1.0;       // on top of the device's kernel_latency
    double residual = 0.06;        // relative sigma of what remains
};

// What the tensor cores take, for the best tile.
double block_scaled_seconds(const KernelCall& call,
                            const DeviceSpec& device,
                            const BlockScaledCurve& curve);

}  // namespace orrery
