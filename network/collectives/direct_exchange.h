// SPDX-License-Identifier: Apache-2.0
// The exchange of tokens' rows with the ranks of their experts, by one kernel of an inference
// engine that stores into its peers' memory over NVLink, without NCCL (DeepEP's low-latency
// kernels; TensorRT-LLM's all-to-all over multi-node NVLink).
#pragma once

#include <optional>

#include "engine/base/units.h"
#include "network/fabric/cluster_spec.h"

namespace orrery {

// The time in which each of `ranks` GPUs of a node sends `bytes`, its own share included. No value
// without an NVSwitch, or beyond a node.
std::optional<Time> direct_exchange_time(const NodeSpec& node, std::int64_t ranks, Bytes bytes);

}  // namespace orrery
