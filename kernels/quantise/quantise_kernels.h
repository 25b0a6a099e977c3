// SPDX-License-Identifier: Apache-2.0
// Quantisation in blocks in the list of kernels (kernels/kernel_list.h).
//   quantise    reads x …, writes codes
//   requantise  reads codes, writes codes of the sum
//   dequantise  reads codes, writes or accumulates y …
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/kernel_arguments.h"
#include "kernels/kernel_descriptor.h"
#include "kernels/quantise/quantise.h"
#include "kernels/quantise/quantise_cuda.h"

namespace orrery::kernel {

inline PartOrder part_order(const KernelCall& call) {
    return {.inside = call.dims[3], .below = call.dims[4]};
}

inline bool takes_bits(const KernelCall& key) {
    return key.variant == 8 || key.variant == 4;
}

// The error if the parts do not fit the shards of these tensors, or empty.
inline std::string why_not_parts(const QuantisedVector& shape,
                                 const std::vector<std::int64_t>& tensors) {
    std::int64_t elements = 0;
    for (const std::int64_t size : tensors) {
        elements += (size + shape.parts - 1) / shape.parts;
    }
    return elements == shape.elements ? std::string{}
                                      : "shards have " + std::to_string(elements) +
                                            " elements, not " + std::to_string(shape.elements);
}

struct Quantise {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const QuantisedVector v = quantised_vector(call);
        forms.read({v.parts * v.elements});
        forms.add(Access::write, Dtype::uint8, {v.bytes()});
        return true;
    }
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        const QuantisedVector v = quantised_vector(call);
        if (sizes.writes != std::vector{v.bytes()} || !sizes.accumulates.empty()) {
            return "does not write one vector of codes";
        }
        return why_not_parts(v, sizes.reads);
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::quantise,
        .num_dims = 5,
        .takes = takes_bits,
        .call =
            [](const KernelCall& key) {
                return quantise(quantised_vector(key), part_order(key), key.dtype);
            },
        .operands = operands,
        .why_not = why_not};

    static void run(const KernelArguments& op);
    template <class Queue>
    static void launch(Queue& queue, const KernelArguments& op) {
        std::vector<ConstTensorView> x;
        for (const BoundOperand& operand : op.reads) {
            x.push_back(operand.view);
        }
        device::quantise(queue,
                         quantised_vector(op.call),
                         part_order(op.call),
                         std::span<const ConstTensorView>{x},
                         op.writes[0].view);
    }
};

struct Requantise {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const QuantisedVector v = quantised_vector(call);
        forms.add(Access::read, Dtype::uint8, {call.dims[3] * v.bytes()});
        forms.add(Access::write, Dtype::uint8, {v.bytes()});
        return true;
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::requantise,
        .num_dims = 4,
        .takes = takes_bits,
        .call =
            [](const KernelCall& key) { return requantise(quantised_vector(key), key.dims[3]); },
        .operands = operands};

    static void run(const KernelArguments& op);
    template <class Queue>
    static void launch(Queue& queue, const KernelArguments& op) {
        device::requantise(
            queue, quantised_vector(op.call), op.call.dims[3], op.reads[0].view, op.writes[0].view);
    }
};

struct Dequantise {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const QuantisedVector v = quantised_vector(call);
        forms.add(Access::read, Dtype::uint8, {call.dims[3] * v.bytes()});
        forms.write({v.parts * v.elements});
        return true;
    }
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        const QuantisedVector v = quantised_vector(call);
        if (sizes.reads != std::vector{call.dims[3] * v.bytes()} ||
            sizes.writes.empty() == sizes.accumulates.empty()) {
            return "does not read one vector of codes, and write or add to elements";
        }
        return why_not_parts(v, sizes.writes.empty() ? sizes.accumulates : sizes.writes);
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::dequantise,
        .num_dims = 4,
        .takes = takes_bits,
        .call =
            [](const KernelCall& key) {
                return dequantise(quantised_vector(key), key.dims[3], key.dtype);
            },
        .operands = operands,
        .why_not = why_not};

    static void run(const KernelArguments& op);
    template <class Queue>
    static void launch(Queue& queue, const KernelArguments& op) {
        const bool adds = op.writes.empty();
        std::vector<TensorView> y;
        for (const BoundOperand& operand : adds ? op.accumulates : op.writes) {
            y.push_back(operand.view);
        }
        device::dequantise(queue,
                           quantised_vector(op.call),
                           op.call.dims[3],
                           op.reads[0].view,
                           std::span<const TensorView>{y},
                           adds);
    }
};

}  // namespace orrery::kernel
