// SPDX-License-Identifier: Apache-2.0
#include "network/exchange_paths.h"

#include <algorithm>
#include <numeric>

namespace orrery {

std::uint32_t ExchangePaths::number_of(LinkId link) {
    const auto [found, added] = numbers_.try_emplace(static_cast<std::uint32_t>(index(link)),
                                                     static_cast<std::uint32_t>(ids_.size()));
    if (added) {
        ids_.push_back(link);
    }
    return found->second;
}

std::uint32_t ExchangePaths::number_of(std::span<const LinkId> half) {
    std::vector<std::uint32_t> numbers;
    for (const LinkId link : half) {
        numbers.push_back(number_of(link));
    }
    const auto [found, added] =
        half_numbers_.try_emplace(numbers, static_cast<std::uint32_t>(halves_.size()));
    if (added) {
        halves_.push_back(std::move(numbers));
    }
    return found->second;
}

std::vector<double> ExchangePaths::bytes_of_links(std::span<const double> of_halves) const {
    std::vector<double> bytes(ids_.size(), 0);
    for (std::size_t half = 0; half < of_halves.size(); ++half) {
        for (const std::uint32_t link : halves_[half]) {
            bytes[link] += of_halves[half];
        }
    }
    return bytes;
}

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
