// SPDX-License-Identifier: Apache-2.0
// The part of the verifier about partners: members of a group must make the same collectives in the
// same order, and the k-th send to a peer must be as long as the peer's k-th receive. Two ranks of
// one role run the same ops, so that comparing roles compares all ranks.
#pragma once

#include "engine/base/result.h"
#include "engine/program/program.h"

namespace orrery {

// All ids must lie inside their tables.
Errors check_communication(const Program& program);

}  // namespace orrery
