// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding/embedding_cpu.h"

#include <algorithm>
#include <vector>

#include "kernels/vector_math.h"

namespace orrery::cpu {
namespace {

// The sum of the fp32 row and a tensor's row, written to the tensor.
void add_row(TensorView tensor, std::int64_t first, std::span<const float> row) {
    std::vector<float> total(row.size());
    load_row(tensor, first, total);
    add_to(total, row);
    store_row(tensor, first, total);
}

}  // namespace

void embedding_forward(const EmbeddingShape& shape,
                       ConstTensorView token_ids,
                       ConstTensorView table,
                       TensorView output) {
    const std::span<const std::int32_t> tokens = ids(token_ids);
    std::vector<float> row(static_cast<std::size_t>(shape.hidden));
    for (std::int64_t i = 0; i < shape.tokens; ++i) {
        const std::int64_t local = tokens[static_cast<std::size_t>(i)] - shape.first_row;
        if (local >= 0 && local < shape.rows) {
            load_row(table, local * shape.hidden, row);
        } else {
            std::fill(row.begin(), row.end(), 0.0f);
        }
        store_row(output, i * shape.hidden, row);
    }
}

void embedding_backward(const EmbeddingShape& shape,
                        ConstTensorView token_ids,
                        ConstTensorView doutput,
                        TensorView dtable) {
    const std::span<const std::int32_t> tokens = ids(token_ids);
    // Tokens whose ids are in this rank's rows, ordered by row, then by token
    std::vector<std::int64_t> order;
    const auto local = [&](std::int64_t i) {
        return tokens[static_cast<std::size_t>(i)] - shape.first_row;
    };
    for (std::int64_t i = 0; i < shape.tokens; ++i) {
        if (local(i) >= 0 && local(i) < shape.rows) {
            order.push_back(i);
        }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return local(a) < local(b);
    });
    std::vector<float> row(static_cast<std::size_t>(shape.hidden));
    std::vector<float> bucket(row.size());
    for (std::size_t i = 0; i < order.size();) {
        const std::int64_t table_row = local(order[i]);
        std::fill(bucket.begin(), bucket.end(), 0.0f);
        for (; i < order.size() && local(order[i]) == table_row; ++i) {
            load_row(doutput, order[i] * shape.hidden, row);
            add_to(bucket, row);
        }
        add_row(dtable, table_row * shape.hidden, bucket);
    }
}

void position_forward(const PositionShape& shape, ConstTensorView table, TensorView x) {
    std::vector<float> row(static_cast<std::size_t>(shape.hidden));
    for (std::int64_t s = 0; s < shape.sequence.length; ++s) {
        load_row(table, shape.sequence.of(s) * shape.hidden, row);
        for (std::int64_t b = 0; b < shape.batch; ++b) {
            add_row(x, (s * shape.batch + b) * shape.hidden, row);
        }
    }
}

void position_backward(const PositionShape& shape, ConstTensorView dx, TensorView dtable) {
    std::vector<float> row(static_cast<std::size_t>(shape.hidden));
    std::vector<float> sums(row.size());
    for (std::int64_t s = 0; s < shape.sequence.length; ++s) {
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (std::int64_t b = 0; b < shape.batch; ++b) {
            load_row(dx, (s * shape.batch + b) * shape.hidden, row);
            add_to(sums, row);
        }
        add_row(dtable, shape.sequence.of(s) * shape.hidden, sums);
    }
}

}  // namespace orrery::cpu
