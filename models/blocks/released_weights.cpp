// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/released_weights.h"

#include <algorithm>

namespace orrery {

std::vector<Parameter*> released_before_backward(const ParallelPlan& plan,
                                                 const std::vector<Parameter*>& layer) {
    std::vector<Parameter*> released;
    std::int64_t later = 0;
    for (auto p = layer.rbegin(); p != layer.rend(); ++p) {
        if (2 * later >= plan.stage3_max_reuse_distance) {
            released.push_back(*p);
        }
        later += (*p)->elements;
    }
    std::ranges::reverse(released);
    return released;
}

}  // namespace orrery
