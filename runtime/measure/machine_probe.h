// SPDX-License-Identifier: Apache-2.0
// The peak rates of this machine's CPU for the catalogue, measured in about a second. Each is the
// best of several tries, because other processes may use the machine.
#pragma once

#include "engine/base/result.h"
#include "engine/base/units.h"

namespace orrery {

struct MachineRates {
    FlopRate gemm_fp32;           // of one core, with our own product of two 512 x 512 matrices
    Bandwidth memory;             // of one core: bytes read and written by a copy of 64 MiB
    Time message_latency;         // of an empty message to another process, one way
    Bandwidth message_bandwidth;  // one way, of 8 MiB in each direction at the same time
};

Result<MachineRates> probe_machine();

// The time that this number of processes needs to find each other at an existing store and to
// connect all pairs: the median of several meetings of threads, which do the same as processes. For
// more than eight it is extrapolated in proportion to the number of connections.
Result<Time> probe_meeting(std::uint32_t processes);

}  // namespace orrery
