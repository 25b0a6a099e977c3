// SPDX-License-Identifier: Apache-2.0
#include "network/exchange_paths.h"

#include <algorithm>
#include <numeric>

namespace orrery {

const std::vector<std::uint32_t>& ExchangePaths::in_order() {
    if (order_.size() != ids_.size()) {
        order_.resize(ids_.size());
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        std::ranges::sort(order_,
                          [&](std::uint32_t a, std::uint32_t b) { return ids_[a] < ids_[b]; });
    }
    return order_;
}

}  // namespace orrery
