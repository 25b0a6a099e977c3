// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace orrery {

// Asks for memory that is about to be written. What is asked for at once arrives at once: memory is
// then waited for once, not once an object.
template <class T>
void prefetch_all(const T* what, std::size_t bytes = sizeof(T)) {
    for (std::size_t at = 0; at < bytes; at += 64) {
        __builtin_prefetch(reinterpret_cast<const char*>(what) + at, 1);
    }
}

}  // namespace orrery
