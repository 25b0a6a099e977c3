// SPDX-License-Identifier: Apache-2.0
// Prefetching memory that will be written.
#pragma once

#include <cstddef>

namespace orrery {

// Prefetches the cache line at `what` for writing. Prefetches of several objects overlap, so that
// the caller waits for memory once, not once an object.
inline void prefetch_line(const void* what) {
    __builtin_prefetch(what, 1);
    // GCC treats a function that only prefetches as free of side effects, and removes its calls.
    __asm__ volatile("");
}

template <class T>
void prefetch_all(const T* what, std::size_t bytes = sizeof(T)) {
    for (std::size_t at = 0; at < bytes; at += 64) {
        prefetch_line(reinterpret_cast<const char*>(what) + at);
    }
}

}  // namespace orrery
