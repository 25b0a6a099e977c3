// SPDX-License-Identifier: Apache-2.0
// What the prefix cache keeps of a sequence that gave up its blocks: they stay findable until they
// are handed out anew, so that the sequence computes only the rest again.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/serving/request.h"

namespace orrery {

enum class PreemptedBlocks : std::uint8_t {
    lost,
    prompt,  // those of its prompt
    all,     // those of its outputs, too
};
// By the name of a row of batching_rules().
PreemptedBlocks preempted_blocks(std::string_view scheduler);

// Hashes of the leading full blocks of a request that was preempted: those of its prompt as far as
// they are known, and behind them its own, by its id and its arrival. No other request has these.
std::vector<std::uint64_t> preempted_hashes(RequestId id,
                                            const Request& request,
                                            std::int64_t blocks);

}  // namespace orrery
