// SPDX-License-Identifier: Apache-2.0
// `network: simgrid`: SimGrid 3.32 as SharedRates, an independent check of network/fluid/fluid.h.
// SimGrid's solver shares the links and its clock ends the flows; our code only starts them. With
// the flags in the module and latency zero on every route, SimGrid's model is exact max-min in
// floating point. It has no capacity of zero (a dead link carries a bit in 250 years), only one
// engine per process, and becomes slow beyond about 1,024 NICs.
#pragma once

#include <memory>
#include <span>

#include "engine/base/result.h"
#include "engine/program/network_model.h"

namespace orrery {

// Loads SimGrid at the first call, so that the program starts without it. The error has the reason
// if it is missing.
Result<void> check_simgrid();
bool has_simgrid();

// Null without SimGrid. Only one may exist at a time. A later one in the same process is limited to
// 8,192 links, or to the number of the first if that was larger.
std::unique_ptr<SharedRates> make_simgrid_rates(std::span<const LinkInfo> links);

}  // namespace orrery
