// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention_cpu.h"

#include <cmath>
#include <limits>

#include "tests/kernels/attention/attention_tensors.h"
#include "tests/kernels/attention/slow_attention.h"

namespace orrery::cpu {
namespace {

using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

AttentionShape draw_shape(Draw& draw, std::int64_t most) {
    AttentionShape s{.batch = draw.between(1, 2),
                     .seq_q = draw.between(1, most),
                     .kv_heads = draw.between(1, 2),
                     .head_dim = draw.between(1, 5),
                     .causal = draw.between(0, 3) > 0};
    s.seq_kv = s.seq_q + draw.between(0, 3);
    s.heads = s.kv_heads * draw.between(1, 3);
    s.window = s.causal && draw.coin() ? draw.between(1, s.seq_kv) : 0;
    return s;
}

struct AttentionCase : AttentionTensors {
    using AttentionTensors::AttentionTensors;
    ConstTokenColumns query() const { return {q.view(), shape.heads * shape.head_dim, 0}; }

    void run(const AttentionPositions& positions, bool accumulate = false) {
        attention_forward(shape,
                          positions,
                          {.q = query(),
                           .k = block_key(shape, std::as_const(kv).view()),
                           .v = block_value(shape, std::as_const(kv).view()),
                           .output = out.view(),
                           .log_sum_exp = lse.view()});
        attention_backward(shape,
                           positions,
                           {.q = query(),
                            .k = block_key(shape, std::as_const(kv).view()),
                            .v = block_value(shape, std::as_const(kv).view()),
                            .output = out.view(),
                            .log_sum_exp = lse.view(),
                            .doutput = dout.view(),
                            .dq = {dq.view(), shape.heads * shape.head_dim, 0},
                            .dk = block_key(shape, dkv.view()),
                            .dv = block_value(shape, dkv.view()),
                            .accumulate_dq = accumulate,
                            .accumulate_dkv = accumulate});
    }
};

TEST(AttentionCpu, ForwardIsTheDefinition) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            const AttentionShape s = draw_shape(draw, seed % 4 == 0 ? 150 : 12);
            AttentionCase c{draw, s, dtype};
            c.run(whole_sequence(s));
            const SlowAttention slow = slow_attention(s, c.q.doubles(), c.kv.doubles());
            EXPECT_LT(numeric::relative_error(c.out, slow.output), numeric::tolerance(dtype));
            EXPECT_LT(numeric::relative_error(c.lse, slow.log_sum_exp), 1e-5);
        }
    }
}

TEST(AttentionCpu, BackwardIsTheDerivative) {
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            const AttentionShape s = draw_shape(draw, 5);
            AttentionCase c{draw, s, dtype};
            c.run(whole_sequence(s));
            const auto loss = [&](const Doubles& q, const Doubles& kv) {
                return numeric::inner_product(c.dout.doubles(), slow_attention(s, q, kv).output);
            };
            const Doubles dq = numeric::numeric_gradient(
                [&](const Doubles& q) { return loss(q, c.kv.doubles()); }, c.q.doubles());
            const Doubles dkv = numeric::numeric_gradient(
                [&](const Doubles& kv) { return loss(c.q.doubles(), kv); }, c.kv.doubles());
            // bf16: delta takes the rounded output, P the rounded scores' own sum.
            const double allowed = dtype == Dtype::bf16 ? 1e-2 : 1e-5;
            const double size = std::sqrt(numeric::inner_product(dkv, dkv));
            EXPECT_LT(numeric::distance(c.dq, dq), allowed * size);
            EXPECT_LT(numeric::distance(c.dkv, dkv), allowed * size);
        }
    }
}

// Several blocks of queries, against float64 gradients in closed form.
TEST(AttentionCpu, BackwardOfLongSequencesIsTheClosedForm) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(seed);
        Draw draw{seed};
        AttentionShape s = draw_shape(draw, 5);
        s.seq_q = 130 + draw.between(0, 20);
        s.seq_kv = s.seq_q;
        s.window = seed == 2 ? 70 : 0;
        s.causal = true;
        AttentionCase c{draw, s, Dtype::fp32};
        c.run(whole_sequence(s));
        const SlowGradients slow =
            slow_attention_gradients(s, c.q.doubles(), c.kv.doubles(), c.dout.doubles());
        EXPECT_LT(numeric::relative_error(c.dq, slow.q), 1e-5);
        EXPECT_LT(numeric::relative_error(c.dkv, slow.kv), 1e-5);
    }
}

TEST(AttentionCpu, BackwardWritesOrAdds) {
    Draw draw{4};
    const AttentionShape s = draw_shape(draw, 9);
    AttentionCase once{draw, s, Dtype::fp32};
    AttentionCase twice = once;
    twice.dq = draw.tensor(once.dq.size(), Dtype::fp32);  // overwritten
    twice.dkv = draw.tensor(once.dkv.size(), Dtype::fp32);
    once.run(whole_sequence(s));
    twice.run(whole_sequence(s));
    EXPECT_EQ(twice.dq, once.dq);
    EXPECT_EQ(twice.dkv, once.dkv);
    twice.run(whole_sequence(s), true);
    for (std::int64_t i = 0; i < once.dkv.size(); ++i) {
        EXPECT_EQ(twice.dkv.at(i), 2 * once.dkv.at(i));
    }
    for (std::int64_t i = 0; i < once.dq.size(); ++i) {
        EXPECT_EQ(twice.dq.at(i), 2 * once.dq.at(i));
    }
}

TEST(AttentionCpu, QueriesThatSeeNothingGiveZeroAndMinusInfinity) {
    Draw draw{3};
    const AttentionShape s{
        .batch = 1, .seq_q = 4, .seq_kv = 4, .heads = 2, .kv_heads = 1, .head_dim = 3};
    AttentionCase c{draw, s, Dtype::fp32};
    c.out = c.q;
    c.dq = c.q;
    c.run({.query = contiguous_positions(4), .key = contiguous_positions(4, 2)});
    for (std::int64_t i = 0; i < 2 * 2; ++i) {
        EXPECT_EQ(c.lse.at(i), -std::numeric_limits<double>::infinity());
    }
    for (std::int64_t i = 0; i < 2 * 2 * 3; ++i) {
        EXPECT_EQ(c.out.at(i), 0.0);
        EXPECT_EQ(c.dq.at(i), 0.0);
    }
    EXPECT_NE(c.out.at(2 * 2 * 3), 0.0);
}

}  // namespace
}  // namespace orrery::cpu
