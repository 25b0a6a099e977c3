// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "kernels/activation/activation_cuda.h"
#include "kernels/attention/attention_cuda.h"
#include "kernels/cast/cast_cpu.h"
#include "kernels/cast/cast_cuda.h"
#include "kernels/cross_entropy/cross_entropy_cuda.h"
#include "kernels/embedding/embedding_cuda.h"
#include "kernels/layernorm/layernorm_cpu.h"
#include "kernels/layernorm/layernorm_cuda.h"
#include "kernels/residual/residual_cuda.h"
#include "kernels/rmsnorm/rmsnorm_cpu.h"
#include "kernels/rmsnorm/rmsnorm_cuda.h"
#include "kernels/rope/rope_cuda.h"
#include "kernels/softmax/softmax_cuda.h"
#include "tests/gpu/kernel_case.h"

namespace orrery::gpu_check {
namespace {

using device::CudaQueue;
using numeric::Draw;
using numeric::Tensor;

double allowed(Dtype dtype) {
    return dtype == Dtype::bf16 ? 1e-2 : 1e-5;
}

Tensor ids_tensor(const std::vector<std::int32_t>& ids) {
    Tensor tensor{static_cast<std::int64_t>(ids.size()), Dtype::int32};
    std::memcpy(tensor.view().data, ids.data(), 4 * ids.size());
    return tensor;
}

// A multiple of 8 in half of the draws.
std::int64_t drawn_width(Draw& draw, std::int64_t most) {
    return draw.coin() ? draw.between(1, most) : 8 * draw.between(1, most / 8);
}

AttentionShape drawn_attention(Draw& draw) {
    AttentionShape s{.batch = draw.between(1, 2),
                     .seq_q = draw.between(1, 300),
                     .kv_heads = draw.between(1, 2),
                     .causal = draw.between(0, 3) > 0};
    const std::int64_t sizes[] = {64, 128, draw.between(1, 80)};
    s.head_dim = sizes[draw.between(0, 2)];
    s.seq_kv = s.seq_q + (draw.coin() ? 0 : draw.between(0, 100));
    s.heads = s.kv_heads * draw.between(1, 3);
    s.window = s.causal && draw.coin() ? draw.between(1, s.seq_kv) : 0;
    return s;
}

std::string text_of(const AttentionShape& s) {
    return fmt::format("b{} q{} k{} h{}/{} d{} {}{}",
                       s.batch,
                       s.seq_q,
                       s.seq_kv,
                       s.heads,
                       s.kv_heads,
                       s.head_dim,
                       s.causal ? "causal" : "full",
                       s.window > 0 ? fmt::format(" w{}", s.window) : "");
}

// Some cases are a step of a ring: keys that stand elsewhere, and rows to merge with.
struct DrawnRing {
    cpu::AttentionPositions positions;
    cpu::AttentionDropout dropout;
    bool merge = false;
};

DrawnRing drawn_ring(Draw& draw, const AttentionShape& s) {
    DrawnRing ring{.positions = cpu::whole_sequence(s), .dropout = {}};
    std::int64_t sequence = s.seq_kv;
    if (s.seq_q == s.seq_kv && s.seq_q % 2 == 0 && draw.coin()) {
        constexpr std::int64_t kRanks = 4;
        ring.positions = {balanced_positions(s.seq_q, draw.between(0, kRanks - 1), kRanks),
                          balanced_positions(s.seq_kv, draw.between(0, kRanks - 1), kRanks)};
        ring.merge = true;
        sequence *= kRanks;
    }
    if (draw.coin()) {
        ring.dropout = {.key = {.seed = 9, .purpose = RandomPurpose::attention_dropout},
                        .rate = 0.2f,
                        .first_head = 1,
                        .all_heads = s.heads + 2,
                        .sequence = sequence};
    }
    return ring;
}

KernelCase attention_case(Draw& draw,
                          Dtype dtype,
                          bool backward,
                          device::TensorCores tensor_cores) {
    const AttentionShape s = drawn_attention(draw);
    const std::int64_t queries = s.seq_q * s.batch * s.heads;
    const std::int64_t block = 2 * s.seq_kv * s.batch * s.kv_heads * s.head_dim;
    const std::int64_t width = s.heads * s.head_dim;
    KernelCase c{.kernel = backward ? "attention_backward" : "attention_forward",
                 .shape = text_of(s),
                 .dtype = dtype,
                 .allowed = allowed(dtype),
                 .tensor_cores = tensor_cores};
    c.operands = {draw.tensor(queries * s.head_dim, dtype, -2, 2),
                  draw.tensor(block, dtype, -2, 2),
                  Tensor{queries * s.head_dim, dtype},
                  Tensor{queries, Dtype::fp32}};
    const auto [positions, dropout, merge] = drawn_ring(draw, s);
    c.shape += fmt::format("{}{}", merge ? " ring" : "", dropout.rate > 0 ? " dropout" : "");
    const auto forward = [=](const Views& v) {
        return cpu::AttentionForward{.q = cpu::TokenColumns{v[0], width, 0},
                                     .k = cpu::block_key(s, v[1]),
                                     .v = cpu::block_value(s, v[1]),
                                     .output = v[2],
                                     .log_sum_exp = v[3],
                                     .merge = merge && !backward,
                                     .dropout = dropout};
    };
    if (!backward) {
        if (merge) {
            c.operands[2] = draw.tensor(queries * s.head_dim, dtype);
            c.operands[3] = draw.tensor(queries, Dtype::fp32, -1, 3);
        }
        c.on_gpu = [=](CudaQueue& q, const Views& v) {
            device::attention_forward(q, s, positions, forward(v));
        };
        c.on_cpu = [=](const Views& v) { cpu::attention_forward(s, positions, forward(v)); };
        return c;
    }
    Views own;
    for (Tensor& operand : c.operands) {
        own.push_back(operand.view());
    }
    cpu::attention_forward(s, positions, forward(own));
    c.operands.push_back(draw.tensor(queries * s.head_dim, dtype));
    c.operands.emplace_back(queries * s.head_dim, dtype);
    c.operands.emplace_back(block, dtype);
    const auto gradients = [=](const Views& v) {
        return cpu::AttentionBackward{.q = cpu::TokenColumns{v[0], width, 0},
                                      .k = cpu::block_key(s, v[1]),
                                      .v = cpu::block_value(s, v[1]),
                                      .output = v[2],
                                      .log_sum_exp = v[3],
                                      .doutput = v[4],
                                      .dq = {v[5], width, 0},
                                      .dk = cpu::block_key(s, v[6]),
                                      .dv = cpu::block_value(s, v[6]),
                                      .dropout = dropout};
    };
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        device::attention_backward(q, s, positions, gradients(v));
    };
    c.on_cpu = [=](const Views& v) { cpu::attention_backward(s, positions, gradients(v)); };
    return c;
}

KernelCase norm_case(Draw& draw, Dtype dtype, bool layernorm, bool backward) {
    const cpu::NormShape s{.tokens = draw.between(1, 700), .hidden = drawn_width(draw, 3000)};
    const std::int64_t size = s.tokens * s.hidden;
    const std::int64_t weight = s.hidden * (layernorm ? 2 : 1);
    KernelCase c{
        .kernel = fmt::format(
            "{}_{}", layernorm ? "layernorm" : "rmsnorm", backward ? "backward" : "forward"),
        .shape = fmt::format("{} x {}", s.tokens, s.hidden),
        .dtype = dtype,
        .allowed = allowed(dtype)};
    c.operands = {draw.tensor(size, dtype, -1, 2),
                  draw.tensor(size, dtype),
                  draw.tensor(weight, dtype),
                  Tensor{size, dtype}};
    if (backward) {
        c.operands.push_back(draw.tensor(weight, Dtype::fp32));
        const auto operands = [](const Views& v) {
            return cpu::NormBackward{.dy = v[1],
                                     .x = v[0],
                                     .weight = v[2],
                                     .dresidual = v[1],
                                     .dx = v[3],
                                     .dweight = v[4]};
        };
        c.on_gpu = [=](CudaQueue& q, const Views& v) {
            layernorm ? device::layernorm_backward(q, s, operands(v))
                      : device::rmsnorm_backward(q, s, operands(v));
        };
        c.on_cpu = [=](const Views& v) {
            layernorm ? cpu::layernorm_backward(s, operands(v))
                      : cpu::rmsnorm_backward(s, operands(v));
        };
        return c;
    }
    c.operands.emplace_back(size, dtype);
    const auto operands = [](const Views& v) {
        return cpu::NormForward{
            .x = v[0], .residual = v[1], .weight = v[2], .sum = v[3], .y = v[4]};
    };
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        layernorm ? device::layernorm_forward(q, s, operands(v), device::NormBiases{})
                  : device::rmsnorm_forward(q, s, operands(v), device::NormBiases{});
    };
    c.on_cpu = [=](const Views& v) {
        layernorm ? cpu::layernorm_forward(s, operands(v)) : cpu::rmsnorm_forward(s, operands(v));
    };
    return c;
}

KernelCase activation_case(Draw& draw, Dtype dtype, bool gated, bool backward) {
    const cpu::ActivationShape s{draw.between(1, 300), drawn_width(draw, 3000)};
    const std::int64_t y = s.tokens * s.ffn;
    KernelCase c{.kernel = fmt::format(
                     "{}_{}", gated ? "swiglu" : "gelu", backward ? "backward" : "forward"),
                 .shape = fmt::format("{} x {}", s.tokens, s.ffn),
                 .dtype = dtype,
                 .allowed = allowed(dtype)};
    c.operands = {draw.tensor(gated ? 2 * y : y, dtype, -4, 4),
                  draw.tensor(y, dtype),
                  Tensor{backward && gated ? 2 * y : y, dtype}};
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        if (gated && backward) {
            device::swiglu_backward(q, s, cpu::Gated::swiglu, v[1], v[0], {}, v[2]);
        } else if (gated) {
            device::swiglu_forward(q, s, cpu::Gated::swiglu, v[0], {}, v[2]);
        } else if (backward) {
            device::gelu_backward(q, s, cpu::Ungated::gelu, v[1], v[0], {}, v[2]);
        } else {
            device::gelu_forward(q, s, cpu::Ungated::gelu, v[0], {}, v[2]);
        }
    };
    c.on_cpu = [=](const Views& v) {
        if (gated && backward) {
            cpu::swiglu_backward(s, cpu::Gated::swiglu, v[1], v[0], {}, v[2]);
        } else if (gated) {
            cpu::swiglu_forward(s, cpu::Gated::swiglu, v[0], {}, v[2]);
        } else if (backward) {
            cpu::gelu_backward(s, cpu::Ungated::gelu, v[1], v[0], {}, v[2]);
        } else {
            cpu::gelu_forward(s, cpu::Ungated::gelu, v[0], {}, v[2]);
        }
    };
    return c;
}

KernelCase embedding_case(Draw& draw, Dtype dtype, bool backward) {
    const cpu::EmbeddingShape s{.tokens = draw.between(1, 9000),
                                .hidden = drawn_width(draw, 300),
                                .rows = draw.between(1, 3000),
                                .first_row = draw.between(0, 50)};
    KernelCase c{.kernel = backward ? "embedding_backward" : "embedding_forward",
                 .shape = fmt::format("{} x {}, {} rows", s.tokens, s.hidden, s.rows),
                 .dtype = dtype};
    c.operands = {ids_tensor(draw.ids(s.tokens, 0, s.rows + 40)),
                  draw.tensor(s.rows * s.hidden, dtype),
                  draw.tensor(s.tokens * s.hidden, dtype)};
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        backward ? device::embedding_backward(q, s, v[0], v[2], v[1])
                 : device::embedding_forward(q, s, v[0], v[1], v[2]);
    };
    c.on_cpu = [=](const Views& v) {
        backward ? cpu::embedding_backward(s, v[0], v[2], v[1])
                 : cpu::embedding_forward(s, v[0], v[1], v[2]);
    };
    return c;
}

KernelCase rope_case(Draw& draw, Dtype dtype) {
    const cpu::RopeShape s{.sequence = contiguous_positions(draw.between(1, 300), 5000),
                           .batch = draw.between(1, 3),
                           .heads = draw.between(1, 20),
                           .kv_heads = draw.between(1, 4),
                           .head_dim = draw.coin() ? 2 * draw.between(1, 50) : 64};
    const std::int64_t width = (s.heads + 2 * s.kv_heads) * s.head_dim;
    KernelCase c{.kernel = "rope",
                 .shape = fmt::format(
                     "{} x {} x {}", s.sequence.length * s.batch, s.heads + s.kv_heads, s.head_dim),
                 .dtype = dtype,
                 .allowed = allowed(dtype)};
    c.operands = {draw.tensor(s.sequence.length * s.batch * width, dtype)};
    c.on_gpu = [=](CudaQueue& q, const Views& v) { device::rope_backward(q, s, v[0]); };
    c.on_cpu = [=](const Views& v) { cpu::rope_backward(s, v[0]); };
    return c;
}

KernelCase cross_entropy_case(Draw& draw, Dtype dtype, bool backward) {
    const cpu::CrossEntropyShape s{
        .tokens = draw.between(1, 60), .vocab = drawn_width(draw, 20'000), .first_column = 100};
    const float scale = 0.125f;
    KernelCase c{.kernel = backward ? "cross_entropy_backward" : "cross_entropy_forward",
                 .shape = fmt::format("{} x {}", s.tokens, s.vocab),
                 .dtype = dtype,
                 .allowed = allowed(dtype)};
    c.operands = {draw.tensor(s.tokens * s.vocab, dtype, -8, 8),
                  ids_tensor(draw.ids(s.tokens, -1, s.vocab + 200))};
    for (int i = 0; i < 3; ++i) {
        c.operands.emplace_back(s.tokens, Dtype::fp32);
    }
    c.operands.emplace_back(1, Dtype::fp32);
    store(c.operands.back().view(), 0, scale);
    const auto statistics = [](const Views& v) { return cpu::LossStatistics{v[2], v[3], v[4]}; };
    if (backward) {
        Views own;
        for (Tensor& operand : c.operands) {
            own.push_back(operand.view());
        }
        cpu::cross_entropy_local(s, own[0], own[1], statistics(own));
        c.on_gpu = [=](CudaQueue& q, const Views& v) {
            device::cross_entropy_backward(q, s, v[1], statistics(v), v[5], v[0]);
        };
        c.on_cpu = [=](const Views& v) {
            cpu::cross_entropy_backward(s, v[1], statistics(v), scale, v[0]);
        };
        return c;
    }
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        device::cross_entropy_local(q, s, v[0], v[1], statistics(v));
    };
    c.on_cpu = [=](const Views& v) { cpu::cross_entropy_local(s, v[0], v[1], statistics(v)); };
    return c;
}

KernelCase bias_gradient_case(Draw& draw, Dtype dtype) {
    const std::int64_t tokens = draw.between(1, 3000);
    const std::int64_t columns = drawn_width(draw, 1000);
    KernelCase c{.kernel = "bias_gradient",
                 .shape = fmt::format("{} x {}", tokens, columns),
                 .dtype = dtype,
                 .allowed = allowed(Dtype::fp32)};
    c.operands = {draw.tensor(tokens * columns, dtype), draw.tensor(columns, Dtype::fp32)};
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        device::bias_gradient(q, tokens, columns, v[0], v[1]);
    };
    c.on_cpu = [=](const Views& v) { cpu::bias_gradient(tokens, columns, v[0], v[1]); };
    return c;
}

KernelCase dropout_case(Draw& draw, Dtype dtype) {
    const ValueShard shard{.sequence = contiguous_positions(draw.between(1, 100)),
                           .batch = 2,
                           .width = drawn_width(draw, 600)};
    const cpu::DropoutArguments dropout{.key = {.seed = 3, .purpose = RandomPurpose::mlp_dropout},
                                        .rate = 0.2f};
    KernelCase c{.kernel = "bias_dropout_add",
                 .shape = fmt::format("{} x {}", shard.tokens(), shard.width),
                 .dtype = dtype};
    c.operands = {draw.tensor(shard.size(), dtype),
                  draw.tensor(shard.width, dtype),
                  draw.tensor(shard.size(), dtype),
                  Tensor{shard.size(), dtype}};
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        device::bias_dropout_add(q, shard, dropout, {v[0], v[1], v[2], v[3]});
    };
    c.on_cpu = [=](const Views& v) {
        cpu::bias_dropout_add(shard, dropout, {v[0], v[1], v[2], v[3]});
    };
    return c;
}

KernelCase flat_case(Draw& draw, Dtype dtype, int which) {
    const std::int64_t rows = draw.between(1, 400);
    const std::int64_t columns = draw.between(1, 400);
    const std::int64_t size = rows * columns;
    const char* const names[] = {"residual_add", "cast"};
    const Dtype to = which == 1 && dtype == Dtype::fp32 ? Dtype::bf16 : dtype;
    KernelCase c{
        .kernel = names[which], .shape = fmt::format("{} x {}", rows, columns), .dtype = dtype};
    c.operands = {draw.tensor(size, dtype), draw.tensor(size, dtype), Tensor{size, to}};
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        which == 0 ? device::residual_add(q, v[0], v[1], v[2]) : device::cast(q, v[0], v[2]);
    };
    c.on_cpu = [=](const Views& v) {
        which == 0 ? cpu::residual_add(v[0], v[1], v[2]) : cpu::cast(v[0], v[2]);
    };
    return c;
}

KernelCase softmax_case(Draw& draw, Dtype dtype) {
    const SoftmaxShape s{.batch = 2,
                         .heads = 3,
                         .seq_q = draw.between(1, 60),
                         .seq_kv = draw.between(60, 400),
                         .causal = draw.coin()};
    const std::int64_t size = s.batch * s.heads * s.seq_q * s.seq_kv;
    KernelCase c{.kernel = "softmax_forward",
                 .shape = fmt::format("{} x {}", size / s.seq_kv, s.seq_kv),
                 .dtype = dtype,
                 .allowed = allowed(dtype)};
    c.operands = {draw.tensor(size, dtype, -4, 4), Tensor{size, dtype}};
    c.on_gpu = [=](CudaQueue& q, const Views& v) {
        device::softmax_forward(q, s, cpu::SoftmaxArguments{.scale = 0.3f}, v[0], v[1]);
    };
    c.on_cpu = [=](const Views& v) {
        cpu::softmax_forward(s, cpu::SoftmaxArguments{.scale = 0.3f}, v[0], v[1]);
    };
    return c;
}

}  // namespace

std::vector<KernelCase> drawn_cases(Draw& draw, int round) {
    const Dtype dtype = round % 2 == 0 ? Dtype::bf16 : Dtype::fp32;
    std::vector<KernelCase> cases;
    for (const bool backward : {false, true}) {
        cases.push_back(attention_case(draw, dtype, backward, device::TensorCores::none));
        cases.push_back(attention_case(draw, dtype, backward, device::TensorCores::warps));
        cases.push_back(attention_case(draw, dtype, backward, device::TensorCores::warpgroups));
        if (!backward) {
            cases.push_back(
                attention_case(draw, dtype, backward, device::TensorCores::short_warpgroups));
        }
        cases.push_back(norm_case(draw, dtype, true, backward));
        cases.push_back(norm_case(draw, dtype, false, backward));
        cases.push_back(activation_case(draw, dtype, false, backward));
        cases.push_back(activation_case(draw, dtype, true, backward));
        cases.push_back(embedding_case(draw, dtype, backward));
        cases.push_back(cross_entropy_case(draw, dtype, backward));
    }
    cases.push_back(rope_case(draw, dtype));
    cases.push_back(bias_gradient_case(draw, dtype));
    cases.push_back(dropout_case(draw, dtype));
    cases.push_back(softmax_case(draw, dtype));
    for (int which = 0; which < 2; ++which) {
        cases.push_back(flat_case(draw, dtype, which));
    }
    return cases;
}

}  // namespace orrery::gpu_check
