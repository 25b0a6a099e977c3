// SPDX-License-Identifier: Apache-2.0
#include "models/host_optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/relayout.h"

namespace orrery {
namespace {

// What gradients, new weights and state are while the host steps them.
TensorId host_buffer(ProgramTables& tables,
                     std::string name,
                     TensorKind kind,
                     Dtype dtype,
                     const Layout& layout,
                     std::int64_t bytes) {
    return tables.tensor({.name = std::move(name),
                          .parameter = {},
                          .dtype = dtype,
                          .kind = kind,
                          .lifetime = Lifetime::step,
                          .global_shape = {},
                          .layout = layout,
                          .bytes = Bytes{bytes},
                          .tier = MemoryTier::dram});
}

class HostStep {
public:
    HostStep(SegmentBuilder& b, const StateLayouts& layouts, const HostUpdate& update)
        : b_(b), layouts_(layouts), update_(update) {}

    void in_memory(const OptimizerOperands& operands) {
        const Buffers buffers = make_buffers("", operands.elements);
        gradients_to_host(operands, buffers);
        step(operands, buffers, operands.state);
        weights_from_host(operands, buffers);
    }

    void in_file(const OptimizerOperands& all) {
        std::vector<OptimizerOperands> windows = offload_windows(all);
        std::int64_t longest = 0;
        for (OptimizerOperands& window : windows) {
            window.state = update_.make_state(window.elements);
            longest = std::max(longest, window.elements);
        }
        std::array<Buffers, 2> buffers;
        std::array<TensorId, 2> states;
        for (std::size_t i = 0; i < std::min(windows.size(), buffers.size()); ++i) {
            const std::string suffix = fmt::format(" {}", i);
            buffers[i] = make_buffers(suffix, longest);
            states[i] = host_buffer(b_.tables(),
                                    "optimizer state in host memory" + suffix,
                                    TensorKind::optimizer,
                                    Dtype::fp32,
                                    layouts_.optimizer,
                                    longest * update_.state_bytes);
        }
        read(windows.front(), states[0]);
        for (std::size_t w = 0; w < windows.size(); ++w) {
            gradients_to_host(windows[w], buffers[w % 2]);
            if (w + 1 < windows.size()) {
                read(windows[w + 1], states[(w + 1) % 2]);
            }
            step(windows[w], buffers[w % 2], states[w % 2]);
            copy("state to file",
                 {states[w % 2]},
                 {windows[w].state},
                 {MemoryTier::dram, MemoryTier::nvme, bytes_of(windows[w].state)});
            weights_from_host(windows[w], buffers[w % 2]);
        }
    }

private:
    struct Buffers {
        TensorId gradients{};
        TensorId weights{};
    };

    Bytes bytes_of(TensorId tensor) { return b_.tables().program().tensors[index(tensor)].bytes; }
    Buffers make_buffers(const std::string& suffix, std::int64_t elements) {
        return {host_buffer(b_.tables(),
                            "gradients in host memory" + suffix,
                            TensorKind::gradients,
                            layouts_.gradient_dtype,
                            layouts_.optimizer,
                            elements * size_bytes(layouts_.gradient_dtype)),
                host_buffer(b_.tables(),
                            "new weights in host memory" + suffix,
                            TensorKind::weights,
                            layouts_.weight_dtype,
                            layouts_.optimizer,
                            elements * size_bytes(layouts_.weight_dtype))};
    }
    void copy(std::string_view name,
              std::vector<TensorId> reads,
              std::vector<TensorId> writes,
              const CopyCall& call) {
        emit_copy(b_,
                  call,
                  {.name = std::string{name},
                   .reads = std::move(reads),
                   .writes = std::move(writes),
                   .accumulates = {}});
    }
    void read(const OptimizerOperands& window, TensorId state) {
        copy("state from file",
             {window.state},
             {state},
             {MemoryTier::nvme, MemoryTier::dram, bytes_of(window.state)});
    }
    void gradients_to_host(const OptimizerOperands& operands, const Buffers& buffers) {
        copy("gradients to host",
             operands.gradients,
             {buffers.gradients},
             {MemoryTier::hbm,
              MemoryTier::dram,
              Bytes{operands.elements * size_bytes(layouts_.gradient_dtype)}});
    }
    void step(const OptimizerOperands& operands, const Buffers& buffers, TensorId state) {
        KernelCall call = update_.call(operands.elements);
        call.tier = MemoryTier::dram;
        b_.kernel(call,
                  {.name = "optimizer",
                   .cause = Cause::optimizer,
                   .reads = {buffers.gradients, b_.tables().scalars()},
                   .writes = {buffers.weights},
                   .accumulates = {state}});
    }
    void weights_from_host(const OptimizerOperands& operands, const Buffers& buffers) {
        copy("weights from host",
             {buffers.weights},
             operands.weights,
             {MemoryTier::dram,
              MemoryTier::hbm,
              Bytes{operands.elements * size_bytes(layouts_.weight_dtype)}});
    }

    SegmentBuilder& b_;
    const StateLayouts& layouts_;
    const HostUpdate& update_;
};

}  // namespace

std::vector<OptimizerOperands> offload_windows(const OptimizerOperands& all) {
    std::vector<OptimizerOperands> windows;
    for (std::size_t i = 0; i < all.weights.size(); ++i) {
        if (windows.empty() || windows.back().elements + all.sizes[i] > kOffloadWindow) {
            windows.emplace_back();
        }
        OptimizerOperands& window = windows.back();
        window.elements += all.sizes[i];
        window.gradients.push_back(all.gradients[i]);
        window.weights.push_back(all.weights[i]);
        window.sizes.push_back(all.sizes[i]);
    }
    return windows;
}

void lower_host_update(SegmentBuilder& b,
                       const StateLayouts& layouts,
                       const OptimizerOperands& operands,
                       const HostUpdate& update) {
    HostStep step{b, layouts, update};
    if (layouts.optimizer_tier == MemoryTier::nvme) {
        step.in_file(operands);
    } else {
        step.in_memory(operands);
    }
}

}  // namespace orrery
