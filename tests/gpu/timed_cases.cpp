// SPDX-License-Identifier: Apache-2.0
// Sizes of a step of GPT-2 (hidden 768, 16,384 tokens) and of Llama-3-8B (4096, 8,192 tokens);
// bytes and FLOP are those of the catalogue.
#include <fmt/format.h>

#include "engine/program/device_scalars.h"
#include "kernels/activation/activation.h"
#include "kernels/activation/activation_cuda.h"
#include "kernels/attention/attention_cuda.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/cross_entropy/cross_entropy_cuda.h"
#include "kernels/embedding/embedding.h"
#include "kernels/embedding/embedding_cuda.h"
#include "kernels/layernorm/layernorm.h"
#include "kernels/layernorm/layernorm_cuda.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/optimizer/optimizer_cuda.h"
#include "kernels/residual/residual.h"
#include "kernels/residual/residual_cuda.h"
#include "kernels/rmsnorm/rmsnorm.h"
#include "kernels/rmsnorm/rmsnorm_cuda.h"
#include "kernels/rope/rope.h"
#include "kernels/rope/rope_cuda.h"
#include "tests/gpu/kernel_case.h"

namespace orrery::gpu_check {
namespace {

using device::CudaQueue;
using numeric::Tensor;

KernelCase timed(std::string kernel, std::string shape, const KernelCall& call) {
    return {.kernel = std::move(kernel),
            .shape = std::move(shape),
            .dtype = call.dtype,
            .bytes = static_cast<double>(call.bytes)};
}

KernelCase attention_case(const AttentionShape& s,
                          bool backward,
                          device::TensorCores tensor_cores) {
    const KernelCall call =
        backward ? attention_backward(s, Dtype::bf16) : attention_forward(s, Dtype::bf16);
    KernelCase c = timed(backward ? "attention_backward" : "attention_forward",
                         fmt::format("b{} s{} h{}/{} d{} {}",
                                     s.batch,
                                     s.seq_q,
                                     s.heads,
                                     s.kv_heads,
                                     s.head_dim,
                                     s.causal ? "causal" : "full"),
                         call);
    c.flop = call.flop;
    c.tensor_cores = tensor_cores;
    c.beside_rows = tensor_cores != device::TensorCores::none;
    c.allowed = 1e-2;
    const std::int64_t tokens = s.batch * s.seq_q;
    const std::int64_t width = (s.heads + 2 * s.kv_heads) * s.head_dim;
    c.make_operands = [=] {
        std::vector<Tensor> all{repeated(tokens * width, Dtype::bf16),
                                repeated(tokens * s.heads * s.head_dim, Dtype::bf16),
                                repeated(tokens * s.heads, Dtype::fp32, 8.0f)};
        if (backward) {
            all.push_back(repeated(tokens * s.heads * s.head_dim, Dtype::bf16));
            all.emplace_back(tokens * width, Dtype::bf16);
        }
        return all;
    };
    if (!backward) {
        c.on_gpu = [s](CudaQueue& q, const Views& v) {
            device::attention_forward(q,
                                      s,
                                      cpu::whole_sequence(s),
                                      {.q = cpu::packed_query(s, v[0]),
                                       .k = cpu::packed_key(s, v[0]),
                                       .v = cpu::packed_value(s, v[0]),
                                       .output = v[1],
                                       .log_sum_exp = v[2]});
        };
        return c;
    }
    c.on_gpu = [s](CudaQueue& q, const Views& v) {
        device::attention_backward(q,
                                   s,
                                   cpu::whole_sequence(s),
                                   {.q = cpu::packed_query(s, v[0]),
                                    .k = cpu::packed_key(s, v[0]),
                                    .v = cpu::packed_value(s, v[0]),
                                    .output = v[1],
                                    .log_sum_exp = v[2],
                                    .doutput = v[3],
                                    .dq = cpu::packed_query(s, v[4]),
                                    .dk = cpu::packed_key(s, v[4]),
                                    .dv = cpu::packed_value(s, v[4])});
    };
    return c;
}

KernelCase norm_case(std::int64_t tokens, std::int64_t hidden, bool layernorm, bool backward) {
    const cpu::NormShape s{.tokens = tokens, .hidden = hidden};
    const KernelCall call = layernorm && backward
                                ? layernorm_backward(tokens, hidden, Dtype::bf16, true)
                            : layernorm ? layernorm_forward(tokens, hidden, Dtype::bf16, true)
                            : backward  ? rmsnorm_backward(tokens, hidden, Dtype::bf16, true)
                                        : rmsnorm_forward(tokens, hidden, Dtype::bf16, true);
    KernelCase c = timed(fmt::format("{}_{} + residual",
                                     layernorm ? "layernorm" : "rmsnorm",
                                     backward ? "backward" : "forward"),
                         fmt::format("{} x {}", tokens, hidden),
                         call);
    const std::int64_t weight = hidden * (layernorm ? 2 : 1);
    c.make_operands = [=] {
        std::vector<Tensor> all(4, repeated(tokens * hidden, Dtype::bf16));
        all.push_back(repeated(weight, Dtype::bf16));
        all.emplace_back(weight, Dtype::fp32);
        return all;
    };
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        const cpu::NormForward forward{
            .x = v[0], .residual = v[1], .weight = v[4], .sum = v[2], .y = v[3]};
        const cpu::NormBackward back{
            .dy = v[0], .x = v[1], .weight = v[4], .dresidual = v[2], .dx = v[3], .dweight = v[5]};
        if (layernorm) {
            backward ? device::layernorm_backward(q, s, back)
                     : device::layernorm_forward(q, s, forward, device::NormBiases{});
        } else {
            backward ? device::rmsnorm_backward(q, s, back)
                     : device::rmsnorm_forward(q, s, forward, device::NormBiases{});
        }
    };
    return c;
}

KernelCase activation_case(std::int64_t tokens, std::int64_t ffn, bool gated, bool backward) {
    const cpu::ActivationShape s{tokens, ffn};
    const KernelCall call = gated && backward ? swiglu_backward(tokens, ffn, Dtype::bf16)
                            : gated           ? swiglu_forward(tokens, ffn, Dtype::bf16)
                            : backward        ? gelu_backward(tokens, ffn, Dtype::bf16)
                                              : gelu_forward(tokens, ffn, Dtype::bf16);
    KernelCase c =
        timed(fmt::format("{}_{}", gated ? "swiglu" : "gelu", backward ? "backward" : "forward"),
              fmt::format("{} x {}", tokens, ffn),
              call);
    const std::int64_t x = tokens * ffn * (gated ? 2 : 1);
    c.make_operands = [=] {
        return std::vector<Tensor>{repeated(x, Dtype::bf16, 4.0f),
                                   repeated(tokens * ffn, Dtype::bf16),
                                   Tensor{x, Dtype::bf16}};
    };
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        const auto swiglu = cpu::Gated::swiglu;
        const auto gelu = cpu::Ungated::gelu;
        const TensorView out = backward ? v[2] : slice(v[2], 0, tokens * ffn);
        if (gated) {
            backward ? device::swiglu_backward(q, s, swiglu, v[1], v[0], {}, out)
                     : device::swiglu_forward(q, s, swiglu, v[0], {}, out);
        } else {
            backward ? device::gelu_backward(q, s, gelu, v[1], v[0], {}, out)
                     : device::gelu_forward(q, s, gelu, v[0], {}, out);
        }
    };
    return c;
}

KernelCase loss_case(std::int64_t tokens, std::int64_t vocab, bool backward) {
    const cpu::CrossEntropyShape s{.tokens = tokens, .vocab = vocab};
    KernelCase c = timed(backward ? "cross_entropy_backward" : "cross_entropy_forward",
                         fmt::format("{} x {}", tokens, vocab),
                         backward ? cross_entropy_backward(tokens, vocab, Dtype::bf16, true)
                                  : cross_entropy_forward(tokens, vocab, Dtype::bf16, true));
    c.make_operands = [=] {
        return std::vector<Tensor>{repeated(tokens * vocab, Dtype::bf16),
                                   Tensor{tokens, Dtype::int32},
                                   repeated(tokens, Dtype::fp32),
                                   repeated(tokens, Dtype::fp32),
                                   Tensor{tokens, Dtype::fp32},
                                   repeated(1, Dtype::fp32)};
    };
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        const cpu::LossStatistics statistics{v[2], v[3], v[4]};
        backward ? device::cross_entropy_backward(q, s, v[1], statistics, v[5], v[0])
                 : device::cross_entropy_local(q, s, v[0], v[1], statistics);
    };
    return c;
}

KernelCase embedding_case(std::int64_t tokens, std::int64_t hidden, bool backward) {
    constexpr std::int64_t kRows = 50'304;
    const cpu::EmbeddingShape s{.tokens = tokens, .hidden = hidden, .rows = kRows};
    KernelCase c = timed(backward ? "embedding_backward" : "embedding_forward",
                         fmt::format("{} x {}", tokens, hidden),
                         backward ? embedding_backward(tokens, hidden, kRows, Dtype::bf16)
                                  : embedding_forward(tokens, hidden, kRows, Dtype::bf16));
    // A fifth of the tokens are one id, as in text.
    c.make_operands = [=] {
        Tensor ids{tokens, Dtype::int32};
        numeric::Draw draw{1};
        std::vector<std::int32_t> drawn = draw.ids(tokens, 0, kRows - 1);
        for (std::size_t i = 0; i < drawn.size(); i += 5) {
            drawn[i] = 11;
        }
        std::memcpy(ids.view().data, drawn.data(), 4 * drawn.size());
        return std::vector<Tensor>{
            ids, repeated(kRows * hidden, Dtype::fp32), repeated(tokens * hidden, Dtype::bf16)};
    };
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        backward ? device::embedding_backward(q, s, v[0], v[2], v[1])
                 : device::embedding_forward(q, s, v[0], v[1], v[2]);
    };
    return c;
}

KernelCase rope_case() {
    const cpu::RopeShape s{.sequence = contiguous_positions(8192),
                           .batch = 1,
                           .heads = 32,
                           .kv_heads = 8,
                           .head_dim = 128};
    KernelCase c = timed("rope", "8192 x 40 x 128", rope(8192, 40, 128, Dtype::bf16));
    c.make_operands = [] { return std::vector<Tensor>{repeated(8192 * 48 * 128, Dtype::bf16)}; };
    c.on_gpu = [=](CudaQueue& q, const Views& v) { device::rope_forward(q, s, v[0]); };
    return c;
}

KernelCase bias_gradient_case(std::int64_t tokens, std::int64_t columns) {
    KernelCase c = timed("bias_gradient",
                         fmt::format("{} x {}", tokens, columns),
                         bias_gradient(tokens, columns, Dtype::bf16));
    c.make_operands = [=] {
        return std::vector<Tensor>{repeated(tokens * columns, Dtype::bf16),
                                   Tensor{columns, Dtype::fp32}};
    };
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        device::bias_gradient(q, tokens, columns, v[0], v[1]);
    };
    return c;
}

KernelCase add_case(std::int64_t tokens, std::int64_t hidden) {
    KernelCase c = timed("residual_add",
                         fmt::format("{} x {}", tokens, hidden),
                         residual_add(tokens, hidden, Dtype::bf16));
    c.make_operands = [=] {
        return std::vector<Tensor>(3, repeated(tokens * hidden, Dtype::bf16));
    };
    c.on_gpu = [](CudaQueue& q, const Views& v) { device::residual_add(q, v[0], v[1], v[2]); };
    return c;
}

// 124 million parameters in 148 tensors of one size.
KernelCase step_end_case(bool norm) {
    constexpr std::int64_t kTensors = 148;
    constexpr std::int64_t kSize = 840'000;
    constexpr std::int64_t kAll = kTensors * kSize;
    KernelCase c = timed(norm ? "gradient_norm" : "adamw",
                         "124M in 148 tensors",
                         norm ? gradient_norm(kAll) : adamw(kAll));
    c.make_operands = [norm] {
        std::vector<Tensor> all{repeated(kAll, Dtype::fp32),
                                repeated(kNumDeviceScalars, Dtype::fp32)};
        for (int i = 0; !norm && i < 3; ++i) {
            all.push_back(repeated(kAll, Dtype::fp32));
        }
        if (!norm) {
            all.push_back(repeated(kAll, Dtype::bf16));
        }
        return all;
    };
    if (norm) {
        c.on_gpu = [](CudaQueue& q, const Views& v) {
            std::vector<ConstTensorView> parts;
            for (std::int64_t i = 0; i < kTensors; ++i) {
                parts.push_back(slice(v[0], i * kSize, kSize));
            }
            device::gradient_norm(q, std::span<const ConstTensorView>{parts}, slice(v[1], 0, 1));
        };
        return c;
    }
    c.on_gpu = [](CudaQueue& q, const Views& v) {
        std::vector<device::OptimizerTensor> tensors;
        for (std::int64_t i = 0; i < kTensors; ++i) {
            const auto part = [&](std::size_t view) { return slice(v[view], i * kSize, kSize); };
            tensors.push_back({.tensors = {.gradient = part(0),
                                           .m = part(2),
                                           .v = part(3),
                                           .master = part(4),
                                           .parameter = part(5)}});
        }
        device::adamw(q,
                      v[1],
                      device::ParameterRounding::nearest,
                      std::span<const device::OptimizerTensor>{tensors});
    };
    return c;
}

}  // namespace

std::vector<KernelCase> timed_cases() {
    std::vector<KernelCase> cases;
    for (const bool backward : {false, true}) {
        for (const std::int64_t tokens : {1024, 4096, 8192}) {
            for (const std::int64_t head_dim : {64, 128}) {
                const AttentionShape s{.batch = 16'384 / tokens,
                                       .seq_q = tokens,
                                       .seq_kv = tokens,
                                       .heads = 2048 / head_dim,
                                       .kv_heads = 2048 / head_dim,
                                       .head_dim = head_dim};
                for (const auto cores : {device::TensorCores::warps,
                                         device::TensorCores::warpgroups,
                                         device::TensorCores::short_warpgroups}) {
                    const bool one_size = backward || head_dim != device::kShortTileHead;
                    if (cores != device::TensorCores::short_warpgroups || !one_size) {
                        cases.push_back(attention_case(s, backward, cores));
                    }
                }
            }
        }
        cases.push_back(norm_case(16'384, 768, true, backward));
        cases.push_back(norm_case(16'384, 1600, true, backward));
        cases.push_back(norm_case(16'384, 4096, false, backward));
        cases.push_back(activation_case(16'384, 3072, false, backward));
        cases.push_back(activation_case(8192, 14'336, true, backward));
        cases.push_back(loss_case(8192, 50'304, backward));
        cases.push_back(embedding_case(16'384, 768, backward));
    }
    cases.push_back(rope_case());
    for (const std::int64_t columns : {768, 2304, 3072}) {
        cases.push_back(bias_gradient_case(16'384, columns));
    }
    cases.push_back(add_case(16'384, 4096));
    cases.push_back(step_end_case(true));
    cases.push_back(step_end_case(false));
    return cases;
}

}  // namespace orrery::gpu_check
