// SPDX-License-Identifier: Apache-2.0
// Hashes under which the prefix cache keeps the blocks of a preempted sequence. The blocks stay
// findable until other sequences take them, so that the sequence computes only the rest again.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/serving/request.h"

namespace orrery {

// Hashes of the first `blocks` full blocks of a preempted request: the known hashes of its prompt,
// then hashes by its id and its arrival, which no other request has.
std::vector<std::uint64_t> preempted_hashes(RequestId id,
                                            const Request& request,
                                            std::int64_t blocks);

}  // namespace orrery
