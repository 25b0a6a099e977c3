// SPDX-License-Identifier: Apache-2.0
// Memory for a large simulation in pages of 2 MiB. Its ops, channels and flows are asked for in the
// order of simulated time, which is no order of addresses: with pages of 4 KiB most of the waiting
// is for the processor's table of pages (Linux: Documentation/admin-guide/mm/transhuge.rst).
#pragma once

#include <cstddef>

namespace orrery {

// What the calling thread's heap (the main thread's) takes from now on, up to `bytes`, is in large
// pages where the system gives them on request. Address space, no memory. Elsewhere than
// with glibc it does nothing.
void prefer_large_pages(std::size_t bytes);

}  // namespace orrery
