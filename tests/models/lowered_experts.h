// SPDX-License-Identifier: Apache-2.0
// Verified Programs of models with experts.
#pragma once

#include <gtest/gtest.h>

#include "engine/program/verifier.h"
#include "models/lowering/lowering.h"
#include "models/plan/validate_plan.h"
#include "tests/models/expert_models.h"
#include "tests/models/program_sums.h"

namespace orrery {

inline Program verified(const Transformer& model, const ParallelPlan& plan) {
    const Errors rules = check(model,
                               plan,
                               plan.tensor_model_parallel_size * plan.pipeline_model_parallel_size *
                                   plan.context_parallel_size * plan.data_parallel_size);
    EXPECT_TRUE(rules.empty()) << rules[0].where << ": " << rules[0].what;
    Program program = lower(model, plan);
    const Errors errors = verify(program);
    EXPECT_TRUE(errors.empty()) << errors[0].where << ": " << errors[0].what;
    return program;
}

// Experts of 4 ranks.
inline ParallelPlan four_ranks() {
    return {.data_parallel_size = 4, .global_batch_size = 16, .expert_model_parallel_size = 4};
}

inline std::vector<CollectiveCall> row_exchanges(const Program& program) {
    std::vector<CollectiveCall> calls;
    for (const CollectiveCall& call : program.collectives) {
        if (call.rows.dispatcher != 0) {
            calls.push_back(call);
        }
    }
    return calls;
}

// Ops of a role by name.
inline std::int64_t count_ops(const Program& program, std::string_view name) {
    std::int64_t count = 0;
    for_each_op(program, program.roles[0], [&](const Slot&, const Op& op) {
        count += program.names[op.name] == name ? 1 : 0;
    });
    return count;
}

}  // namespace orrery
