// SPDX-License-Identifier: Apache-2.0
// What an executor of a GPU may use. A machine on which something fails can leave it out without a
// new build: ORRERY_CUDA_WITHOUT=wgmma,graphs. Results keep their bits without graphs and gates,
// and may differ in the last place without the others.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace orrery {

struct CudaFeatures {
    bool wgmma = true;   // attention on the tensor cores of warpgroups (Hopper)
    bool mma = true;     // attention on the tensor cores of warps
    bool graphs = true;  // replays of captured launches
    bool fused = true;   // products that do a GELU or a bias gradient too
    bool gates = true;   // the device waits for launches while kernels are timed
    bool operator==(const CudaFeatures&) const = default;

    // The words of what is left out, "wgmma,graphs"; empty for nothing.
    std::string without() const;
};

inline constexpr const char* kCudaWithout = "ORRERY_CUDA_WITHOUT";

// Everything but a comma-separated list of words; an error that lists the words for any other.
Result<CudaFeatures> cuda_features_without(std::string_view words);

}  // namespace orrery
