// SPDX-License-Identifier: Apache-2.0
// Shapes of kernels from a kernel op and its operands, the same for every device.
#pragma once

#include <cmath>

#include "kernels/activation/activation_kernels.h"
#include "kernels/cross_entropy/cross_entropy_cpu.h"
#include "kernels/embedding/embedding_cpu.h"
#include "kernels/rope/rope_cpu.h"
#include "kernels/softmax/softmax_cpu.h"
#include "models/plan/layout.h"
#include "runtime/bound_op.h"
#include "runtime/state/redistribute.h"

namespace orrery {

inline cpu::SoftmaxArguments softmax_arguments(const SoftmaxShape& shape) {
    return {.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim)), .window = shape.window};
}

inline cpu::RopeShape rope_shape(const BoundOp& op, const BoundOperand& qkv) {
    const LocalShape local = op.shape_of(qkv);
    const std::int64_t head_dim = op.call.dims[2];
    const std::int64_t turned = op.call.dims[1];  // query and key heads
    const std::int64_t kv_heads = local.width / head_dim - turned;
    return {.sequence = local.positions,
            .batch = local.batch,
            .heads = turned - kv_heads,
            .kv_heads = kv_heads,
            .head_dim = head_dim};
}

inline cpu::PositionShape position_shape(const BoundOp& op, const BoundOperand& activation) {
    const LocalShape local = op.shape_of(activation);
    return {.sequence = local.positions, .batch = local.batch, .hidden = op.call.dims[1]};
}

// The first index of dimension `dim` that this rank has.
inline std::int64_t first_of(const BoundOp& op, const BoundOperand& operand, int dim) {
    const Tensor& tensor = *operand.tensor;
    return local_range(tensor.global_shape[static_cast<std::size_t>(dim)],
                       dim,
                       tensor.layout,
                       op.program.mesh_of(op.rank),
                       op.rank)
        .first;
}

inline cpu::EmbeddingShape embedding_shape(const BoundOp& op, const BoundOperand& table) {
    return {.tokens = op.call.dims[0],
            .hidden = op.call.dims[1],
            .rows = op.call.dims[2],
            .first_row = first_of(op, table, kInput)};
}

inline cpu::CrossEntropyShape cross_entropy_shape(const BoundOp& op, const BoundOperand& logits) {
    return {.tokens = op.call.dims[0],
            .vocab = op.call.dims[1],
            .first_column = first_of(op, logits, kWidth)};
}

inline cpu::LossStatistics loss_statistics(const std::vector<BoundOperand>& operands,
                                           std::size_t first) {
    return {.maximum = operands[first].view,
            .sum_exp = operands[first + 1].view,
            .target_logit = operands[first + 2].view};
}

// The logits of the unfused loss in fp32, or an empty view.
inline TensorView widened_logits(const std::vector<BoundOperand>& operands, std::size_t place) {
    return operands.size() > place ? operands[place].view : TensorView{};
}

// Whether a weight is a norm or a bias, which have no weight decay (as in Megatron-LM).
inline bool is_vector(const Tensor& weight) {
    return weight.global_shape.size() < 2 ||
           (weight.global_shape.size() == 2 && weight.global_shape.front() == 1);
}

}  // namespace orrery
