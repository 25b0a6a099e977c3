// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/activation_offload.h"

#include <cmath>

#include "models/segments/relayout.h"

namespace orrery {

bool input_is_offloaded(const ParallelPlan& plan, std::int64_t layer) {
    const double share = plan.activation_offload_fraction;
    const auto before = static_cast<double>(layer);
    return std::floor((before + 1) * share) > std::floor(before * share);
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
        b.ops.next_waits_for(b.ops.size() - 1);
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

}  // namespace orrery
