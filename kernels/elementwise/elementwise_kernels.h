// SPDX-License-Identifier: Apache-2.0
// Layout changes in the list of kernels (kernels/kernel_list.h).
//   transpose     reads qkv, writes block
//     of queries  reads qkv block, writes qkv
#pragma once

#include <algorithm>

#include "kernels/elementwise/elementwise.h"
#include "kernels/kernel_descriptor.h"

namespace orrery::kernel {

struct Transpose {
    // A packed tensor has more columns than the copied ones.
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        const std::int64_t written = call.dims[0] * call.dims[1];
        ExpectedSizes expected{.reads = {}, .writes = {written}, .accumulates = {}};
        const bool joins = sizes.reads.size() == 2;
        const std::int64_t block = joins ? std::min(sizes.reads[1], written) : 0;
        expected.reads = {sizes.reads.empty() ? 0 : std::max(sizes.reads[0], written - block)};
        if (joins) {
            expected.reads.push_back(block);
        }
        return compare(sizes, expected);
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::transpose,
        .call =
            [](const KernelCall& key) { return transpose(key.dims[0], key.dims[1], key.dtype); },
        .why_not = why_not};
};

}  // namespace orrery::kernel
