// SPDX-License-Identifier: Apache-2.0
// Operations on the residual stream in the list of kernels (kernels/kernel_list.h).
//   residual_add           reads a b [bias …], writes sum
//     with dropout         reads a b [bias …] scalars, writes sum mask
//     of positions         reads table, accumulates x
//     of gradients         reads dblock …, accumulates dblock, dqkv
//     product with up      reads x (up), accumulates y, dx (gate)
//   dropout                reads scalars, writes mask, accumulates x
//     backward             reads dy mask scalars, writes dx
//   bias_gradient          reads dy, accumulates dbias, dtable
#pragma once

#include "engine/program/device_scalars.h"
#include "kernels/kernel_descriptor.h"
#include "kernels/residual/residual.h"

namespace orrery::kernel {

// Rows of width `width` in a table: one for a bias, the length of the sequence for positions.
inline std::int64_t rows_of(const std::vector<std::int64_t>& sizes, std::int64_t width) {
    return sizes.empty() || sizes.front() % width != 0 ? width : sizes.front();
}

struct ResidualAdd {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const std::vector<std::int64_t> x{call.dims[0], 1, call.dims[1]};
        forms.read(x);
        forms.read(x);
        forms.write(x);
        return call.variant == 0;
    }
    static ExpectedSizes expected(const KernelCall& call, const OperandSizes& sizes) {
        const std::int64_t width = call.dims[1];
        const std::int64_t x = call.dims[0] * width;
        if (call.variant == 1) {
            ExpectedSizes e{.reads = {x, x}, .writes = {x, x}, .accumulates = {}};
            for (std::size_t biases = 3; biases < sizes.reads.size(); ++biases) {
                e.reads.push_back(width);
            }
            e.reads.push_back(kNumDeviceScalars);
            return e;
        }
        if (sizes.in_parts) {  // the product with up of y, or of the gate's gradient
            const bool back = !sizes.accumulates.empty() && sizes.accumulates[0] > x;
            return {.reads = {2 * x}, .writes = {}, .accumulates = {back ? 2 * x : x}};
        }
        if (sizes.writes.empty() && !sizes.accumulates.empty() && sizes.accumulates[0] > x) {
            return {.reads = {x, x}, .writes = {}, .accumulates = {sizes.accumulates[0]}};
        }
        if (sizes.writes.empty()) {
            return {.reads = {rows_of(sizes.reads, width)}, .writes = {}, .accumulates = {x}};
        }
        return {
            .reads = {x, x}, .writes = {x}, .accumulates = {}, .optional_reads = {width, width}};
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::residual_add,
        .call =
            [](const KernelCall& key) {
                return key.variant == 1 ? bias_dropout_add(key.dims[0], key.dims[1], key.dtype)
                                        : residual_add(key.dims[0], key.dims[1], key.dtype);
            },
        .operands = operands,
        .why_not = [](const KernelCall& call,
                      const OperandSizes& sizes) { return compare(sizes, expected(call, sizes)); }};
};

struct Dropout {
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        const std::int64_t x = call.dims[0] * call.dims[1];
        return compare(
            sizes,
            sizes.accumulates.empty()
                ? ExpectedSizes{.reads = {x, x, kNumDeviceScalars},
                                .writes = {x},
                                .accumulates = {}}
                : ExpectedSizes{.reads = {kNumDeviceScalars}, .writes = {x}, .accumulates = {x}});
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::dropout,
        .call = [](const KernelCall& key) { return dropout(key.dims[0], key.dims[1], key.dtype); },
        .why_not = why_not};
};

struct BiasGradient {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        forms.read({call.dims[0], 1, call.dims[1]});
        forms.add(Access::accumulate, Dtype::fp32, {call.dims[1]});
        return true;
    }
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        return compare(sizes,
                       {.reads = {call.dims[0] * call.dims[1]},
                        .writes = {},
                        .accumulates = {rows_of(sizes.accumulates, call.dims[1])}});
    }
    static constexpr KernelDescriptor kDescriptor{.kind = KernelKind::bias_gradient,
                                                  .epilogue = ProductEpilogue::column_sums,
                                                  .call =
                                                      [](const KernelCall& key) {
                                                          return bias_gradient(
                                                              key.dims[0], key.dims[1], key.dtype);
                                                      },
                                                  .operands = operands,
                                                  .why_not = why_not};
};

}  // namespace orrery::kernel
