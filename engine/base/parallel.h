// SPDX-License-Identifier: Apache-2.0
// Independent tasks on several threads. The result does not depend on the number of threads if each
// task writes to a place of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace orrery {

// The number of cores that this process may use, at least one.
std::uint32_t usable_cores();

// Calls work(0) … work(count - 1) on up to `threads` threads (0: one a core); the caller is one of
// them. `finished` gets the number of finished tasks; its calls never overlap. If tasks throw, the
// exception of the lowest thread is rethrown after all threads have stopped. Tasks that had not
// begun by then may be skipped.
void for_each_index(std::size_t count,
                    std::uint32_t threads,
                    const std::function<void(std::size_t)>& work,
                    const std::function<void(std::size_t)>& finished = {});

}  // namespace orrery
