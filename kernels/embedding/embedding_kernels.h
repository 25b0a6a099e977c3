// SPDX-License-Identifier: Apache-2.0
// Table look-up in the list of kernels (kernels/kernel_list.h).
//   embedding_forward   reads tokens table, writes rows
//   embedding_backward  reads tokens drows, accumulates dtable
#pragma once

#include "kernels/embedding/embedding.h"
#include "kernels/kernel_descriptor.h"

namespace orrery::kernel {

struct EmbeddingForward {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const auto [tokens, hidden, rows] = std::array{call.dims[0], call.dims[1], call.dims[2]};
        forms.ids({tokens, 1, 1}, rows);
        forms.read({rows, hidden});
        forms.write({tokens, 1, hidden});
        return true;
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::embedding_forward,
        .num_dims = 3,
        .call =
            [](const KernelCall& key) {
                return embedding_forward(key.dims[0], key.dims[1], key.dims[2], key.dtype);
            },
        .operands = operands};
};

struct EmbeddingBackward {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const auto [tokens, hidden, rows] = std::array{call.dims[0], call.dims[1], call.dims[2]};
        forms.ids({tokens, 1, 1}, rows);
        forms.read({tokens, 1, hidden});
        forms.add(Access::accumulate, Dtype::fp32, {rows, hidden});
        return true;
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::embedding_backward,
        .num_dims = 3,
        .call =
            [](const KernelCall& key) {
                return embedding_backward(key.dims[0], key.dims[1], key.dims[2], key.dtype);
            },
        .operands = operands};
};

}  // namespace orrery::kernel
