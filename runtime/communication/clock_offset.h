// SPDX-License-Identifier: Apache-2.0
// How far the steady clocks of a job's processes are apart. Processes of one host share its clock
// (the same boot id says so): zero. Others ask rank 0 for its time again and again; of all answers
// the one that came back fastest counts, and lies half way between question and answer (Cristian,
// "Probabilistic clock synchronization", 1989).
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "runtime/communication/transport.h"

namespace orrery {

// What to add to this process's times to have rank 0's. All ranks call it together.
Result<std::int64_t> clock_offset_ns(Transport& transport);

}  // namespace orrery
