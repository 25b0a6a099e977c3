// SPDX-License-Identifier: Apache-2.0
// The optimizer's step on the host's processors, for optimizer state outside the device:
//
//   in host memory  clipped gradients are copied to the host, and new weights back (Ren et al.,
//                   ZeRO-Offload, USENIX ATC 2021, section 4)
//   in a file       the same in windows: while the host steps one, the next one's state is read
//                   into the other of two buffers (Rajbhandari et al., ZeRO-Infinity, SC 2021,
//                   section 5.2.2)
//   beside the      one step later: the weights that come back were stepped with the gradients of
//   next step       the previous step (ZeRO-Offload, section 5.2)
//
// Gradients and weights in the host's memory are used there. Gradients and weights on drives pass
// through its memory with their window.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "models/plan/state_layouts.h"
#include "models/segments/segment_builder.h"

namespace orrery {

// The operands of one step of the optimizer.
struct OptimizerOperands {
    std::int64_t elements = 0;
    std::vector<TensorId> gradients{};
    std::vector<TensorId> weights{};
    std::vector<std::int64_t> sizes{};  // elements of each weight that this step updates
    TensorId state{};
};

// Elements of a window. A window has as many tensors as fit, but at least one.
inline constexpr std::int64_t kOffloadWindow = 1 << 16;

// Splits the operands into the host's and the device's. The host's part of the first n tensors is
// at most `share` of their elements, for each n.
std::pair<OptimizerOperands, OptimizerOperands> split_operands(const OptimizerOperands& all,
                                                               double share);

// The tensors in windows. The windows have no state yet.
std::vector<OptimizerOperands> offload_windows(const OptimizerOperands& all);

// The host's kernel for a number of elements, and the state of these elements.
struct HostUpdate {
    std::function<KernelCall(std::int64_t elements)> call;
    std::int64_t state_bytes = 0;  // bytes of state for each element
    // Makes a tensor for the state of a window.
    std::function<TensorId(std::int64_t elements)> make_state;
    bool delayed = false;        // the host steps beside the next step
    bool beside_device = false;  // the device steps other weights meanwhile
    bool fp32_weights = false;   // new weights travel as the host's fp32 copy
};

// `operands.state` is the state in host memory; windows of a file have states of their own. Returns
// the position of the op that brings the last weights to the device.
std::uint32_t lower_host_update(SegmentBuilder& b,
                                const StateLayouts& layouts,
                                const OptimizerOperands& operands,
                                const HostUpdate& update);

}  // namespace orrery
