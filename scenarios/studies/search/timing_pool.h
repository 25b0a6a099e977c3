// SPDX-License-Identifier: Apache-2.0
// Keeps one copy of equal timings of passes, and numbers equal contents alike. Chunks of different
// plans are often equal (ZeRO 1 and 2, sizes of other axes). Results about a timing under held SMs
// then serve all plans.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/folded/pass_timing.h"

namespace orrery {

class TimingPool {
public:
    // The pooled timing that equals `timing`; its address does not change.
    const PassTiming& pass(PassTiming timing);
    // Equal contents have the same number.
    std::uint32_t number_of(std::vector<std::int64_t> content);

private:
    std::unordered_multimap<std::uint64_t, std::unique_ptr<const PassTiming>> passes_;
    std::map<std::vector<std::int64_t>, std::uint32_t> numbers_;
};

}  // namespace orrery
