// SPDX-License-Identifier: Apache-2.0
// `network: simgrid`: SimGrid 3.32 as SharedRates, the independent judge of network/fluid/fluid.h.
// Its own solver shares the links and its own clock ends the flows; ours only starts them. With the
// flags below and latency zero on every route SimGrid's model is exact max-min in floating point.
// It has no capacity of zero (a dead link carries a bit in 250 years), one engine a process, and
// gets slow beyond about 1,024 NICs.
#pragma once

#include <memory>
#include <span>

#include "engine/base/result.h"
#include "engine/program/network_model.h"

namespace orrery {

// Loads SimGrid at the first call: the program starts without it. The error says why it can't.
Result<void> check_simgrid();
bool has_simgrid();

// Null without SimGrid. One at a time; a later one in the same process may not have more than
// 8,192 links unless the first had as many.
std::unique_ptr<SharedRates> make_simgrid_rates(std::span<const LinkInfo> links);

}  // namespace orrery
