// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/unfused_attention_cpu.h"

#include <cmath>
#include <utility>

#include "kernels/softmax/softmax_cpu.h"
#include "tests/kernels/attention/slow_attention.h"

namespace orrery::cpu {
namespace {

using numeric::Draw;
using numeric::Tensor;

// Scores, softmax, values and back, in five products and two softmaxes.
TEST(UnfusedAttentionCpu, IsAttentionAndItsGradient) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        SCOPED_TRACE(seed);
        Draw draw{seed};
        AttentionShape s{.batch = draw.between(1, 3),
                         .seq_q = draw.between(1, 9),
                         .kv_heads = draw.between(1, 3),
                         .head_dim = draw.between(1, 6),
                         .causal = draw.coin()};
        s.seq_kv = s.seq_q + draw.between(0, 2);
        s.heads = s.kv_heads * draw.between(1, 3);
        s.window = s.causal && draw.coin() ? draw.between(1, s.seq_kv) : 0;
        const std::int64_t width = s.heads * s.head_dim;
        const Tensor q = draw.tensor(s.seq_q * s.batch * width, Dtype::fp32, -2, 2);
        const Tensor kv =
            draw.tensor(2 * s.seq_kv * s.batch * s.kv_heads * s.head_dim, Dtype::fp32, -2, 2);
        const Tensor dout = draw.tensor(q.size(), Dtype::fp32);
        const ConstTokenColumns query{q.view(), width, 0};
        const ConstTokenColumns key = block_key(s, kv.view());
        const ConstTokenColumns value = block_value(s, kv.view());
        const SoftmaxShape softmax{.batch = s.batch,
                                   .heads = s.heads,
                                   .seq_q = s.seq_q,
                                   .seq_kv = s.seq_kv,
                                   .causal = s.causal};
        const SoftmaxArguments arguments{.scale = 1 / std::sqrt(static_cast<float>(s.head_dim)),
                                         .window = s.window};
        Tensor p{s.seq_q * s.batch * s.heads * s.seq_kv, Dtype::fp32};
        Tensor dp{p.size(), Dtype::fp32};
        Tensor context{q.size(), Dtype::fp32};
        Tensor dq{q.size(), Dtype::fp32};
        Tensor dkv{kv.size(), Dtype::fp32};

        multiply_heads(attention_scores(s, query, key, p.view()));
        softmax_forward(softmax, arguments, p.view(), p.view());
        multiply_heads(attention_context(s, p.view(), value, context.view()));
        multiply_heads(
            attention_value_gradient(s, p.view(), dout.view(), block_value(s, dkv.view())));
        multiply_heads(attention_probability_gradient(s, dout.view(), value, dp.view()));
        softmax_backward(softmax, arguments, p.view(), dp.view());
        multiply_heads(attention_query_gradient(s, dp.view(), key, {dq.view(), width, 0}));
        multiply_heads(attention_key_gradient(s, dp.view(), query, block_key(s, dkv.view())));

        const SlowAttention slow = slow_attention(s, q.doubles(), kv.doubles());
        const SlowGradients gradients =
            slow_attention_gradients(s, q.doubles(), kv.doubles(), dout.doubles());
        EXPECT_LT(numeric::relative_error(context, slow.output), 1e-5);
        const double size = std::sqrt(numeric::inner_product(gradients.kv, gradients.kv));
        EXPECT_LT(numeric::distance(dq, gradients.q), 1e-5 * size);
        EXPECT_LT(numeric::distance(dkv, gradients.kv), 1e-5 * size);
    }
}

}  // namespace
}  // namespace orrery::cpu
