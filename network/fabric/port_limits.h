// SPDX-License-Identifier: Apache-2.0
// What holds a transfer besides its links, in GB/s.
#pragma once

namespace orrery {

inline constexpr double kNoPortLimit = 1e9;
// GB/s that one proxy thread moves over TCP, copies of the kernel included: 42 Gb/s, what one core
// reaches on a 100 Gb/s adapter (Cai et al., Understanding Host Network Stack Overheads, SIGCOMM
// 2021, section 3). NCCL's sockets have no more threads by default (NCCL_SOCKET_NTHREADS).
inline constexpr double kTcpThread = 42.0 / 8;

}  // namespace orrery
