// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/rotary_lowering.h"

#include <string>

#include "kernels/cast/cast.h"
#include "kernels/rope/rope.h"

namespace orrery {
namespace {

constexpr auto kRotary = Cause::memory_bound_kernels;

// Q and K are separately copied to fp32, rotated there and copied back (plan.eager_rope).
void rotate_in_fp32(BlockBuilder& b,
                    const std::string& name,
                    const Value& qkv,
                    std::int64_t width,
                    const KernelCall& rotation) {
    const Value copy = b.value(
        name + " in fp32", width, qkv.layout, Lifetime::slot, Dtype::fp32, TensorKind::activations);
    const std::int64_t elements = b.local_tokens(copy) * b.local_width(copy);
    b.calls_of_kernels = 2;
    b.kernel(name + " in fp32", cast(elements, qkv.dtype, Dtype::fp32), kRotary, {&qkv}, {&copy});
    b.kernel(name, rotation, kRotary, {}, {}, {}, {copy.tensor});
    b.kernel(name + " back",
             cast(elements, Dtype::fp32, qkv.dtype),
             kRotary,
             {&copy},
             {},
             {},
             {qkv.tensor});
    b.calls_of_kernels = 1;
}

}  // namespace

void rotate(BlockBuilder& b, std::string_view name, const Value& qkv, bool back) {
    const Transformer& m = b.model;
    if (m.position_embedding != PositionEmbedding::rope || m.multi_latent_attention) {
        return;
    }
    const std::int64_t heads = b.local_extent(m.num_attention_heads, kWidth, qkv.layout) +
                               b.local_extent(b.key_value_heads(), kWidth, qkv.layout);
    const bool eager = b.plan.eager_rope && !b.plan.compiled;
    const KernelCall call =
        rope(b.local_tokens(qkv), heads, m.kv_channels, eager ? Dtype::fp32 : qkv.dtype);
    if (eager) {
        const std::int64_t width = (m.num_attention_heads + b.key_value_heads()) * m.kv_channels;
        return rotate_in_fp32(b, std::string{name}, qkv, width, call);
    }
    b.ops.kernel(call,
                 {.name = std::string{name},
                  .stream = kComputeStream,
                  .cause = b.recomputing ? Cause::recomputation : kRotary,
                  .reads = {},
                  .writes = {},
                  .accumulates = {qkv.tensor},
                  .transposed = back ? std::vector{qkv.tensor} : std::vector<TensorId>{}});
}

}  // namespace orrery
