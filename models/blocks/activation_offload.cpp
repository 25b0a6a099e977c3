// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/activation_offload.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/elementwise/elementwise.h"
#include "kernels/residual/residual.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

// A copy to pageable memory that was allocated just before takes 1.4 GB/s, one to pinned memory
// 12.6 GB/s (pytorch pull request 138018, A100). The host adds the difference: the driver copies
// through a buffer of its own, and pages are populated meanwhile (DeepSpeed pull request 501).
constexpr double kPageableRate = 1.4e9;
constexpr double kPinnedRate = 12.6e9;

// What the host does for a copy to new pages. The next op waits for it.
void populate_pages(BlockBuilder& b, TensorId on_host, Bytes bytes) {
    const double seconds =
        static_cast<double>(bytes.count()) * (1 / kPageableRate - 1 / kPinnedRate);
    b.ops.host({.duration = Time::seconds(seconds)},
               {.name = "pages of the layer input",
                .stream = lane_of(Traffic::activation_offload).stream,
                .cause = lane_of(Traffic::activation_offload).cause,
                .reads = {},
                .writes = {},
                .accumulates = {on_host},
                .launches = 0});
    b.ops.next_waits_for(b.ops.size() - 1);
}

// The outputs of attention kernels in the segment so far.
std::vector<TensorId> outputs_of_attention(BlockBuilder& b) {
    const Program& program = b.ops.tables().program();
    std::vector<TensorId> outputs;
    for (const Op& op : b.ops.ops()) {
        if (op.kind() != OpKind::kernel ||
            program.kernel(op).kind != KernelKind::attention_forward) {
            continue;
        }
        for (std::uint32_t i = 0; i < op.num_operands; ++i) {
            const Operand& operand = program.operands[op.first_operand + i];
            if (operand.access != Access::read) {
                outputs.push_back(operand.tensor);
            }
        }
    }
    return outputs;
}

}  // namespace

bool input_is_offloaded(const ParallelPlan& plan, std::int64_t layer) {
    const double share = plan.activation_offload_fraction;
    const auto before = static_cast<double>(layer);
    return std::floor((before + 1) * share) > std::floor(before * share);
}

Value kept_of_input(BlockBuilder& b, const Value& input, bool stays) {
    if (b.layouts.saved == b.layouts.residual) {
        return input;
    }
    const Value part = b.value("layer input part",
                               input.shape[kWidth],
                               b.layouts.saved,
                               Lifetime::micro_batch,
                               input.dtype,
                               TensorKind::activations);
    b.kernel("layer input part",
             transpose(b.local_tokens(part), b.local_width(part), part.dtype),
             Cause::memory_bound_kernels,
             {&input},
             {&part});
    if (!stays) {
        b.ops.tables().program().tensors[index(input.tensor)].lifetime = Lifetime::slot;
    }
    return part;
}

TensorId copy_to_host(BlockBuilder& b, const Value& input, bool keeps_device_copy) {
    Tensor& on_device = b.ops.tables().program().tensors[index(input.tensor)];
    if (!keeps_device_copy) {
        on_device.lifetime = Lifetime::slot;
    }
    Tensor host = on_device;
    host.name = "layer input in host memory";
    host.lifetime = Lifetime::micro_batch;
    host.tier = MemoryTier::dram;
    const Bytes bytes = host.bytes;
    const TensorId on_host = b.ops.tables().tensor(std::move(host));
    emit_copy(b.ops,
              {.from = MemoryTier::hbm, .to = MemoryTier::dram, .bytes = bytes},
              {.name = "layer input to host", .reads = {input.tensor}, .writes = {on_host}},
              Traffic::activation_offload);
    if (b.plan.activation_offload_blocking) {
        populate_pages(b, on_host, bytes);
    }
    return on_host;
}

Value copy_from_host(BlockBuilder& b, const Value& input, TensorId on_host) {
    Value fetched = b.value("layer input",
                            input.shape[kWidth],
                            input.layout,
                            Lifetime::slot,
                            input.dtype,
                            TensorKind::activations);
    if (const auto computed = b.ops.last_on(kComputeStream)) {
        b.ops.next_waits_for(*computed);
    }
    const Bytes bytes = b.ops.tables().program().tensors[index(on_host)].bytes;
    emit_copy(b.ops,
              {.from = MemoryTier::dram, .to = MemoryTier::hbm, .bytes = bytes},
              {.name = "layer input from host", .reads = {on_host}, .writes = {fetched.tensor}},
              Traffic::activation_offload);
    return fetched;
}

LayerOnHost copy_layer_to_host(BlockBuilder& b, std::size_t first, const ResidualStream& stream) {
    std::vector<Tensor>& tensors = b.ops.tables().program().tensors;
    // The next layer adds what is pending to the residual. Without it, the next layer's backward
    // pass, which comes before the copy back, reads the residual itself.
    const bool added = !stream.pending.empty();
    const std::array stays{added ? stream.pending.tensor : stream.residual.tensor,
                           stream.mask.tensor};
    const std::vector<TensorId> of_attention = outputs_of_attention(b);
    const auto read_in_16_bits = [&](TensorId id) {
        return !b.ops.tables().saved_copies().contains(id) ||
               std::ranges::find(of_attention, id) != of_attention.end();
    };
    LayerOnHost layer;
    Bytes bytes;
    for (std::size_t i = first; i < tensors.size(); ++i) {
        Tensor& tensor = tensors[i];
        const auto id = to_id<TensorId>(i);
        if (tensor.kind == TensorKind::activations && tensor.lifetime == Lifetime::micro_batch &&
            tensor.tier == MemoryTier::hbm && std::ranges::find(stays, id) == stays.end() &&
            read_in_16_bits(id)) {
            tensor.lifetime = Lifetime::slot;
            bytes += tensor.bytes;
            layer.tensors.push_back(id);
        }
    }
    if (layer.tensors.empty()) {
        return layer;
    }
    layer.on_host = b.ops.tables().tensor({.name = "activations in host memory",
                                           .parameter = {},
                                           .dtype = Dtype::uint8,
                                           .kind = TensorKind::activations,
                                           .lifetime = Lifetime::micro_batch,
                                           .global_shape = {bytes.count()},
                                           .layout = Layout(b.layouts.mesh.digits().size()),
                                           .bytes = bytes,
                                           .tier = MemoryTier::dram});
    emit_copy(b.ops,
              {.from = MemoryTier::hbm, .to = MemoryTier::dram, .bytes = bytes},
              {.name = "activations to host", .reads = layer.tensors, .writes = {layer.on_host}},
              Traffic::activation_offload);
    return layer;
}

void copy_layer_from_host(BlockBuilder& b, const LayerOnHost& layer) {
    if (layer.tensors.empty()) {
        return;
    }
    std::vector<TensorId> fetched;
    for (const TensorId id : layer.tensors) {
        Tensor again = b.ops.tables().program().tensors[index(id)];
        fetched.push_back(b.ops.tables().tensor(std::move(again)));
    }
    if (const auto computed = b.ops.last_on(kComputeStream)) {
        b.ops.next_waits_for(*computed);
    }
    const Bytes bytes = b.ops.tables().program().tensors[index(layer.on_host)].bytes;
    emit_copy(b.ops,
              {.from = MemoryTier::dram, .to = MemoryTier::hbm, .bytes = bytes},
              {.name = "activations from host", .reads = {layer.on_host}, .writes = fetched},
              Traffic::activation_offload);
    for (std::size_t i = 0; i < fetched.size(); ++i) {
        b.ops.substitute(layer.tensors[i], fetched[i]);
    }
}

}  // namespace orrery
