// SPDX-License-Identifier: Apache-2.0
#include "kernels/expert_rows/expert_rows_cpu.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/program/device_scalars.h"
#include "kernels/expert_rows/expert_rows_kernels.h"
#include "kernels/vector_math.h"

namespace orrery::cpu {
namespace {

std::span<std::int32_t> int32s(TensorView tensor) {
    ORRERY_CHECK(tensor.dtype == Dtype::int32);
    return {reinterpret_cast<std::int32_t*>(tensor.data), static_cast<std::size_t>(tensor.size)};
}

// The row of each (token, choice); -1 if the token was dropped.
std::vector<std::int64_t> rows_of(const ExpertRows& shape, ConstTensorView chosen) {
    const std::span<const std::int32_t> experts = ids(chosen);
    ORRERY_CHECK(static_cast<std::int64_t>(experts.size()) == shape.tokens * shape.k);
    std::vector<std::int64_t> next(static_cast<std::size_t>(shape.experts) + 1, 0);
    for (const std::int32_t expert : experts) {
        ORRERY_CHECK(expert >= -1 && expert < shape.experts);
        next[static_cast<std::size_t>(expert + 1)] += 1;
    }
    next[0] = 0;
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<std::int64_t> rows;
    rows.reserve(experts.size());
    for (const std::int32_t expert : experts) {
        rows.push_back(expert < 0 ? -1 : next[static_cast<std::size_t>(expert)]++);
    }
    return rows;
}

// Drops the tokens that one expert does not accept from its `places`.
void drop(std::vector<std::size_t>& places,
          std::int64_t capacity,
          std::span<const float> weights,
          std::span<std::int32_t> kept) {
    if (std::ssize(places) <= capacity) {
        return;
    }
    std::ranges::stable_sort(
        places, std::ranges::greater{}, [&](std::size_t place) { return weights[place]; });
    for (auto i = static_cast<std::size_t>(capacity); i < places.size(); ++i) {
        kept[places[i]] = -1;
    }
}

}  // namespace

void expert_counts(const ExpertCountsShape& shape,
                   ConstTensorView chosen,
                   ConstTensorView weights,
                   TensorView counts,
                   TensorView kept,
                   TensorView load) {
    const std::span<const std::int32_t> experts = ids(chosen);
    const std::span<std::int32_t> out = int32s(counts);
    ORRERY_CHECK(static_cast<std::int64_t>(experts.size()) == shape.tokens * shape.k &&
                 static_cast<std::int64_t>(out.size()) == shape.experts);
    std::vector<std::vector<std::size_t>> places(out.size());
    for (std::size_t i = 0; i < experts.size(); ++i) {
        ORRERY_CHECK(experts[i] >= 0 && experts[i] < shape.experts);
        places[static_cast<std::size_t>(experts[i])].push_back(i);
    }
    if (shape.capacity > 0) {
        std::ranges::copy(experts, int32s(kept).begin());
    }
    const auto add = [&](std::size_t place, std::size_t tokens) {
        if (!load.empty()) {
            floats(load)[place] += static_cast<float>(tokens);
        }
    };
    for (std::size_t e = 0; e < out.size(); ++e) {
        std::size_t taken = places[e].size();
        add(e, taken);
        if (shape.capacity > 0) {
            drop(places[e], shape.capacity, floats(weights), int32s(kept));
            taken = std::min(taken, static_cast<std::size_t>(shape.capacity));
        }
        add(out.size() + e, taken);
        out[e] = static_cast<std::int32_t>(taken);
    }
}

void permute(const ExpertRows& shape,
             ConstTensorView x,
             ConstTensorView weights,
             ConstTensorView chosen,
             TensorView rows,
             TensorView row_weights) {
    ORRERY_CHECK(x.dtype == rows.dtype && x.size == shape.tokens * shape.width &&
                 rows.size >= x.size * shape.k);
    const std::vector<std::int64_t> places = rows_of(shape, chosen);
    const std::int64_t bytes = shape.width * size_bytes(x.dtype);
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto choice = static_cast<std::int64_t>(i);
        if (places[i] < 0) {
            continue;
        }
        std::memcpy(rows.data + places[i] * bytes,
                    x.data + choice / shape.k * bytes,
                    static_cast<std::size_t>(bytes));
        if (!weights.empty()) {
            store(row_weights, places[i], orrery::load(weights, choice));
        }
    }
}

void unpermute(const ExpertRows& shape,
               ConstTensorView rows,
               ConstTensorView row_weights,
               ConstTensorView chosen,
               TensorView y,
               TensorView weights) {
    ORRERY_CHECK(y.size == shape.tokens * shape.width && rows.size >= y.size * shape.k);
    const std::vector<std::int64_t> places = rows_of(shape, chosen);
    std::vector<float> sum(static_cast<std::size_t>(shape.width));
    std::vector<float> row(sum.size());
    for (std::int64_t t = 0; t < shape.tokens; ++t) {
        std::ranges::fill(sum, 0.0f);
        for (std::int64_t j = 0; j < shape.k; ++j) {
            const std::int64_t place = places[static_cast<std::size_t>(t * shape.k + j)];
            if (place >= 0) {
                load_row(rows, place * shape.width, row);
                add_to(sum, row);
            }
            if (!weights.empty()) {
                store(
                    weights, t * shape.k + j, place < 0 ? 0.0f : orrery::load(row_weights, place));
            }
        }
        store_row(y, t * shape.width, sum);
    }
}

void expert_bias(std::int64_t experts, float rate, ConstTensorView load, TensorView bias) {
    const auto tokens = floats(load).first(static_cast<std::size_t>(experts));
    // Loads are whole numbers, so that their sum is exact.
    const double sum = std::accumulate(tokens.begin(), tokens.end(), 0.0);
    for (std::size_t e = 0; e < tokens.size(); ++e) {
        const double above = static_cast<double>(tokens[e]) * static_cast<double>(experts) - sum;
        floats(bias)[e] += above < 0 ? rate : above > 0 ? -rate : 0.0f;
    }
}

}  // namespace orrery::cpu

namespace orrery::kernel {

void ExpertCounts::run(const KernelArguments& op) {
    const auto& [tokens, experts, k, capacity, x, y] = op.call.dims;
    const bool drops = capacity > 0;
    cpu::expert_counts({.tokens = tokens, .experts = experts, .k = k, .capacity = capacity},
                       op.reads[0].view,
                       drops ? op.reads[1].view : TensorView{},
                       op.writes[0].view,
                       drops ? op.writes[1].view : TensorView{},
                       op.accumulates.empty() ? TensorView{} : op.accumulates[0].view);
}

void Permute::run(const KernelArguments& op) {
    const ExpertRows shape = expert_rows(op.call);
    cpu::permute(shape,
                 op.reads[0].view,
                 shape.weights ? op.reads[1].view : TensorView{},
                 op.reads.back().view,
                 op.writes[0].view,
                 shape.weights ? op.writes[1].view : TensorView{});
}

void Unpermute::run(const KernelArguments& op) {
    const ExpertRows shape = expert_rows(op.call);
    cpu::unpermute(shape,
                   op.reads[0].view,
                   shape.weights ? op.reads[1].view : TensorView{},
                   op.reads.back().view,
                   op.writes[0].view,
                   shape.weights ? op.writes[1].view : TensorView{});
}

void ExpertBias::run(const KernelArguments& op) {
    cpu::expert_bias(op.call.dims[0],
                     load(op.reads[1].view, static_cast<std::int64_t>(DeviceScalar::bias_update)),
                     op.reads[0].view,
                     op.accumulates[0].view);
}

}  // namespace orrery::kernel
