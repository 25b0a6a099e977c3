// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention_cuda.h"

#include "kernels/attention/attention_device.h"
#include "tests/kernels/attention/attention_tensors.h"
#include "tests/kernels/attention/slow_attention.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace attention_cuda_test {

using emulation::EmulatedQueue;
using emulation::ThreadOrder;
using numeric::Draw;
using numeric::Tensor;

struct Case : AttentionTensors {
    using AttentionTensors::AttentionTensors;
    void run(ThreadOrder order,
             bool accumulate = false,
             TensorCores tensor_cores = TensorCores::warps) {
        EmulatedQueue queue{order, tensor_cores};
        const auto query = query_rows(shape, q.view());
        const auto key = cpu::block_key(shape, kv.view());
        const auto value = cpu::block_value(shape, kv.view());
        const cpu::AttentionPositions positions = cpu::whole_sequence(shape);
        attention_forward(
            queue,
            shape,
            positions,
            {.q = query, .k = key, .v = value, .output = out.view(), .log_sum_exp = lse.view()});
        attention_backward(queue,
                           shape,
                           positions,
                           {.q = query,
                            .k = key,
                            .v = value,
                            .output = out.view(),
                            .log_sum_exp = lse.view(),
                            .doutput = dout.view(),
                            .dq = query_rows(shape, dq.view()),
                            .dk = cpu::block_key(shape, dkv.view()),
                            .dv = cpu::block_value(shape, dkv.view()),
                            .accumulate_dq = accumulate,
                            .accumulate_dkv = accumulate});
    }
    void check(Dtype dtype) const {
        const auto slow = cpu::slow_attention(shape, q.doubles(), kv.doubles());
        const auto gradients =
            cpu::slow_attention_gradients(shape, q.doubles(), kv.doubles(), dout.doubles());
        // bf16: probabilities and dS are rounded too, and D takes the rounded output.
        const double allowed = dtype == Dtype::bf16 ? 1e-2 : 1e-5;
        EXPECT_LT(numeric::relative_error(out, slow.output), numeric::tolerance(dtype));
        EXPECT_LT(numeric::relative_error(lse, slow.log_sum_exp), 1e-5);
        EXPECT_LT(numeric::relative_error(dq, gradients.q), allowed);
        EXPECT_LT(numeric::relative_error(dkv, gradients.kv), allowed);
    }
};

class AttentionOnTensorCores : public testing::TestWithParam<AttentionShape> {};

void expect_the_definition(const AttentionShape& shape, TensorCores cores) {
    Draw draw{7};
    Case c{draw, shape, Dtype::bf16};
    Case shuffled = c;
    c.run(ThreadOrder::ascending, false, cores);
    c.check(Dtype::bf16);
    shuffled.run(ThreadOrder::descending, false, cores);
    EXPECT_TRUE(c.out == shuffled.out && c.lse == shuffled.lse);
    EXPECT_TRUE(c.dq == shuffled.dq && c.dkv == shuffled.dkv);
}

TEST_P(AttentionOnTensorCores, IsTheDefinitionAndItsDerivativeInEveryThreadOrder) {
    expect_the_definition(GetParam(), TensorCores::warps);
}

TEST_P(AttentionOnTensorCores, OfWarpgroupsIsTheDefinitionAndItsDerivativeInEveryThreadOrder) {
    expect_the_definition(GetParam(), TensorCores::warpgroups);
}

TEST_P(AttentionOnTensorCores, OnShortTilesIsTheDefinitionInEveryThreadOrder) {
    if (GetParam().head_dim == kShortTileHead) {
        expect_the_definition(GetParam(), TensorCores::short_warpgroups);
    }
}

TEST(AttentionCuda, OnShortTilesSharesAMultiprocessor) {
    using Short = AttentionForwardKernel<64, false, ShortWarpgroupCores>;
    using Usual = AttentionForwardKernel<64, false, WarpgroupCores>;
    EXPECT_EQ(2 * Short::kKeys, Usual::kKeys);
    EXPECT_LT(2 * Short::kSharedBytes, kSharedBytesMax);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes,
    AttentionOnTensorCores,
    testing::Values(
        // Whole tiles; ragged ends; several sequences and grouped heads; more keys than queries; a
        // window that hides whole tiles; no mask.
        AttentionShape{.seq_q = 128, .seq_kv = 128, .heads = 1, .kv_heads = 1, .head_dim = 64},
        AttentionShape{.seq_q = 131, .seq_kv = 131, .heads = 1, .kv_heads = 1, .head_dim = 128},
        AttentionShape{
            .batch = 2, .seq_q = 37, .seq_kv = 70, .heads = 4, .kv_heads = 2, .head_dim = 64},
        AttentionShape{
            .seq_q = 200, .seq_kv = 210, .heads = 2, .kv_heads = 1, .head_dim = 64, .window = 33},
        AttentionShape{.batch = 2,
                       .seq_q = 65,
                       .seq_kv = 129,
                       .heads = 1,
                       .kv_heads = 1,
                       .head_dim = 128,
                       .causal = false}));

TEST(AttentionByRows, IsTheDefinitionAndItsDerivative) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            AttentionShape s{.batch = draw.between(1, 2),
                             .seq_q = draw.between(1, 9),
                             .kv_heads = draw.between(1, 2),
                             .head_dim = draw.between(1, 80),
                             .causal = draw.between(0, 3) > 0};
            s.seq_kv = s.seq_q + draw.between(0, 3);
            s.heads = s.kv_heads * draw.between(1, 3);
            s.window = s.causal && draw.coin() ? draw.between(1, s.seq_kv) : 0;
            Case c{draw, s, dtype};
            c.run(ThreadOrder::descending);
            const double scale = std::sqrt(static_cast<double>(s.seq_kv));
            if (s.seq_q > 2) {  // the gradient of a softmax over one key is 0
                c.check(dtype);
            } else {
                EXPECT_LT(numeric::distance(c.dkv,
                                            cpu::slow_attention_gradients(
                                                s, c.q.doubles(), c.kv.doubles(), c.dout.doubles())
                                                .kv),
                          scale);
            }
        }
    }
}

TEST(AttentionCuda, AddsToGradientsWhereAsked) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        Draw draw{4};
        const AttentionShape s{
            .seq_q = 20, .seq_kv = 20, .heads = 2, .kv_heads = 1, .head_dim = 64};
        Case once{draw, s, dtype};
        Case twice = once;
        twice.dq = draw.tensor(once.dq.size(), dtype);
        const numeric::Doubles before = twice.dq.doubles();
        once.run(ThreadOrder::ascending);
        twice.run(ThreadOrder::ascending, true);
        const double unit = dtype == Dtype::bf16 ? 0x1p-7 : 0x1p-20;
        for (std::int64_t i = 0; i < once.dq.size(); ++i) {
            const double sum = before[static_cast<std::size_t>(i)] + once.dq.at(i);
            ASSERT_NEAR(twice.dq.at(i), sum, unit * (1 + std::abs(sum)));
        }
        EXPECT_TRUE(once.dkv == twice.dkv) << "added to zeros";
    }
}

// Queries of a late piece of a sequence, keys of an earlier one and the other way round: all pairs
// visible, or none.
TEST(AttentionCuda, QueriesThatSeeNothingGiveZerosAndNegativeInfinity) {
    Draw draw{5};
    const AttentionShape s{.seq_q = 66, .seq_kv = 64, .heads = 1, .kv_heads = 1, .head_dim = 64};
    Case c{draw, s, Dtype::bf16};
    EmulatedQueue queue;
    const cpu::AttentionPositions positions{contiguous_positions(66, 0),
                                            contiguous_positions(64, 66)};
    attention_forward(queue,
                      s,
                      positions,
                      {.q = query_rows(s, c.q.view()),
                       .k = cpu::block_key(s, c.kv.view()),
                       .v = cpu::block_value(s, c.kv.view()),
                       .output = c.out.view(),
                       .log_sum_exp = c.lse.view()});
    EXPECT_EQ(c.out.doubles(), numeric::Doubles(c.out.doubles().size(), 0.0));
    EXPECT_EQ(c.lse.at(65), -static_cast<double>(kInfinity));
}

TEST(AttentionCuda, SaysWhatItDoesNotTake) {
    AttentionShape s{.seq_q = 8, .seq_kv = 8, .heads = 2, .kv_heads = 1, .head_dim = 64};
    EXPECT_EQ(why_no_attention(s, Dtype::bf16), "");
    EXPECT_NE(why_no_attention(s, Dtype::fp16), "");
    s.head_dim = 257;
    EXPECT_NE(why_no_attention(s, Dtype::bf16), "");
}

TEST(AttentionCuda, LaunchesABlockFor128QueriesOrKeysOfAHead) {
    RecordingQueue queue;
    const AttentionShape s{
        .batch = 2, .seq_q = 1000, .seq_kv = 1000, .heads = 8, .kv_heads = 4, .head_dim = 128};
    const TensorView none{nullptr, Dtype::bf16, 0};
    const TensorView statistics{nullptr, Dtype::fp32, 0};
    const cpu::TokenColumns columns{none, 2048, 0};
    attention_backward(queue,
                       s,
                       cpu::whole_sequence(s),
                       {.q = columns,
                        .k = columns,
                        .v = columns,
                        .output = none,
                        .log_sum_exp = statistics,
                        .doutput = none,
                        .dq = columns,
                        .dk = columns,
                        .dv = columns});
    ASSERT_EQ(queue.launches().size(), 3u);
    EXPECT_EQ(queue.launches()[1].blocks_x, 8);
    EXPECT_EQ(queue.launches()[1].blocks_y, 8);
    EXPECT_EQ(queue.launches()[2].blocks_y, 16);
    EXPECT_LE(queue.launches()[1].shared_bytes, kSharedBytesMax);
    EXPECT_EQ(queue.scratch_bytes(), 1000 * 2 * 8 * 8);
}

}  // namespace attention_cuda_test
}  // namespace orrery::device
