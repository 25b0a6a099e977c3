// SPDX-License-Identifier: Apache-2.0
#include "models/segments/host_optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/elementwise/elementwise.h"
#include "kernels/optimizer/optimizer.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

class HostStep {
public:
    HostStep(SegmentBuilder& b, const StateLayouts& layouts, const HostUpdate& update)
        : b_(b), layouts_(layouts), update_(update) {}

    std::uint32_t in_memory(const OptimizerOperands& operands) {
        const Buffers buffers = make_buffers("", operands.elements, Lifetime::step);
        gradients_to_host(operands, buffers, Traffic::offload);
        step(operands,
             {buffers.gradients},
             {buffers.weights},
             operands.state,
             update_.beside_device ? kHostStream : kComputeStream);
        return weights_from_host(operands, buffers, Traffic::offload);
    }

    std::uint32_t in_file(const OptimizerOperands& all) {
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
            buffers[i] = make_buffers(suffix, longest, Lifetime::step);
            states[i] = make_state_buffer(suffix, longest);
        }
        read(windows.front(), states[0], Traffic::offload);
        std::uint32_t last = 0;
        for (std::size_t w = 0; w < windows.size(); ++w) {
            gradients_to_host(windows[w], buffers[w % 2], Traffic::offload);
            if (w + 1 < windows.size()) {
                read(windows[w + 1], states[(w + 1) % 2], Traffic::offload);
            }
            step(windows[w],
                 {buffers[w % 2].gradients},
                 {buffers[w % 2].weights},
                 states[w % 2],
                 update_.beside_device ? kHostStream : kComputeStream);
            copy("state to file",
                 {states[w % 2]},
                 {windows[w].state},
                 {MemoryTier::dram, MemoryTier::nvme, bytes_of(windows[w].state)});
            last = weights_from_host(windows[w], buffers[w % 2], Traffic::offload);
        }
        return last;
    }

    // The weights of the previous step come first. The host may then work until the end of the next
    // step.
    std::uint32_t delayed(const OptimizerOperands& operands) {
        const Buffers buffers =
            make_buffers(" of the step before", operands.elements, Lifetime::persistent);
        const std::uint32_t last = weights_from_host(operands, buffers, Traffic::fetch);
        if (layouts_.gradients_tier == MemoryTier::hbm) {
            gradients_to_host(operands, buffers, Traffic::store);
        } else {  // the passes of the next step write into the other buffer
            b_.host({.duration = Time{}},
                    {.name = "gradients handed over",
                     .stream = kHostStream,
                     .cause = Cause::optimizer,
                     .reads = operands.gradients,
                     .writes = {buffers.gradients},
                     .accumulates = {},
                     .launches = 0});
        }
        step(operands, {buffers.gradients}, {buffers.weights}, operands.state, kHostStream);
        // An op that waits for the segment's last op, such as a gather of weights, must not wait
        // for the host.
        b_.host({.duration = Time{}},
                {.name = "weights are here",
                 .stream = kFetchStream,
                 .cause = Cause::optimizer,
                 .reads = operands.weights,
                 .writes = {},
                 .accumulates = {},
                 .launches = 0});
        return last;
    }

    // Windows of gradients, weights and state in any tier. Copies of one window overlap the step of
    // another.
    std::uint32_t in_tiers(const OptimizerOperands& all) {
        std::vector<OptimizerOperands> windows = offload_windows(all);
        const bool in_file = layouts_.optimizer_tier == MemoryTier::nvme;
        std::int64_t longest = 0;
        for (OptimizerOperands& window : windows) {
            window.state = in_file ? update_.make_state(window.elements) : all.state;
            longest = std::max(longest, window.elements);
        }
        std::array<Buffers, 2> buffers;
        std::array<TensorId, 2> states{all.state, all.state};
        for (std::size_t i = 0; i < std::min(windows.size(), buffers.size()); ++i) {
            const std::string suffix = fmt::format(" {}", i);
            buffers[i] = make_buffers(suffix, longest, Lifetime::step);
            states[i] = in_file ? make_state_buffer(suffix, longest) : all.state;
        }
        bring(windows.front(), buffers[0], states[0]);
        std::uint32_t last = 0;
        for (std::size_t w = 0; w < windows.size(); ++w) {
            if (w + 1 < windows.size()) {
                bring(windows[w + 1], buffers[(w + 1) % 2], states[(w + 1) % 2]);
            }
            last = step_window(windows[w], buffers[w % 2], states[w % 2]);
        }
        return last;
    }

private:
    struct Buffers {
        TensorId gradients{};
        TensorId weights{};
    };

    const Tensor& tensor(TensorId id) const { return b_.tables().program().tensors[index(id)]; }
    Bytes bytes_of(TensorId id) const { return tensor(id).bytes; }
    Dtype handed_over() const {
        return update_.fp32_weights ? Dtype::fp32 : layouts_.weight_dtype;
    }
    Buffers make_buffers(const std::string& suffix, std::int64_t elements, Lifetime lifetime) {
        return {b_.tables().host_tensor("gradients in host memory" + suffix,
                                        TensorKind::gradients,
                                        layouts_.gradient_dtype,
                                        layouts_.optimizer,
                                        Bytes{elements * size_bytes(layouts_.gradient_dtype)},
                                        lifetime),
                b_.tables().host_tensor("new weights in host memory" + suffix,
                                        TensorKind::weights,
                                        handed_over(),
                                        layouts_.optimizer,
                                        Bytes{elements * size_bytes(handed_over())},
                                        lifetime)};
    }
    TensorId make_state_buffer(const std::string& suffix, std::int64_t elements) {
        return b_.tables().host_tensor("optimizer state in host memory" + suffix,
                                       TensorKind::optimizer,
                                       Dtype::fp32,
                                       layouts_.optimizer,
                                       Bytes{elements * update_.state_bytes});
    }
    std::uint32_t copy(std::string_view name,
                       std::vector<TensorId> reads,
                       std::vector<TensorId> writes,
                       const CopyCall& call,
                       Traffic traffic = Traffic::offload) {
        return emit_copy(b_, name, call, traffic, std::move(reads), std::move(writes));
    }
    void read(const OptimizerOperands& window, TensorId state, Traffic traffic) {
        copy("state from file",
             {window.state},
             {state},
             {MemoryTier::nvme, MemoryTier::dram, bytes_of(window.state)},
             traffic);
    }
    void gradients_to_host(const OptimizerOperands& operands,
                           const Buffers& buffers,
                           Traffic traffic) {
        copy("gradients to host",
             operands.gradients,
             {buffers.gradients},
             {MemoryTier::hbm,
              MemoryTier::dram,
              Bytes{operands.elements * size_bytes(layouts_.gradient_dtype)}},
             traffic);
    }
    void step(const OptimizerOperands& operands,
              const std::vector<TensorId>& gradients,
              std::vector<TensorId> weights,
              TensorId state,
              StreamId stream = kComputeStream) {
        KernelCall call = update_.call(operands.elements);
        call.tier = MemoryTier::dram;
        std::vector<TensorId> reads = gradients;
        reads.push_back(b_.tables().scalars());
        b_.kernel(call,
                  {.name = "optimizer",
                   .stream = stream,
                   .cause = Cause::optimizer,
                   .reads = std::move(reads),
                   .writes = weights,
                   .accumulates = {state}});
        if (update_.fp32_weights) {
            store_copy(operands.elements, state, std::move(weights), stream);
        }
    }
    // The copy has a buffer of its own. A processor reads its cache lines before it writes them.
    void store_copy(std::int64_t elements,
                    TensorId state,
                    std::vector<TensorId> weights,
                    StreamId stream) {
        KernelCall store = transpose(1, elements, Dtype::fp32);
        store.tier = MemoryTier::dram;
        b_.kernel(store,
                  {.name = "fp32 weights",
                   .stream = stream,
                   .cause = Cause::optimizer,
                   .reads = {state},
                   .writes = std::move(weights),
                   .accumulates = {}});
    }
    std::uint32_t weights_from_host(const OptimizerOperands& operands,
                                    const Buffers& buffers,
                                    Traffic traffic) {
        return copy("weights from host",
                    {buffers.weights},
                    operands.weights,
                    {MemoryTier::dram,
                     MemoryTier::hbm,
                     Bytes{operands.elements * size_bytes(handed_over())}},
                    traffic);
    }

    // Brings the operands of a window into the host's memory.
    void bring(const OptimizerOperands& window, const Buffers& buffers, TensorId state) {
        if (layouts_.optimizer_tier == MemoryTier::nvme) {
            read(window, state, Traffic::drive_read);
        }
        if (layouts_.gradients_tier == MemoryTier::hbm) {
            gradients_to_host(window, buffers, Traffic::store);
        } else if (layouts_.gradients_tier == MemoryTier::nvme) {
            copy("gradients from drives",
                 window.gradients,
                 {buffers.gradients},
                 {MemoryTier::nvme,
                  MemoryTier::dram,
                  Bytes{window.elements * size_bytes(layouts_.gradient_dtype)}},
                 Traffic::drive_read);
        }
    }
    std::uint32_t step_window(const OptimizerOperands& window,
                              const Buffers& buffers,
                              TensorId state) {
        const bool in_place = layouts_.gradients_tier == MemoryTier::dram;
        const std::vector<TensorId> gradients =
            in_place ? window.gradients : std::vector{buffers.gradients};
        if (layouts_.gradients_tier != MemoryTier::hbm) {
            KernelCall clip = gradient_scale(window.elements, layouts_.gradient_dtype);
            clip.tier = MemoryTier::dram;
            b_.kernel(clip,
                      {.name = "gradient clip",
                       .cause = Cause::optimizer,
                       .reads = {b_.tables().scalars()},
                       .writes = {},
                       .accumulates = gradients});
        }
        // By tier: HBM, DRAM, NVMe.
        std::array<std::vector<TensorId>, 3> weights;
        std::array<std::int64_t, 3> elements{};
        for (std::size_t i = 0; i < window.weights.size(); ++i) {
            const auto tier = static_cast<std::size_t>(tensor(window.weights[i]).tier);
            weights[tier].push_back(window.weights[i]);
            elements[tier] += window.sizes[i];
        }
        std::vector<TensorId> written = weights[1];
        if (written.size() < window.weights.size()) {
            written.push_back(buffers.weights);
        }
        step(window, gradients, std::move(written), state);
        std::uint32_t last = b_.size() - 1;
        for (const MemoryTier to : {MemoryTier::hbm, MemoryTier::nvme}) {
            const auto tier = static_cast<std::size_t>(to);
            if (!weights[tier].empty()) {
                last = copy(to == MemoryTier::hbm ? "weights from host" : "weights to drives",
                            {buffers.weights},
                            weights[tier],
                            {MemoryTier::dram,
                             to,
                             Bytes{elements[tier] * size_bytes(handed_over())}},
                            to == MemoryTier::hbm ? Traffic::fetch : Traffic::drive_write);
            }
        }
        if (layouts_.optimizer_tier == MemoryTier::nvme) {
            copy("state to file",
                 {state},
                 {window.state},
                 {MemoryTier::dram, MemoryTier::nvme, bytes_of(window.state)},
                 Traffic::drive_write);
        }
        return last;
    }

    SegmentBuilder& b_;
    const StateLayouts& layouts_;
    const HostUpdate& update_;
};

void append(const OptimizerOperands& from, std::size_t i, OptimizerOperands& to) {
    to.elements += from.sizes[i];
    to.gradients.push_back(from.gradients[i]);
    to.weights.push_back(from.weights[i]);
    to.sizes.push_back(from.sizes[i]);
}

}  // namespace

std::pair<OptimizerOperands, OptimizerOperands> split_operands(const OptimizerOperands& all,
                                                               double share) {
    std::pair<OptimizerOperands, OptimizerOperands> of;
    std::int64_t before = 0;
    for (std::size_t i = 0; i < all.weights.size(); ++i) {
        before += all.sizes[i];
        const double due = share * static_cast<double>(before);
        const bool host = static_cast<double>(of.first.elements + all.sizes[i]) <= due;
        append(all, i, host ? of.first : of.second);
    }
    return of;
}

std::vector<OptimizerOperands> offload_windows(const OptimizerOperands& all) {
    std::vector<OptimizerOperands> windows;
    for (std::size_t i = 0; i < all.weights.size(); ++i) {
        if (windows.empty() || windows.back().elements + all.sizes[i] > kOffloadWindow) {
            windows.emplace_back();
        }
        append(all, i, windows.back());
    }
    return windows;
}

std::uint32_t lower_host_update(SegmentBuilder& b,
                                const StateLayouts& layouts,
                                const OptimizerOperands& operands,
                                const HostUpdate& update) {
    HostStep step{b, layouts, update};
    if (update.delayed) {
        return step.delayed(operands);
    }
    if (layouts.weights_tier != MemoryTier::hbm || layouts.gradients_tier != MemoryTier::hbm) {
        return step.in_tiers(operands);
    }
    return layouts.optimizer_tier == MemoryTier::nvme ? step.in_file(operands)
                                                      : step.in_memory(operands);
}

}  // namespace orrery
