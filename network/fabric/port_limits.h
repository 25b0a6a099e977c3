// SPDX-License-Identifier: Apache-2.0
// Limits of a transfer besides its links, in GB/s.
#pragma once

namespace orrery {

inline constexpr double kNoPortLimit = 1e9;
// GB/s of one proxy thread over TCP, including the kernel's copies: 42 Gb/s, measured for one core
// on a 100 Gb/s adapter (Cai et al., Understanding Host Network Stack Overheads, SIGCOMM 2021,
// section 3). NCCL's sockets have one thread by default (NCCL_SOCKET_NTHREADS).
inline constexpr double kTcpThread = 42.0 / 8;

}  // namespace orrery
