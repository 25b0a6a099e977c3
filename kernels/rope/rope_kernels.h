// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding in the list of kernels (kernels/kernel_list.h): accumulates qkv. A
// transposed operand means the backward pass.
#pragma once

#include "kernels/kernel_descriptor.h"
#include "kernels/rope/rope.h"
#include "kernels/rope/rope_cuda.h"

namespace orrery::kernel {

struct Rope {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        // The packed tensor also has value heads, as many as key heads. Half of the turned heads
        // count as key heads, or one if their number is odd.
        const std::int64_t turned = call.dims[1];
        const std::int64_t keys = turned % 2 == 0 ? turned / 2 : 1;
        forms.add(
            Access::accumulate, call.dtype, {call.dims[0], 1, (turned + keys) * call.dims[2]});
        return true;
    }
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        const std::int64_t heads = call.dims[0] * call.dims[1] * call.dims[2];
        const bool fits = sizes.accumulates.size() == 1 && sizes.accumulates[0] > heads;
        return fits ? "" : "does not turn one tensor of query, key and value heads";
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::rope,
        .num_dims = 3,
        .call =
            [](const KernelCall& key) {
                return rope(key.dims[0], key.dims[1], key.dims[2], key.dtype);
            },
        .operands = operands,
        .why_not = why_not};

    static std::string why_not_on_cuda(const KernelCall& call) {
        return call.dims[2] <= device::kRopeHeadMax && call.dims[2] % 2 == 0
                   ? ""
                   : "rope on a GPU takes even head sizes up to 256";
    }
};

}  // namespace orrery::kernel
