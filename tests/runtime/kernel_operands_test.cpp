// SPDX-License-Identifier: Apache-2.0
// Every kernel op that the lowering makes has the operands that its call's dimensions ask for.
#include "runtime/kernel_operands.h"

#include <gtest/gtest.h>

#include <set>

#include "models/lowering/lowering.h"
#include "tests/models/drawn_plans.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

// What executors do not read yet, and whose operands the table does not list: key-value heads that
// ranks share, chunks of unequal length, FP8 casts, keys of a whole sequence.
bool listed(const DrawnPlan& d) {
    const ParallelPlan& p = d.plan;
    const bool shared_heads = d.model.num_query_groups % p.tensor_model_parallel_size != 0;
    const bool unequal = p.tp_comm_overlap && d.model.seq_length % (p.tensor_model_parallel_size *
                                                                    p.context_parallel_size *
                                                                    p.tp_comm_overlap_chunks) !=
                                                  0;
    const bool gathers =
        p.context_parallel_size > 1 && p.context_parallel_comm == ContextParallelComm::all_gather;
    return !unequal && !shared_heads && !gathers && p.precision != Dtype::fp8;
}

TEST(KernelOperands, GoWithTheDimensionsOfEveryLoweredKernel) {
    std::int64_t checked = 0;
    std::set<KernelKind> kinds;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        if (!listed(d)) {
            continue;
        }
        const Program program = lower(d.model, d.plan.launched_from_cpp());
        for (const Segment& segment : program.segments) {
            for (const Op& op : segment.ops) {
                if (op.kind() != OpKind::kernel) {
                    continue;
                }
                EXPECT_EQ(check_kernel_operands(program, RankId{}, op), "")
                    << segment.name << ", " << program.names[op.name] << ": " << d.text();
                kinds.insert(program.kernel(op).kind);
                ++checked;
            }
        }
    }
    EXPECT_GT(checked, 5000);
    EXPECT_GE(kinds.size(), 14U);
}

// The check sees an operand that is missing, of another size, or one too many.
TEST(KernelOperands, ThatDoNotFitAreNamed) {
    Program program = lower(tiny_gpt(), tiny_plan());
    for (const Segment& segment : program.segments) {
        for (Op op : segment.ops) {
            const KernelKind kind = program.kernel(op).kind;
            ASSERT_EQ(check_kernel_operands(program, RankId{}, op), "");
            Op fewer = op;
            --fewer.num_operands;
            EXPECT_NE(check_kernel_operands(program, RankId{}, fewer), "") << name(kind);
            Tensor& first = program.tensors[index(program.operands[op.first_operand].tensor)];
            const Bytes bytes = first.bytes;
            first.bytes = Bytes{8};
            EXPECT_NE(check_kernel_operands(program, RankId{}, op), "") << name(kind);
            first.bytes = bytes;
        }
    }
}

}  // namespace
}  // namespace orrery
