// SPDX-License-Identifier: Apache-2.0
// Memory in pages of 2 MiB for large simulations. A simulation visits its ops, channels and flows
// in the order of simulated time, which is random in memory. With pages of 4 KiB most of its cache
// misses are misses of the TLB (Linux: Documentation/admin-guide/mm/transhuge.rst).
#pragma once

#include <cstddef>

namespace orrery {

// Asks for large pages for the next `bytes` of the calling thread's heap (only the main thread's).
// Reserves address space, not memory. Only the process's first call with at most 1 GiB has an
// effect. Without glibc it does nothing.
void prefer_large_pages(std::size_t bytes);

}  // namespace orrery
