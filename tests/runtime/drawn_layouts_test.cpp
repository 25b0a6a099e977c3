// SPDX-License-Identifier: Apache-2.0
// Layouts and schedules drawn at random, of up to 8 ranks: what the lowering makes of them is
// executed, learns what one rank learns, and gives the same bits when run again.
#include <set>

#include "models/plan/validate_plan.h"
#include "runtime/trainable.h"
#include "tests/models/drawn_plans.h"
#include "tests/runtime/rank_training.h"

namespace orrery {
namespace {

constexpr int kLayouts = 6;  // or more, until each kind of parallelism has had its turn

// The drawn plan for a model that trains in milliseconds, in fp32, where sums can be compared.
DrawnPlan small(std::uint64_t seed) {
    DrawnPlan d = tiny_drawn_plan(seed);
    d.model.sliding_window = d.model.sliding_window > 0 ? 5 : 0;
    d.plan.precision = d.plan.gradient_dtype = Dtype::fp32;
    d.plan.ddp_bucket_size = d.plan.ddp_bucket_size / 50;
    return d;
}

bool takes_part(const DrawnPlan& d) {
    const ParallelPlan& p = d.plan;
    const std::int64_t ranks = p.model_parallel_size() * p.data_parallel_size;
    return ranks > 1 && ranks <= 8 && p.global_batch_size <= 8 && d.model.num_layers <= 4 &&
           check(d.model, p, ranks).empty() && check_trainable(d.model, p, ranks).empty();
}

ParallelPlan alone(const ParallelPlan& plan) {
    return {.micro_batch_size = plan.micro_batch_size,
            .global_batch_size = plan.global_batch_size,
            .precision = plan.precision,
            .attention_kernel = plan.attention_kernel,
            .optimizer = plan.optimizer};
}

TEST(DrawnLayouts, TrainWhatOneRankTrainsToTheSameBitsEachTime) {
    int trained = 0;
    std::set<std::string> kinds;  // and "" for none
    for (std::uint64_t seed = 1; trained < kLayouts || kinds.size() < 6; ++seed) {
        const DrawnPlan d = small(seed);
        if (!takes_part(d)) {
            continue;
        }
        SCOPED_TRACE(d.text());
        const ParallelPlan& p = d.plan;
        kinds.insert(p.tensor_model_parallel_size > 1 ? "tp" : "");
        kinds.insert(p.tensor_model_parallel_size > d.model.num_query_groups ? "shared heads" : "");
        kinds.insert(p.pipeline_model_parallel_size > 1 ? "pp" : "");
        kinds.insert(p.context_parallel_size > 1 ? "cp" : "");
        kinds.insert(p.data_parallel_size > 1 ? "dp" : "");
        const Training one = train(d.model, alone(p), 2);
        const Training many = train(d.model, p, 2);
        for (std::size_t s = 0; s < one.losses.size(); ++s) {
            EXPECT_NEAR(many.losses[s], one.losses[s], 1e-4 * one.losses[s]) << "step " << s;
            EXPECT_NEAR(many.norms[s], one.norms[s], 1e-3 * one.norms[s]) << "step " << s;
        }
        EXPECT_EQ(train(d.model, p, 2), many);
        ++trained;
    }
}

}  // namespace
}  // namespace orrery
