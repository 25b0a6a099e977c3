// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_view.h"

namespace orrery {
namespace {

void check_row(ConstTensorView tensor, std::int64_t first, std::size_t count) {
    ORRERY_CHECK(tensor.dtype == Dtype::fp32 || tensor.dtype == Dtype::bf16);
    ORRERY_CHECK(first >= 0 && first + static_cast<std::int64_t>(count) <= tensor.size);
}

}  // namespace

void load_row(ConstTensorView tensor, std::int64_t first, std::span<float> into) {
    check_row(tensor, first, into.size());
    const ConstTensorView row = slice(tensor, first, static_cast<std::int64_t>(into.size()));
    if (row.dtype == Dtype::fp32) {
        std::memcpy(into.data(), row.data, into.size_bytes());
        return;
    }
    for (std::size_t i = 0; i < into.size(); ++i) {
        into[i] = float_of_bf16(bf16_at(row, static_cast<std::int64_t>(i)));
    }
}

void store_row(TensorView tensor, std::int64_t first, std::span<const float> from) {
    check_row(tensor, first, from.size());
    const TensorView row = slice(tensor, first, static_cast<std::int64_t>(from.size()));
    if (row.dtype == Dtype::fp32) {
        std::memcpy(row.data, from.data(), from.size_bytes());
        return;
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
        const std::uint16_t bits = bf16_of_float(from[i]);
        std::memcpy(row.data + 2 * i, &bits, 2);
    }
}

}  // namespace orrery
