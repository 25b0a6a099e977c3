// SPDX-License-Identifier: Apache-2.0
#include "models/serving/serving_kernels.h"

#include <vector>

#include "engine/base/check.h"
#include "kernels/activation/activation.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/gemm/grouped_gemm.h"
#include "kernels/rope/rope.h"

namespace orrery {

KernelCall served_product(const ServingPlan& plan,
                          std::int64_t rows,
                          std::int64_t columns,
                          std::int64_t depth) {
    if (plan.block_scaled) {
        return served_experts(plan, 1, rows, columns, depth);
    }
    return gemm(
        rows, columns, depth, 1, dtype_of(plan.precision), GemmEpilogue::none, kServedStream);
}

KernelCall served_experts(const ServingPlan& plan,
                          std::span<const std::int64_t> rows,
                          std::int64_t columns,
                          std::int64_t depth) {
    return grouped_gemm({.rows = rows,
                         .n = columns,
                         .k = depth,
                         .in = dtype_of(plan.precision),
                         .out = kServedStream,
                         .block_scaled = plan.block_scaled});
}

KernelCall served_experts(const ServingPlan& plan,
                          std::int64_t groups,
                          std::int64_t rows,
                          std::int64_t columns,
                          std::int64_t depth) {
    const std::vector<std::int64_t> equal(static_cast<std::size_t>(groups), rows);
    return served_experts(plan, equal, columns, depth);
}

void store_in_low_bits(const ServingPlan& plan,
                       std::int64_t weights,
                       std::int64_t inputs,
                       KernelCall& product) {
    const std::int64_t bits = size_bytes(product.dtype) * 8;
    product.bytes -= weights * (bits - plan.weight_bits) / 8;
    if (plan.precision == ProductPrecision::fp4) {
        product.bytes -= inputs * (bits - bits_of(plan.precision)) / 8;
    }
}

KernelCall quantise_operand(std::int64_t rows, std::int64_t columns, ProductPrecision precision) {
    KernelCall call = transpose(rows, columns, kServedStream);
    call.bytes = rows * columns * (size_bytes(kServedStream) * 8 + bits_of(precision)) / 8;
    return call;
}

KernelCall written_cache(std::int64_t tokens, std::int64_t width, Dtype stored) {
    KernelCall call = transpose(tokens, width, kServedStream);
    call.bytes = tokens * width * (size_bytes(kServedStream) + size_bytes(stored));
    return call;
}

KernelCall moved_rows(std::int64_t rows, std::int64_t other, std::int64_t width) {
    KernelCall call = transpose(rows, width, kServedStream);
    call.bytes = (rows + other) * width * size_bytes(kServedStream);
    return call;
}

KernelCall expert_order(std::int64_t rows) {
    constexpr std::int64_t kNumber = 2;  // a number of 32 bits, in elements of 16 bits
    return transpose(rows, kNumber, kServedStream);
}

KernelCall ordered_heads(std::int64_t heads, std::int64_t width) {
    return transpose(heads, width, kServedStream);
}

KernelCall served_rope(const Transformer& model,
                       std::int64_t tokens,
                       std::int64_t heads,
                       std::int64_t key_value_heads) {
    const bool latent = model.multi_latent_attention;
    return rope(tokens,
                heads + (latent ? 1 : key_value_heads),
                latent ? model.qk_pos_emb_head_dim : model.kv_channels,
                kServedStream);
}

KernelCall served_activation(const Transformer& model, std::int64_t rows, std::int64_t width) {
    const bool squared_relu = model.activation == Activation::squared_relu;
    const bool geglu = model.activation == Activation::geglu;
    return model.gated_mlp() ? swiglu_forward(rows, width, kServedStream, geglu)
                             : gelu_forward(rows, width, kServedStream, squared_relu);
}

AdapterKernels adapter_kernels(std::int64_t adapters,
                               std::int64_t rows,
                               std::int64_t columns,
                               std::int64_t depth,
                               std::int64_t rank) {
    ORRERY_CHECK(adapters > 0 && rank > 0);
    const std::int64_t of_each = (rows + adapters - 1) / adapters;
    AdapterKernels kernels{
        .in = grouped_gemm(adapters, of_each, rank, depth, kServedStream, kServedStream),
        .out = grouped_gemm(adapters, of_each, columns, rank, kServedStream, kServedStream)};
    kernels.out.bytes += adapters * of_each * columns * size_bytes(kServedStream);
    return kernels;
}

}  // namespace orrery
