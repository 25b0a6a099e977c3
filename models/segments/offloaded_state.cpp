// SPDX-License-Identifier: Apache-2.0
#include "models/segments/offloaded_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/optimizer/optimizer.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

std::vector<TensorId> shards_of(const std::vector<Parameter*>& parameters) {
    std::vector<TensorId> shards;
    for (const Parameter* p : parameters) {
        shards.push_back(p->gradient_shard);
    }
    return shards;
}

}  // namespace

OffloadedWeights::OffloadedWeights(BlockBuilder& b,
                                   std::vector<std::vector<Parameter*>> units,
                                   std::size_t ahead)
    : b_(b), units_(std::move(units)) {
    const std::vector<Tensor>& tensors = b.ops.tables().program().tensors;
    std::int64_t largest = 0;
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
        std::erase_if(units_[unit], [&](const Parameter* p) {
            return tensors[index(p->stored)].tier == MemoryTier::hbm;
        });
        largest = std::max(largest, bytes_of(unit));
    }
    if (b.layouts.state.weights_tier == MemoryTier::nvme && largest > 0) {
        for (std::size_t i = 0; i < std::min(ahead + 1, units_.size()); ++i) {
            buffers_.push_back(
                b.ops.tables().host_tensor(fmt::format("weights in host memory {}", i),
                                           TensorKind::weights,
                                           b.layouts.state.weight_dtype,
                                           Layout(b.layouts.mesh.digits().size()),
                                           Bytes{largest}));
        }
    }
}

std::int64_t OffloadedWeights::bytes_of(std::size_t unit) const {
    std::int64_t bytes = 0;
    for (const Parameter* p : units_[unit]) {
        bytes += b_.ops.tables().program().tensors[index(p->stored)].bytes.count();
    }
    return bytes;
}

void OffloadedWeights::read(std::size_t end) {
    for (; !buffers_.empty() && read_ < std::min(end, units_.size()); ++read_) {
        std::vector<TensorId> stored;
        for (const Parameter* p : units_[read_]) {
            stored.push_back(p->stored);
        }
        if (!stored.empty()) {
            emit_copy(b_.ops,
                      "weights from drives",
                      {MemoryTier::nvme, MemoryTier::dram, Bytes{bytes_of(read_)}},
                      Traffic::drive_read,
                      std::move(stored),
                      {buffers_[read_ % buffers_.size()]});
        }
    }
}

void OffloadedWeights::fetch(std::size_t end, std::uint32_t after) {
    for (; fetched_ < std::min(end, units_.size()); ++fetched_) {
        read(fetched_ + 1);
        std::vector<TensorId> from;
        std::vector<TensorId> parts;
        for (const Parameter* p : units_[fetched_]) {
            from.push_back(p->stored);
            TensorId part = p->weight;
            if (state_of(b_.layouts, *p).by_unit()) {
                Tensor on_device = b_.ops.tables().program().tensors[index(p->stored)];
                on_device.name = p->name + " fetched";
                on_device.parameter.clear();
                on_device.kind = TensorKind::communication;
                on_device.lifetime = Lifetime::slot;
                on_device.tier = MemoryTier::hbm;
                part = b_.ops.tables().tensor(std::move(on_device));
            }
            parts_[p] = part;
            parts.push_back(part);
        }
        if (parts.empty()) {
            continue;
        }
        if (!buffers_.empty()) {
            from = {buffers_[fetched_ % buffers_.size()]};
        }
        if (after != kNone) {
            b_.ops.next_waits_for(after);
        }
        emit_copy(b_.ops,
                  "weights from host",
                  {MemoryTier::dram, MemoryTier::hbm, Bytes{bytes_of(fetched_)}},
                  Traffic::fetch,
                  std::move(from),
                  std::move(parts));
    }
}

TensorId OffloadedWeights::part(const Parameter& p) const {
    const auto fetched = parts_.find(&p);
    return fetched == parts_.end() ? p.stored : fetched->second;
}

OffloadedGradients::OffloadedGradients(BlockBuilder& b, std::int64_t most_elements) : b_(b) {
    const StateLayouts& state = b.layouts.state;
    for (std::size_t i = 0; state.gradients_tier == MemoryTier::nvme && i < buffers_.size(); ++i) {
        buffers_[i] =
            b.ops.tables().host_tensor(fmt::format("gradients in host memory {}", i),
                                       TensorKind::gradients,
                                       state.gradient_dtype,
                                       Layout(b.layouts.mesh.digits().size()),
                                       Bytes{most_elements * size_bytes(state.gradient_dtype)});
    }
}

TensorId OffloadedGradients::sum(const std::vector<Parameter*>& parameters, std::int64_t elements) {
    const Dtype dtype = b_.layouts.state.gradient_dtype;
    const Bytes bytes{elements * size_bytes(dtype)};
    const TensorId sum = b_.ops.tables().tensor({.name = "gradient sum",
                                                 .parameter = {},
                                                 .dtype = dtype,
                                                 .kind = TensorKind::gradients,
                                                 .lifetime = Lifetime::slot,
                                                 .global_shape = {},
                                                 .layout = Layout(b_.layouts.mesh.digits().size()),
                                                 .bytes = bytes});
    if (b_.plan.num_micro_batches() == 1) {
        return sum;
    }
    std::vector<TensorId> from = shards_of(parameters);
    if (b_.layouts.state.gradients_tier == MemoryTier::nvme) {
        const TensorId buffer = buffers_[turn_ % buffers_.size()];
        emit_copy(b_.ops,
                  "gradients from drives",
                  {MemoryTier::nvme, MemoryTier::dram, bytes},
                  Traffic::drive_read,
                  std::move(from),
                  {buffer});
        from = {buffer};
    }
    emit_copy(b_.ops,
              "gradients from host",
              {MemoryTier::dram, MemoryTier::hbm, bytes},
              Traffic::fetch,
              std::move(from),
              {sum});
    return sum;
}

void OffloadedGradients::store(const std::vector<Parameter*>& parameters,
                               TensorId sum,
                               std::int64_t elements) {
    const Dtype dtype = b_.layouts.state.gradient_dtype;
    const Bytes bytes{elements * size_bytes(dtype)};
    // DeepSpeed computes the norm of the gradients before it copies them (stage3.py and
    // stage_1_and_2.py, set_norm_for_param_grad_in_gpu).
    b_.ops.kernel(gradient_norm(elements, dtype),
                  {.name = "gradient norm of unit",
                   .cause = Cause::optimizer,
                   .reads = {sum},
                   .writes = {},
                   .accumulates = {}});
    std::vector<TensorId> to = shards_of(parameters);
    if (b_.layouts.state.gradients_tier == MemoryTier::dram) {
        emit_copy(b_.ops,
                  "gradients to host",
                  {MemoryTier::hbm, MemoryTier::dram, bytes},
                  Traffic::store,
                  {sum},
                  std::move(to));
        return;
    }
    const TensorId buffer = buffers_[turn_++ % buffers_.size()];
    emit_copy(b_.ops,
              "gradients to host",
              {MemoryTier::hbm, MemoryTier::dram, bytes},
              Traffic::store,
              {sum},
              {buffer});
    emit_copy(b_.ops,
              "gradients to drives",
              {MemoryTier::dram, MemoryTier::nvme, bytes},
              Traffic::drive_write,
              {buffer},
              std::move(to));
}

}  // namespace orrery
