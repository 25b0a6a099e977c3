// SPDX-License-Identifier: Apache-2.0
// Optional features of an executor on a GPU. On a machine where one fails, it can be disabled
// without a new build: ORRERY_CUDA_WITHOUT=wgmma,graphs. Graphs and gates do not change the bits of
// results; the other features may change the last place.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace orrery {

struct CudaFeatures {
    bool wgmma = true;   // attention on the tensor cores of warpgroups (Hopper)
    bool mma = true;     // attention on the tensor cores of warps
    bool graphs = true;  // replays of captured launches
    bool fused = true;   // products that also do a GELU or a bias gradient
    bool gates = true;   // the device waits for launches while kernels are timed
    bool operator==(const CudaFeatures&) const = default;

    // The disabled features, "wgmma,graphs"; empty if all are enabled.
    std::string without() const;
};

inline constexpr const char* kCudaWithout = "ORRERY_CUDA_WITHOUT";

// All features but those in a comma-separated list. The error for an unknown word lists the words.
Result<CudaFeatures> cuda_features_without(std::string_view words);

}  // namespace orrery
