// SPDX-License-Identifier: Apache-2.0
// The products of lowered steps, computed as cuBLASLt is asked to and as the CPU executor does.
#include "runtime/gemm_request.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "models/lowering/lowering.h"
#include "runtime/cpu/cpu_kernels.h"
#include "runtime/rank_program.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

// What cuBLASLt computes: column-major, D = op(A) op(B) + beta C, the bias along D's rows.
void slow_lt(const LtGemm& g, const BoundOp& op, TensorView c) {
    const TensorView a = op.reads[g.first_is_b ? 1 : 0].view;
    const TensorView b = op.reads[g.first_is_b ? 0 : 1].view;
    const auto at = [](ConstTensorView x, const LtMatrix& m, bool turned, std::int64_t i, auto rc) {
        const auto [row, column] = turned ? std::pair{rc.second, rc.first} : rc;
        return load(x, i * m.batch_stride + column * m.stride + row);
    };
    for (std::int64_t e = 0; e < g.batch * g.n * g.m; ++e) {
        const std::int64_t i = e / (g.n * g.m);
        const std::int64_t column = e / g.m % g.n;
        const std::int64_t row = e % g.m;
        float sum = 0;
        for (std::int64_t p = 0; p < g.k; ++p) {
            sum += at(a, g.a, g.transpose_a, i, std::pair{row, p}) *
                   at(b, g.b, g.transpose_b, i, std::pair{p, column});
        }
        const std::int64_t place = i * g.c.batch_stride + column * g.c.stride + row;
        const float bias = op.reads.size() > 2 ? load(op.reads[2].view, row) : 0.0f;
        const float before = g.beta != 0 ? load(c, place) : 0.0f;
        store(c, place, before + (sum + bias));
    }
}

void expect_products(const Transformer& model, const ParallelPlan& plan, std::size_t kinds) {
    const Program program = lower(model, plan);
    RankProgram rank{program, RankId{0}};
    std::vector<std::byte> arena(static_cast<std::size_t>(rank.plan().bytes()));
    rank.set_arena(arena.data());
    std::set<std::string> seen;
    for (std::uint32_t s = 0; s < rank.role().slots.size(); ++s) {
        for (const Op& op : program.segment_of(rank.role().slots[s]).ops) {
            if (op.kind() != OpKind::kernel || program.kernel(op).kind != KernelKind::gemm) {
                continue;
            }
            const BoundOp bound = rank.bind_kernel(s, op);
            const GemmRequest request = gemm_request(bound);
            ASSERT_EQ(why_not_cublaslt(request), "");
            if (!seen.insert(key_of(lt_gemm(request))).second) {
                continue;
            }
            std::uint32_t i = 1;
            for (const auto* list : {&bound.reads, &bound.writes, &bound.accumulates}) {
                for (const BoundOperand& o : *list) {
                    for (std::int64_t e = 0; e < o.view.size; ++e) {
                        i = i * 1664525u + 1013904223u;
                        store(o.view, e, static_cast<float>(i >> 28) - 8.0f);
                    }
                }
            }
            const TensorView c = bound.output().view;
            std::vector<std::byte> own(c.data, c.data + c.size * size_bytes(c.dtype));
            slow_lt(lt_gemm(request), bound, {own.data(), c.dtype, c.size});
            run_on_cpu(bound);
            EXPECT_EQ(std::memcmp(own.data(), c.data, own.size()), 0) << program.names[op.name];
        }
    }
    EXPECT_GE(seen.size(), kinds);
}

TEST(GemmRequest, ProductsOfAGptAreThoseOfTheCpu) {
    expect_products(tiny_gpt(), tiny_plan(), 8);
}

TEST(GemmRequest, ProductsInBf16AreThoseOfTheCpu) {
    ParallelPlan plan = tiny_plan();
    plan.precision = Dtype::bf16;
    expect_products(tiny_gpt(), plan, 8);
    expect_products(tiny_llama(), plan, 8);
}

TEST(GemmRequest, ProductsInPiecesAreThoseOfTheCpu) {
    ParallelPlan plan = tiny_plan();
    plan.tensor_model_parallel_size = 2;
    plan.sequence_parallel = true;
    plan.tp_comm_overlap = true;
    expect_products(tiny_gpt(), plan, 12);
    plan.tp_comm_overlap_chunks = 2;
    expect_products(tiny_gpt(), plan, 12);
}

TEST(GemmRequest, SmsAreReservedWhereAskedFor) {
    const Program program = lower(tiny_gpt(), tiny_plan());
    const RankProgram rank{program, RankId{0}};
    for (const Op& op : program.segment_of(rank.role().slots[0]).ops) {
        if (op.kind() == OpKind::kernel && program.kernel(op).kind == KernelKind::gemm) {
            EXPECT_EQ(gemm_request(rank.bind_kernel(0, op), 16).reserved_sms, 16);
        }
    }
}

}  // namespace
}  // namespace orrery
