// SPDX-License-Identifier: Apache-2.0
// Memory that is about to be written, asked for ahead.
#pragma once

#include <cstddef>

namespace orrery {

// Asks for the line of memory at `what`, which is about to be written. What is asked for at once
// arrives at once: memory is then waited for once, not once an object.
inline void prefetch_line(const void* what) {
    __builtin_prefetch(what, 1);
    // GCC takes a function that only prefetches for one without effect, and leaves out its calls.
    __asm__ volatile("");
}

template <class T>
void prefetch_all(const T* what, std::size_t bytes = sizeof(T)) {
    for (std::size_t at = 0; at < bytes; at += 64) {
        prefetch_line(reinterpret_cast<const char*>(what) + at);
    }
}

}  // namespace orrery
