// SPDX-License-Identifier: Apache-2.0
// A tensor with rows of tokens of which a layer's router decides how many there are.
#pragma once

#include <cstdint>

#include "engine/base/ids.h"

namespace orrery {

struct RoutedTensor {
    TensorId tensor{};
    std::int64_t layer = 0;
    std::int64_t rows = 0;      // of a rank, as the Program has them
    bool with_experts = false;  // they are on the ranks of their experts
};

}  // namespace orrery
