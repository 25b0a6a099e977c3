// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/timing_pool.h"

namespace orrery {

const PassTiming& TimingPool::pass(PassTiming timing) {
    const std::uint64_t hash = timing.hash();
    const auto [first, last] = passes_.equal_range(hash);
    for (auto known = first; known != last; ++known) {
        if (known->second->is_same(timing)) {
            return *known->second;
        }
    }
    return *passes_.emplace(hash, std::make_unique<const PassTiming>(std::move(timing)))->second;
}

std::uint32_t TimingPool::number_of(std::vector<std::int64_t> content) {
    const auto next = static_cast<std::uint32_t>(numbers_.size());
    return numbers_.try_emplace(std::move(content), next).first->second;
}

}  // namespace orrery
