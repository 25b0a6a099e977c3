// SPDX-License-Identifier: Apache-2.0
#include "kernels/cast/cast.h"
#include "kernels/elementwise/elementwise.h"
#include "models/segments/block_builder.h"

namespace orrery {

std::int64_t BlockBuilder::cast_bytes_of(const Parameter& w) const {
    const std::int64_t elements = local_experts(w) * local_input(w) * local_output(w);
    return cast(elements, Dtype::fp32, activation_dtype()).bytes;
}

void BlockBuilder::framework_ops(std::string_view name,
                                 TensorId tensor,
                                 std::int64_t bytes,
                                 std::uint8_t launches) {
    const KernelCall row = transpose(1, 1, Dtype::bf16);
    ops.kernel(transpose(bytes / row.bytes, 1, Dtype::bf16),
               {.name = std::string{name},
                .stream = kComputeStream,
                .cause = recomputing ? Cause::recomputation : Cause::memory_bound_kernels,
                .reads = {tensor},
                .writes = {},
                .accumulates = {},
                .launches = launches});
}

void BlockBuilder::framework_ops(std::string_view name,
                                 const Value& x,
                                 std::int64_t bytes_of_element,
                                 std::uint8_t launches) {
    framework_ops(name, x.tensor, local_tokens(x) * local_width(x) * bytes_of_element, launches);
}

}  // namespace orrery
