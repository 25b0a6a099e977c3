// SPDX-License-Identifier: Apache-2.0
// Parameters whose elements the sharing ranks do not divide evenly: the last rank has a shorter
// part than the others, or none, and padding behind it. Such runs save, go on and change their
// layout like any other.
#include <bit>
#include <functional>
#include <mutex>
#include <numeric>

#include "models/lowering/lowering.h"
#include "runtime/state/checkpoint_files.h"
#include "runtime/state/held_parameters.h"
#include "runtime/trainer.h"
#include "tests/runtime/communication/local_ranks.h"
#include "tests/runtime/tiny_model.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

constexpr int kSteps = 2;

struct Case {
    std::string name;
    Transformer model;
    ParallelPlan plan;
};

ParallelPlan plan_of(std::int64_t dp, ShardingStrategy sharding) {
    return {.data_parallel_size = dp,
            .data_parallel_sharding_strategy = sharding,
            .micro_batch_size = 1,
            .global_batch_size = dp,
            .precision = Dtype::fp32};
}

// Each expert on two ranks, half of it on each; and weights of experts in two shards each.
void add_experts(std::vector<Case>& cases) {
    Transformer model = tiny_llama();
    model.num_experts = 4;
    model.moe_ffn_hidden_size = 12;
    ParallelPlan split = plan_of(4, ShardingStrategy::optim);
    split.expert_model_parallel_size = 2;
    split.expert_tensor_parallel_size = 2;
    cases.push_back({"split experts", model, split});
    ParallelPlan shards = plan_of(4, ShardingStrategy::optim_grads_params);
    shards.expert_model_parallel_size = 2;
    cases.push_back({"ZeRO 3 with experts", model, shards});
}

// Three ranks cut the vectors of 16 into 6, 6 and 4; seven cut them into 3, 3, 3, 3, 3, 1 and none.
std::vector<Case> cases() {
    constexpr auto optim = ShardingStrategy::optim;
    constexpr auto all = ShardingStrategy::optim_grads_params;
    std::vector<Case> cases{
        {"ZeRO 1 of 3", tiny_gpt(), plan_of(3, optim)},
        {"ZeRO 2 of 3", tiny_llama(), plan_of(3, ShardingStrategy::optim_grads)},
        {"ZeRO 3 of 3", tiny_gpt(), plan_of(3, all)},
        {"ZeRO 1 of 7", tiny_llama(), plan_of(7, optim)},
        {"ZeRO 3 of 7", tiny_llama(), plan_of(7, all)},
    };
    ParallelPlan bf16 = plan_of(3, optim);
    bf16.precision = Dtype::bf16;
    cases.push_back({"ZeRO 1 of 3 with masters", tiny_gpt(), bf16});
    ParallelPlan lamb = plan_of(3, all);
    lamb.optimizer = Optimizer::lamb;
    lamb.precision = Dtype::bf16;
    cases.push_back({"ZeRO 3 of 3, LAMB with masters", tiny_gpt(), lamb});
    ParallelPlan tensors = plan_of(3, all);
    tensors.tensor_model_parallel_size = 2;
    tensors.sequence_parallel = true;
    cases.push_back({"ZeRO 3 of 3 beside tensor parallelism", tiny_gpt(), tensors});
    tensors.precision = Dtype::bf16;
    cases.push_back({"ZeRO 3 of 3 beside a shared key-value head", tiny_llama(), tensors});
    // Vectors of 16 in six primary shards (3, 3, 3, 3, 3, 1), secondary ones of three (6, 6, 4).
    ParallelPlan secondary = plan_of(6, all);
    secondary.zero_hpz_partition_size = 3;
    cases.push_back({"hpZ of 3 in 6", tiny_gpt(), secondary});
    secondary.fsdp_unit_layers = 2;
    secondary.overlap_param_gather = true;
    secondary.fsdp_prefetch_units = 2;
    cases.push_back({"hpZ of 3 in 6, units of two layers", tiny_llama(), secondary});
    // Hybrid sharding: two copies of three shards, three copies of two.
    ParallelPlan copies = plan_of(6, all);
    copies.hsdp_shard_size = 3;
    cases.push_back({"ZeRO 3 of 3, two copies", tiny_gpt(), copies});
    copies.hsdp_shard_size = 2;
    copies.fsdp_unit_layers = 2;
    cases.push_back({"ZeRO 3 of 2, three copies, units of two layers", tiny_llama(), copies});
    ParallelPlan single = plan_of(3, all);
    single.fsdp_unit_layers = 0;
    single.overlap_param_gather = true;
    single.reshard_after_forward = false;
    cases.push_back({"ZeRO 3 of 3, each parameter by itself", tiny_gpt(), single});
    ParallelPlan stages = plan_of(3, optim);
    stages.pipeline_model_parallel_size = 2;
    stages.overlap_grad_reduce = true;
    stages.overlap_param_gather = true;
    cases.push_back({"ZeRO 1 of 3 on two stages", tiny_gpt(), stages});
    ParallelPlan in_file = plan_of(3, optim);
    in_file.precision = Dtype::bf16;
    in_file.optimizer_cpu_offload = true;
    in_file.optimizer_offload_tier = OffloadTier::file;
    cases.push_back({"ZeRO 1 of 3, state in a file", tiny_llama(), in_file});
    add_experts(cases);
    return cases;
}

// The layout of one process with the same numbers.
ParallelPlan alone(const ParallelPlan& plan) {
    ParallelPlan one = plan_of(1, ShardingStrategy::no_shard);
    one.global_batch_size = plan.global_batch_size;
    one.precision = plan.precision;
    one.optimizer = plan.optimizer;
    return one;
}

Tokens squares() {
    std::vector<std::uint16_t> ids;
    for (std::uint32_t i = 0; i < 900; ++i) {
        ids.push_back(static_cast<std::uint16_t>((i * i + 7 * i / 3) % 32));
    }
    return Tokens::of(ids, 32);
}

TrainingJob job_in(const std::filesystem::path& folder) {
    return {.steps = 100,
            .seed = 5,
            .learning_rate = 1e-2,
            .eval_steps = 0,
            .checkpoint_folder = folder,
            .offload_folder = folder};
}

// Resumes where `from` is not empty, trains and saves. The losses of rank 0, all
// ranks having the same.
std::vector<double> run(const Case& own,
                        const std::filesystem::path& from,
                        int steps,
                        const std::filesystem::path& to) {
    std::mutex lock;
    std::vector<std::vector<double>> losses;
    const auto rank = [&](Transport* transport) {
        auto trainer = Trainer::create(own.model, own.plan, job_in(to), squares(), transport);
        ASSERT_TRUE(trainer) << trainer.error().to_string();
        if (!from.empty()) {
            const auto resumed = (*trainer)->resume(from);
            ASSERT_TRUE(resumed) << resumed.error().to_string();
        }
        std::vector<double> mine;
        for (int s = 0; s < steps; ++s) {
            const auto report = (*trainer)->step();
            ASSERT_TRUE(report) << report.error().to_string();
            mine.push_back(report->loss);
        }
        const auto saved = (*trainer)->save();
        ASSERT_TRUE(saved) << saved.error().to_string();
        const std::scoped_lock guard{lock};
        losses.push_back(std::move(mine));
    };
    const std::uint32_t ranks = lower(own.model, own.plan).num_ranks();
    if (ranks == 1) {
        rank(nullptr);
    } else {
        run_as_ranks(ranks, [&](std::unique_ptr<Transport> t) { rank(t.get()); });
    }
    EXPECT_EQ(losses.size(), ranks);
    for (const auto& other : losses) {
        EXPECT_EQ(other, losses.front());
    }
    return losses.empty() ? std::vector<double>{} : losses.front();
}

// Everything that a checkpoint holds, as whole parameters, whatever the layout that saved it.
std::map<std::string, std::vector<float>> contents(const Case& own,
                                                   const std::filesystem::path& folder) {
    std::map<std::string, std::vector<float>> all;
    const auto found = find_checkpoint(folder);
    auto files = found ? CheckpointFiles::open(*found) : fail("", "");
    if (!files) {
        ADD_FAILURE() << "no checkpoint in " << folder;
        return all;
    }
    for (const Tensor& t : lower(own.model, alone(own.plan)).tensors) {
        if (t.kind != TensorKind::weights) {
            continue;
        }
        const std::int64_t columns = t.global_shape.back();
        const std::int64_t size = std::accumulate(
            t.global_shape.begin(), t.global_shape.end(), std::int64_t{1}, std::multiplies{});
        const auto whole = ParameterBlock::whole(size / columns, columns);
        const bool mixed = own.plan.precision != Dtype::fp32;
        for (const Section s : {Section::master, Section::first_moment, Section::second_moment}) {
            std::vector<float> values(static_cast<std::size_t>(size));
            const Section section = s == Section::master && !mixed ? Section::weight : s;
            const auto read =
                files->read(t.parameter, section, whole, {0, size}, view_of(std::span{values}));
            EXPECT_TRUE(read) << read.error().to_string();
            all[std::string{name(section)} + " " + t.parameter] = std::move(values);
        }
    }
    return all;
}

TEST(UnevenShards, GoOnAfterACheckpointWithTheBitsOfARunThatNeverStopped) {
    for (const Case& own : cases()) {
        SCOPED_TRACE(own.name);
        const TestFolder folder;
        const auto straight = run(own, {}, 2 * kSteps, folder / "straight");
        auto losses = run(own, {}, kSteps, folder / "first");
        for (const double loss : run(own, folder / "first", kSteps, folder / "second")) {
            losses.push_back(loss);
        }
        EXPECT_EQ(losses, straight);
        EXPECT_EQ(contents(own, folder / "second"), contents(own, folder / "straight"));
        EXPECT_NE(contents(own, folder / "second"), contents(own, folder / "first"));
    }
}

// To one rank and back: nothing of weights, masters and moments is lost or moved, and the one rank
// goes on as the many do, to the order of sums.
TEST(UnevenShards, BecomeAnotherLayoutAndBack) {
    for (const Case& own : cases()) {
        SCOPED_TRACE(own.name);
        const TestFolder folder;
        const Case one{own.name, own.model, alone(own.plan)};
        run(own, {}, kSteps, folder / "many");
        run(one, folder / "many", 0, folder / "one");
        run(own, folder / "one", 0, folder / "back");
        const auto saved = contents(own, folder / "many");
        EXPECT_EQ(contents(own, folder / "one"), saved);
        EXPECT_EQ(contents(own, folder / "back"), saved);
        const auto expected = run(own, folder / "many", kSteps, folder / "many on");
        const auto losses = run(one, folder / "one", kSteps, folder / "one on");
        const double tolerance = own.plan.precision == Dtype::fp32 ? 2e-5 : 1e-2;
        for (std::size_t s = 0; s < expected.size(); ++s) {
            EXPECT_NEAR(losses[s], expected[s], tolerance * expected[s]) << "step " << s;
        }
    }
}

// What is behind a rank's part is padding: it stays zero.
TEST(UnevenShards, LeaveThePaddingOfTheStateAlone) {
    const Transformer model = tiny_gpt();
    const ParallelPlan plan = plan_of(7, ShardingStrategy::optim);
    const TestFolder folder;
    run_as_ranks(7, [&](std::unique_ptr<Transport> transport) {
        auto trainer =
            Trainer::create(model, plan, job_in(folder.path()), squares(), transport.get());
        ASSERT_TRUE(trainer) << trainer.error().to_string();
        ASSERT_TRUE((*trainer)->step());
        Executor& executor = (*trainer)->executor();
        std::int64_t kept = 0;
        for (const HeldParameter& p : held_parameters(executor)) {
            kept += p.own.count;
        }
        for (std::size_t t = 0; t < executor.program().tensors.size(); ++t) {
            if (executor.program().tensors[t].kind != TensorKind::optimizer) {
                continue;
            }
            const TensorView state = executor.view(to_id<TensorId>(t));
            const std::int64_t section = state.size / 2;
            EXPECT_EQ(kept < section, transport->rank() >= 5);
            for (const std::int64_t begin : {std::int64_t{0}, section}) {
                for (std::int64_t i = kept; i < section; ++i) {
                    ASSERT_EQ(load(state, begin + i), 0);
                }
            }
        }
    });
}

}  // namespace
}  // namespace orrery
