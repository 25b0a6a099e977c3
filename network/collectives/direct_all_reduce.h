// SPDX-License-Identifier: Apache-2.0
// The all-reduce of inference engines for the small sums of a decoding step: one kernel in which
// each GPU reads its peers' buffers over NVLink, without NCCL's proxies and channels (vLLM
// csrc/custom_all_reduce.cuh; TensorRT-LLM's one-shot and two-shot kernels).
//
//   one shot    each GPU reads the whole buffer of every peer and sums alone
//   two shots   each GPU sums its n-th part of all buffers, then reads the others' sums
#pragma once

#include <cstdint>
#include <optional>

#include "engine/base/units.h"
#include "network/fabric/cluster_spec.h"

namespace orrery {

// How a GPU learns that a peer's data is there: by flags before and after the work (vLLM, SGLang),
// or from the data themselves, whose buffer is cleared beforehand (TensorRT-LLM's Lamport kernels).
enum class PeerFlags : std::uint8_t { barriers, in_data };

// The time of an all-reduce of `bytes` on each of `ranks` GPUs of a node, captured in a CUDA graph.
// `kernel_latency` is the device's. No value if the kernel does not support the case: more than 8
// GPUs, more than 8 MiB, or GPUs that reach one another over PCIe alone.
std::optional<Time> direct_all_reduce_time(const NodeSpec& node,
                                           std::int64_t ranks,
                                           Bytes bytes,
                                           Time kernel_latency,
                                           PeerFlags flags = PeerFlags::barriers);

}  // namespace orrery
