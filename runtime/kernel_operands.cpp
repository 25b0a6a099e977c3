// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_operands.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "kernels/catalogue.h"
#include "runtime/bound_op.h"
#include "runtime/operand_lists.h"

namespace orrery {
namespace {

bool is_product(const KernelCall& call) {
    return descriptor_of(call.kind).efficiency == EfficiencyClass::product;
}

OperandSizes sizes_of_op(const Program& program, const Op& op) {
    OperandSizes sizes;
    add_operands(program, op, sizes, [&](const Operand& operand) {
        const Tensor& tensor = program.tensors[index(operand.tensor)];
        sizes.in_parts = sizes.in_parts || operand.part >= 0;
        return tensor.bytes.count() / size_bytes(tensor.dtype) / operand.pieces;
    });
    return sizes;
}

// A product of all heads: an operand that is not a column part of packed Q, K and V has the
// product's size.
std::string check_head_product(const Program& program, const Op& op) {
    const KernelCall& call = program.kernel(op);
    const auto [m, n, k, batch] =
        std::array{call.dims[0], call.dims[1], call.dims[2], call.dims[3]};
    const std::vector<std::int64_t> expected{m * k * batch, k * n * batch, m * n * batch};
    if (op.num_operands != expected.size()) {
        return fmt::format("{} operands, not {}", op.num_operands, expected.size());
    }
    for (std::uint32_t i = 0; i < op.num_operands; ++i) {
        const Operand& operand = program.operands[op.first_operand + i];
        const Tensor& tensor = program.tensors[index(operand.tensor)];
        const std::int64_t elements = tensor.bytes.count() / size_bytes(tensor.dtype);
        const bool packed = operand.part >= 0 && tensor.column_parts.size() == 3;
        if (packed ? elements < expected[i] : elements != expected[i]) {
            return fmt::format("operand {} has {} elements, not {}", i, elements, expected[i]);
        }
    }
    return {};
}

// Products accept pieces of rows if the other operand with these rows has the same pieces.
std::string check_pieces(const Program& program, RankId rank, const Op& op) {
    for (std::uint32_t i = 0; i < op.num_operands; ++i) {
        const Operand& operand = program.operands[op.first_operand + i];
        if (operand.pieces == 1) {
            continue;
        }
        if (!is_product(program.kernel(op))) {
            return "takes whole tensors only";
        }
        const Operand& rows = program.operands[op.first_operand];
        const auto blocks_of = [&](const Operand& o) {
            return program.tensors[index(o.tensor)].sequence_blocks;
        };
        if (operand.piece != rows.piece || operand.pieces != rows.pieces ||
            blocks_of(operand) != blocks_of(rows)) {
            return "takes different pieces of what it reads and writes";
        }
        if (std::string why = why_not_in_pieces(program, rank, operand); !why.empty()) {
            return why;
        }
    }
    return {};
}

}  // namespace

std::string check_kernel_operands(const Program& program, RankId rank, const Op& op) {
    const KernelCall& call = program.kernel(op);
    if (std::string wrong = check_pieces(program, rank, op); !wrong.empty()) {
        return wrong;
    }
    const OperandSizes sizes = sizes_of_op(program, op);
    if (sizes.in_parts && is_product(call)) {
        return check_head_product(program, op);
    }
    const KernelDescriptor& kernel = descriptor_of(call.kind);
    if (kernel.why_not != nullptr) {
        return kernel.why_not(call, sizes);
    }
    OperandForms forms{call};
    return kernel.operands != nullptr && kernel.operands(forms, call)
               ? compare(sizes, sizes_of(forms))
               : std::string{};
}

}  // namespace orrery
