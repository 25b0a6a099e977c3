// SPDX-License-Identifier: Apache-2.0
// Timings of passes, and numbers for what is made of them: what is equal stands once. Chunks of
// different plans often come out equal (ZeRO 1 and 2, sizes of other axes), and what one plan's
// step has found out about a timing under held SMs serves all others.
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
    // The one that equals it; stays where it is.
    const PassTiming& pass(PassTiming timing);
    // Equal contents have the same number.
    std::uint32_t number_of(std::vector<std::int64_t> content);

private:
    std::unordered_multimap<std::uint64_t, std::unique_ptr<const PassTiming>> passes_;
    std::map<std::vector<std::int64_t>, std::uint32_t> numbers_;
};

}  // namespace orrery
