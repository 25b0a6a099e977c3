// SPDX-License-Identifier: Apache-2.0
// Cooperative threads of execution on one operating-system thread (Boost.Context, which unlike
// POSIX's ucontext switches without a system call): each runs until it waits. A warp of 32 runs as
// far as it can before the next one does; the order of the warps and that within a warp are given.
#pragma once

#include <cstdint>
#include <functional>

namespace orrery::emulation {

enum class ThreadOrder : std::uint8_t;

// Runs code(0) ... code(count - 1), count a multiple of 32, each as a fiber, until all have
// returned. Fibers that all wait for each other, or for one that has returned, fail an
// ORRERY_CHECK.
void run_fibers(int count, ThreadOrder order, const std::function<void(int)>& code);

// Only inside a fiber: lets others run until `counter` is no longer `before`.
void wait_until_changed(const std::uint64_t& counter, std::uint64_t before);

}  // namespace orrery::emulation
