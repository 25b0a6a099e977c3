// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cast/cast.h"
#include "kernels/elementwise/elementwise.h"
#include "models/segments/block_builder.h"

namespace orrery {
namespace {

// PyTorch's linear layer takes the host of a DGX H100 13.5 us (TransformerEngine issue 2053), and a
// call some 90 us (host.call).
constexpr int kOperatorsOfCall = 7;

}  // namespace

// An operator that runs again takes what PyTorch takes. In a first run it counts as a call, because
// it stands for work of its layer that is not counted (docs/explanation/accuracy-experts.md).
std::uint8_t BlockBuilder::calls_of_operators(std::uint8_t operators) const {
    if (operators == 0 || !recomputing || !plan.ops_are_calls()) {
        return operators;
    }
    const int rounded = (operators + kOperatorsOfCall / 2) / kOperatorsOfCall;
    return static_cast<std::uint8_t>(std::max(rounded, 1));
}

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
                .launches = calls_of_operators(launches)});
}

void BlockBuilder::framework_ops(std::string_view name,
                                 const Value& x,
                                 std::int64_t bytes_of_element,
                                 std::uint8_t launches) {
    framework_ops(name, x.tensor, local_tokens(x) * local_width(x) * bytes_of_element, launches);
}

}  // namespace orrery
