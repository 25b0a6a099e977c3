// SPDX-License-Identifier: Apache-2.0
#include "runtime/expert_loads.h"

#include <numeric>

#include "runtime/log/iteration_line.h"
#include "tests/runtime/communication/local_ranks.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

Transformer counted_experts() {
    Transformer model = tiny_llama();
    model.num_experts = 4;
    model.num_layers = 4;
    model.first_k_dense_replace = 1;
    return model;
}

std::int64_t tokens_in(const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

TEST(ExpertLoads, EveryTokenIsCountedAsOftenAsItHasExperts) {
    const Transformer model = counted_experts();
    ParallelPlan plan = tiny_plan().launched_from_cpp();
    TinyRun run{model, plan};
    run.set(DeviceScalar::epsilon, 1e-6);
    for (int step = 0; step < 2; ++step) {  // a step does not count what the one before has
        ASSERT_TRUE(run.executor().run_step());
        const auto loads = expert_loads(run.executor());
        ASSERT_TRUE(loads);
        ASSERT_EQ(loads->size(), 3u);
        EXPECT_EQ(loads->front().layer, 1);
        for (const ExpertLoad& load : *loads) {
            EXPECT_EQ(tokens_in(load.chosen),
                      plan.global_batch_size * model.seq_length * model.moe_router_topk);
            EXPECT_EQ(load.taken, load.chosen);
        }
        EXPECT_EQ(summary_of(*loads).dropped, 0);
    }
    plan.moe_expert_capacity_factor = 0.5;
    TinyRun limited{model, plan};
    limited.set(DeviceScalar::epsilon, 1e-6);
    ASSERT_TRUE(limited.executor().run_step());
    const auto some = *expert_loads(limited.executor());
    EXPECT_GE(summary_of(some).dropped, 0.5);
    const std::int64_t micro_batches = plan.num_micro_batches();
    for (const std::int64_t tokens : some[0].taken) {
        // Half of the mean of a micro-batch.
        EXPECT_LE(tokens, micro_batches * plan.micro_batch_size * model.seq_length / 4);
    }
}

TEST(ExpertLoads, AreOfAllRanksAndStages) {
    const Transformer model = counted_experts();
    ParallelPlan plan = tiny_plan().launched_from_cpp();
    plan.micro_batch_size = 1;
    plan.pipeline_model_parallel_size = 2;
    plan.data_parallel_size = 2;
    plan.expert_model_parallel_size = 2;
    const Program program = lower(model, plan);
    run_as_ranks(4, [&](std::unique_ptr<Transport> transport) {
        auto executor =
            CpuExecutor::create(program, static_cast<RankId>(transport->rank()), transport.get());
        ASSERT_TRUE(executor) << executor.error().to_string();
        initialise_weights(**executor, {.seed = 1, .num_layers = 4});
        for (std::size_t t = 0; t < program.tensors.size(); ++t) {
            if (program.tensors[t].name == "device scalars") {
                const TensorView scalars = (*executor)->view(to_id<TensorId>(t));
                store(scalars, static_cast<std::int64_t>(DeviceScalar::step), 1.0f);
                store(scalars, static_cast<std::int64_t>(DeviceScalar::epsilon), 1.0f);
            }
        }
        ASSERT_TRUE((*executor)->run_step());
        const auto loads = expert_loads(**executor);
        ASSERT_TRUE(loads);
        ASSERT_EQ(loads->size(), 3u);
        for (const ExpertLoad& load : *loads) {
            EXPECT_EQ(tokens_in(load.chosen),
                      plan.global_batch_size * model.seq_length * model.moe_router_topk);
        }
    });
}

TEST(ExpertLoads, AreToldInALineAndInJson) {
    const std::vector<ExpertLoad> loads{{.layer = 2, .chosen = {6, 2}, .taken = {4, 2}},
                                        {.layer = 3, .chosen = {4, 4}, .taken = {4, 4}}};
    const LoadSummary summary = summary_of(loads);
    EXPECT_EQ(summary.max_over_mean, 1.5);
    EXPECT_EQ(summary.dropped, 0.125);
    EXPECT_EQ(json_of(loads),
              R"([{"layer":2,"chosen":[6,2],"taken":[4,2]},)"
              R"({"layer":3,"chosen":[4,4],"taken":[4,4]}])");
    EXPECT_EQ(experts_line(20, summary),
              " experts at iteration 20 | tokens of the busiest over the mean: 1.500 | dropped "
              "(%): 12.50 |");
    TinyRun dense{tiny_gpt(), tiny_plan()};
    EXPECT_TRUE(expert_loads(dense.executor())->empty());
}

}  // namespace
}  // namespace orrery
