// SPDX-License-Identifier: Apache-2.0
// The verifier's checks between partners. Members of a group must call the same collectives in the
// same order. The k-th send to a peer must be as long as the peer's k-th receive. Ranks of one role
// run the same ops, so that it suffices to compare roles.
#pragma once

#include "engine/base/result.h"
#include "engine/program/program.h"

namespace orrery {

// All ids of `program` must lie inside their tables.
Errors check_communication(const Program& program);

}  // namespace orrery
