// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm_operands.h"

#include <vector>

#include "kernels/vector_math.h"

namespace orrery::cpu {

void load_norm_input(const NormForward& operands, std::int64_t first, std::span<float> row) {
    load_row(operands.x, first, row);
    if (operands.residual.empty()) {
        return;
    }
    std::vector<float> residual(row.size());
    load_row(operands.residual, first, residual);
    add_to(row, residual);
    store_row(operands.sum, first, row);
    load_row(operands.sum, first, row);  // the sum as rounded in memory
}

void add_norm_gradient(const NormBackward& operands, std::span<const float> gradient) {
    std::vector<float> total(gradient.size());
    load_row(operands.dweight, 0, total);
    add_to(total, gradient);
    store_row(operands.dweight, 0, total);
}

}  // namespace orrery::cpu
