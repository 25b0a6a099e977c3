// SPDX-License-Identifier: Apache-2.0
// A GPU without a GPU: the calls of CUDA's runtime that the executor makes, on queues in this
// process. Nothing runs when it is enqueued. Whenever the host waits, some queue that may go on
// does its next command, drawn at random: orders that streams and events do not forbid do happen.
// Every thread has a device of its own, so that threads can be ranks. Times of events are the
// host's: a command takes as long as its work here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "kernels/cuda/queue.h"
#include "kernels/gemm/gemm.h"

struct CUstream_st;

namespace orrery::simulated {

// Seeds the calling thread's device and forgets its history.
void begin_device(std::uint64_t seed);

// Does its work when the device comes to it; returns false to be asked again later.
using Command = std::function<bool()>;
void enqueue(CUstream_st* stream, Command command);

struct Counts {
    std::int64_t commands = 0;  // that ran
    std::int64_t graph_launches = 0;
    std::int64_t waits = 0;  // between streams, that had to wait
    std::map<GemmEpilogue, std::int64_t> fused_products{};
    std::map<device::TensorCores, std::int64_t> attention{};
    std::int64_t copies_to_host = 0;   // while the host waits
    std::int64_t streams_at_once = 0;  // most queues with work when one was drawn
};
const Counts& counts();

// Whether products take other ops' work with them: as they are found to be right and fast, or
// always.
void fuse_always(bool always);
// Whether what the library's epilogues leave is wrong.
void break_epilogues(bool broken);
bool fuses_always();
bool broken_epilogues();
// Whether attention on these tensor cores is wrong.
void break_attention(device::TensorCores cores);
void count_attention(device::TensorCores cores);
bool broken_attention(device::TensorCores cores);
void count_fused_product(GemmEpilogue epilogue);

// Bytes that the device still has; allocations beyond are refused.
void limit_memory(std::int64_t bytes);

// Commands that a stream takes before it makes the host wait.
void limit_streams(std::size_t commands);
// From now on nothing that was enqueued is done.
void hang();
// Seconds that two events read beside what is between them.
void add_to_event_times(double seconds);

// Whether choices that were made on this device are remembered, and the kernels' version.
void remember_choices(const std::string& kernel_version);
bool remembers_choices();
std::map<std::string, std::int64_t>& choices();

}  // namespace orrery::simulated
