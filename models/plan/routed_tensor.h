// SPDX-License-Identifier: Apache-2.0
// A tensor with rows of tokens whose number a layer's router decides.
#pragma once

#include <cstdint>

#include "engine/base/ids.h"

namespace orrery {

struct RoutedTensor {
    TensorId tensor{};
    std::int64_t layer = 0;
    std::int64_t rows = 0;      // rows of a rank in the Program
    bool with_experts = false;  // the rows are on the ranks of their experts
};

}  // namespace orrery
