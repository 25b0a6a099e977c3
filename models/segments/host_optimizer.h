// SPDX-License-Identifier: Apache-2.0
// The optimizer's step by the host's processors, where its state does not lie on the device:
//
//   in host memory  clipped gradients go there, and new weights come back (Ren et al.,
//                   ZeRO-Offload, USENIX ATC 2021, section 4)
//   in a file       the same window by window: while the host steps one, the next one's state is
//                   read into the other of two buffers (Rajbhandari et al., ZeRO-Infinity, SC 2021,
//                   section 5.2.2)
//   beside the next   a step later: the weights that come back are of the gradients before
//   step              (ZeRO-Offload, section 5.2)
//
// Gradients and weights that lie in the host's memory are used there; those on drives pass its
// memory with their window.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "models/plan/state_layouts.h"
#include "models/segments/segment_builder.h"

namespace orrery {

// What one step of the optimizer updates.
struct OptimizerOperands {
    std::int64_t elements = 0;
    std::vector<TensorId> gradients{};
    std::vector<TensorId> weights{};
    std::vector<std::int64_t> sizes{};  // elements of each weight that are stepped
    TensorId state{};
};

// Elements of a window: as many tensors as fit, or one.
inline constexpr std::int64_t kOffloadWindow = 1 << 16;

// The host's and the device's operands: of any row of tensors from the first on the host has up to
// `share` of the elements.
std::pair<OptimizerOperands, OptimizerOperands> split_operands(const OptimizerOperands& all,
                                                               double share);

// The tensors in windows, which have no state yet.
std::vector<OptimizerOperands> offload_windows(const OptimizerOperands& all);

// The host's kernel for a number of elements, and where their state is.
struct HostUpdate {
    std::function<KernelCall(std::int64_t elements)> call;
    std::int64_t state_bytes = 0;  // of an element
    // A tensor for the state of a window.
    std::function<TensorId(std::int64_t elements)> make_state;
    bool delayed = false;        // beside the next step
    bool beside_device = false;  // which steps other weights meanwhile
    bool fp32_weights = false;   // new weights travel as the host's fp32 copy
};

// `operands.state` is what lies in host memory; windows of a file have states of their own. Returns
// the position of the op that brings the device its last weights.
std::uint32_t lower_host_update(SegmentBuilder& b,
                                const StateLayouts& layouts,
                                const OptimizerOperands& operands,
                                const HostUpdate& update);

}  // namespace orrery
