// SPDX-License-Identifier: Apache-2.0
// The offset between the steady clocks of a job's processes. Processes of one host share its clock
// (they have the same boot id): the offset is zero. Other processes ask rank 0 for its time
// repeatedly. The answer with the shortest round trip counts, and is assumed to lie halfway between
// question and answer (Cristian, "Probabilistic clock synchronization", 1989).
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "runtime/communication/transport.h"

namespace orrery {

// The value to add to this process's times to get rank 0's. All ranks call it together.
Result<std::int64_t> clock_offset_ns(Transport& transport);

}  // namespace orrery
