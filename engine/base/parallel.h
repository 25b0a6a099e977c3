// SPDX-License-Identifier: Apache-2.0
// Independent pieces of work on several threads. What comes out does not depend on how many there
// are, provided that each piece writes to a place of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace orrery {

// Cores that this process may use, at least one.
std::uint32_t usable_cores();

// Calls work(0) … work(count - 1), on up to `threads` threads (0: one a core), the caller's among
// them. `finished` hears, one call at a time, how many are done. Throws what a piece has thrown
// (of several the first thread's), once all threads have stopped; pieces that had not begun by then
// may be left out.
void for_each_index(std::size_t count,
                    std::uint32_t threads,
                    const std::function<void(std::size_t)>& work,
                    const std::function<void(std::size_t)>& finished = {});

}  // namespace orrery
