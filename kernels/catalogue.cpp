// SPDX-License-Identifier: Apache-2.0
#include "kernels/catalogue.h"

#include <algorithm>

namespace orrery {

namespace {

constexpr int kNumDtypes = 7;

// How many leading dimensions a kind uses; all of them must be positive.
std::size_t num_dims(KernelKind kind, std::uint8_t variant) {
    switch (kind) {
        case KernelKind::attention_forward:
        case KernelKind::attention_backward:
            return 6;
        case KernelKind::gemm:
        case KernelKind::softmax_forward:
        case KernelKind::softmax_backward:
            return 4;
        case KernelKind::rope:
        case KernelKind::embedding_forward:
        case KernelKind::embedding_backward:
            return 3;
        case KernelKind::gradient_accumulate:
        case KernelKind::gradient_norm:
        case KernelKind::gradient_scale:
        case KernelKind::adamw:
        case KernelKind::lamb_update:
        case KernelKind::lamb:
            return 1;
        case KernelKind::cast:
            return variant >= 8 ? 2 : 1;
        default:
            return 2;
    }
}

KernelCall rebuild_matrix(const KernelCall& key) {
    const auto& d = key.dims;
    const SoftmaxShape softmax{.batch = d[0],
                               .heads = d[1],
                               .seq_q = d[2],
                               .seq_kv = d[3],
                               .causal = key.variant % 2 == 1,
                               .dropout = key.variant / 2 % 2 == 1,
                               .head_dim = d[4],
                               .window = d[5],
                               .unfused_steps = key.variant / 4 == 1};
    switch (key.kind) {
        case KernelKind::gemm:
            return gemm(d[0], d[1], d[2], d[3], key.dtype, gemm_epilogue(key), gemm_output(key));
        case KernelKind::attention_forward:
            return attention_forward(attention_shape(key), key.dtype);
        case KernelKind::attention_backward:
            return attention_backward(attention_shape(key), key.dtype);
        case KernelKind::softmax_forward:
            return softmax_forward(softmax, key.dtype);
        default:
            return softmax_backward(softmax, key.dtype);
    }
}

KernelCall rebuild_step(const KernelCall& key) {
    const std::int64_t n = key.dims[0];
    const auto other = static_cast<Dtype>(key.variant % 8);
    const MasterCopy master = has_master(key) ? MasterCopy::fp32 : MasterCopy::none;
    switch (key.kind) {
        case KernelKind::gradient_accumulate:
            return gradient_accumulate(n, key.dtype, other);
        case KernelKind::gradient_norm:
            return gradient_norm(n, key.dtype);
        case KernelKind::gradient_scale:
            return gradient_scale(n, key.dtype);
        case KernelKind::adamw:
            return adamw(n, key.dtype, other, master);
        case KernelKind::lamb_update:
            return lamb_update(n, key.dtype, other, master);
        case KernelKind::lamb:
            return lamb(n, key.dtype, other, master);
        case KernelKind::cast:
            return key.variant >= 8 ? cast_transpose(n, key.dims[1], key.dtype, other)
                                    : cast(n, key.dtype, other);
        default:
            return transpose(n, key.dims[1], key.dtype);
    }
}

KernelCall rebuild_layer(const KernelCall& key) {
    const auto& d = key.dims;
    const Dtype dtype = key.dtype;
    const bool flag = key.variant == 1;
    switch (key.kind) {
        case KernelKind::layernorm_forward:
            return layernorm_forward(d[0], d[1], dtype, flag);
        case KernelKind::layernorm_backward:
            return layernorm_backward(d[0], d[1], dtype, flag);
        case KernelKind::rmsnorm_forward:
            return rmsnorm_forward(d[0], d[1], dtype, flag);
        case KernelKind::rmsnorm_backward:
            return rmsnorm_backward(d[0], d[1], dtype, flag);
        case KernelKind::rope:
            return rope(d[0], d[1], d[2], dtype);
        case KernelKind::gelu_forward:
            return gelu_forward(d[0], d[1], dtype, flag);
        case KernelKind::gelu_backward:
            return gelu_backward(d[0], d[1], dtype, flag);
        case KernelKind::swiglu_forward:
            return swiglu_forward(d[0], d[1], dtype, flag);
        case KernelKind::swiglu_backward:
            return swiglu_backward(d[0], d[1], dtype, flag);
        case KernelKind::residual_add:
            return flag ? bias_dropout_add(d[0], d[1], dtype) : residual_add(d[0], d[1], dtype);
        case KernelKind::dropout:
            return dropout(d[0], d[1], dtype);
        case KernelKind::bias_gradient:
            return bias_gradient(d[0], d[1], dtype);
        case KernelKind::embedding_forward:
            return embedding_forward(d[0], d[1], d[2], dtype);
        case KernelKind::embedding_backward:
            return embedding_backward(d[0], d[1], d[2], dtype);
        case KernelKind::cross_entropy_forward:
            return key.variant == 2 ? loss_metric(d[0], d[1], dtype)
                                    : cross_entropy_forward(d[0], d[1], dtype, flag);
        default:
            return cross_entropy_backward(d[0], d[1], dtype, flag);
    }
}

KernelCall rebuild(const KernelCall& key) {
    switch (key.kind) {
        case KernelKind::gemm:
        case KernelKind::attention_forward:
        case KernelKind::attention_backward:
        case KernelKind::softmax_forward:
        case KernelKind::softmax_backward:
            return rebuild_matrix(key);
        case KernelKind::gradient_accumulate:
        case KernelKind::gradient_norm:
        case KernelKind::gradient_scale:
        case KernelKind::adamw:
        case KernelKind::lamb_update:
        case KernelKind::lamb:
        case KernelKind::cast:
        case KernelKind::transpose:
            return rebuild_step(key);
        default:
            return rebuild_layer(key);
    }
}

}  // namespace

std::optional<KernelCall> call_from_key(KernelKind kind,
                                        Dtype dtype,
                                        std::uint8_t variant,
                                        const std::array<std::int64_t, 6>& dims) {
    constexpr std::int64_t kMaxDimension = std::int64_t{1} << 40;
    const std::size_t used = num_dims(kind, variant);
    const bool softmax =
        kind == KernelKind::softmax_forward || kind == KernelKind::softmax_backward;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        const bool optional = softmax && i >= used;  // head size and window
        if (optional && dims[i] >= 0 && dims[i] <= kMaxDimension) {
            continue;
        }
        if (i < used ? dims[i] <= 0 || dims[i] > kMaxDimension : dims[i] != 0) {
            return std::nullopt;
        }
    }
    const KernelCall key{.kind = kind, .dtype = dtype, .variant = variant, .dims = dims};
    if (kind == KernelKind::gemm &&
        (gemm_epilogue(key) > GemmEpilogue::accumulate_fp32 || variant / 8 >= kNumDtypes)) {
        return std::nullopt;
    }
    if (kind == KernelKind::attention_forward || kind == KernelKind::attention_backward) {
        if (variant % 8 > static_cast<int>(AttentionGeneration::flash_3_or_cudnn) ||
            attention_shape(key).head_dim == 0) {
            return std::nullopt;
        }
    }
    if (variant % 8 >= kNumDtypes) {
        return std::nullopt;
    }
    // A variant that the descriptor does not know comes back as another one.
    const KernelCall call = rebuild(key);
    if (call.kind != kind || call.variant != variant || call.dims != dims) {
        return std::nullopt;
    }
    return call;
}

std::optional<KernelKind> kernel_kind(std::string_view text) {
    for (std::size_t i = 0; i < kNumKernelKinds; ++i) {
        if (name(static_cast<KernelKind>(i)) == text) {
            return static_cast<KernelKind>(i);
        }
    }
    return std::nullopt;
}

std::optional<Dtype> dtype_named(std::string_view text) {
    for (int i = 0; i < kNumDtypes; ++i) {
        if (name(static_cast<Dtype>(i)) == text) {
            return static_cast<Dtype>(i);
        }
    }
    return std::nullopt;
}

}  // namespace orrery
