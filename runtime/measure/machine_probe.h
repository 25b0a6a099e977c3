// SPDX-License-Identifier: Apache-2.0
// What this machine's CPU reaches at most, measured in about a second: the catalogue's figures for
// it. Each is the best of several tries: others may be using the machine.
#pragma once

#include "engine/base/result.h"
#include "engine/base/units.h"

namespace orrery {

struct MachineRates {
    FlopRate gemm_fp32;           // of one core, our own product of two 512 x 512 matrices
    Bandwidth memory;             // of one core: bytes read and written by a copy of 64 MiB
    Time message_latency;         // of an empty message to another process, one way
    Bandwidth message_bandwidth;  // of 8 MiB to another process and back at the same time, one way
};

Result<MachineRates> probe_machine();

// What this number of processes needs to find each other at a store that is there, and to connect
// each with each: the median of several meetings of threads, which do as processes do. Of more than
// eight it is in proportion to the connections.
Result<Time> probe_meeting(std::uint32_t processes);

}  // namespace orrery
