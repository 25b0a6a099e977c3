// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/training_state.h"

#include <mutex>

#include "runtime/state/held_parameters.h"
#include "runtime/state/safetensors.h"
#include "runtime/state/weight_names.h"
#include "tests/runtime/communication/local_ranks.h"
#include "tests/runtime/tiny_model.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

ParallelPlan bf16_plan() {
    ParallelPlan plan = tiny_plan();
    plan.precision = Dtype::bf16;
    return plan;
}

// The weights are their own masters.
ParallelPlan bf16_only_plan() {
    ParallelPlan plan = bf16_plan();
    plan.main_params_dtype = Dtype::bf16;
    plan.bf16_stochastic_round = true;
    return plan;
}

RunState state_of(const Transformer& model, const ParallelPlan& plan, std::int64_t step) {
    return {.model = model,
            .precision = std::string{name(plan.precision)},
            .main_params_dtype = std::string{name(plan.main_params_dtype)},
            .seed = 1,
            .global_batch_size = plan.global_batch_size,
            .step = step,
            .consumed_samples = step * plan.global_batch_size};
}

void run_steps(TinyRun& run, std::int64_t first, std::int64_t last, std::vector<double>& losses) {
    for (std::int64_t s = first; s <= last; ++s) {
        run.set(DeviceScalar::step, static_cast<double>(s));
        run.set(DeviceScalar::learning_rate, 1e-2);
        run.set(DeviceScalar::beta1, 0.9);
        run.set(DeviceScalar::beta2, 0.95);
        run.set(DeviceScalar::epsilon, 1e-8);
        ASSERT_TRUE(run.executor().run_step());
        losses.push_back(run.loss());
    }
}

std::vector<float> weights_of(TinyRun& run) {
    std::vector<float> all;
    for (const std::string& parameter : run.parameters()) {
        const std::vector<float> values = run.values(parameter);
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

TEST(ResumeTraining, GoesOnAsIfItHadNeverStopped) {
    const TestFolder folder;
    for (const Transformer& model : {tiny_gpt(), tiny_llama()}) {
        for (const ParallelPlan& plan : {tiny_plan(), bf16_plan(), bf16_only_plan()}) {
            TinyRun straight{model, plan};
            std::vector<double> expected;
            run_steps(straight, 1, 10, expected);

            TinyRun saved{model, plan};
            std::vector<double> losses;
            run_steps(saved, 1, 5, losses);
            ASSERT_TRUE(save_training(saved.executor(), state_of(model, plan, 5), folder.path()));
            TinyRun resumed{model, plan};
            const RunState now = state_of(model, plan, 0);
            const auto state = resume_training(resumed.executor(), now, folder.path());
            ASSERT_TRUE(state) << state.error().to_string();
            EXPECT_EQ(state->step, 5);
            run_steps(resumed, 6, 10, losses);
            EXPECT_EQ(losses, expected);
            EXPECT_EQ(weights_of(resumed), weights_of(straight));
            EXPECT_NE(losses.front(), losses.back());
        }
    }
}

// What the one kind of run keeps the other can't make up.
TEST(ResumeTraining, WithOtherMasterCopiesIsAnError) {
    const TestFolder folder;
    const Transformer model = tiny_gpt();
    TinyRun saved{model, bf16_plan()};
    const RunState before = state_of(model, bf16_plan(), 5);
    ASSERT_TRUE(save_training(saved.executor(), before, folder.path()));
    TinyRun other{model, bf16_only_plan()};
    const RunState now = state_of(model, bf16_only_plan(), 0);
    const auto state = resume_training(other.executor(), now, folder.path());
    ASSERT_FALSE(state);
    EXPECT_EQ(state.error().what,
              "is of another run: plan.main_params_dtype is fp32 there and bf16 here");
}

TEST(ExportWeights, AreImportedAsTheyWere) {
    for (const Transformer& model : {tiny_gpt(), tiny_llama()}) {
        for (const ParallelPlan& plan : {tiny_plan(), bf16_plan(), bf16_only_plan()}) {
            const TestFolder folder;
            TinyRun run{model, plan};
            ASSERT_TRUE(save_training(run.executor(), state_of(model, plan, 1), folder.path()));
            const auto file = folder / "model.safetensors";
            ASSERT_TRUE(export_weights(folder.path(), file, "F32"));
            EXPECT_EQ(Safetensors::open(file)->tensors().size(),
                      hugging_face_weights(model)->size());

            TinyRun other{model, plan, 99};
            EXPECT_NE(weights_of(other), weights_of(run));
            ASSERT_TRUE(import_weights(other.executor(), model, file));
            EXPECT_EQ(weights_of(other), weights_of(run));
            const auto masters = held_parameters(run.executor());
            const auto imported = held_parameters(other.executor());
            for (std::size_t p = 0; p < masters.size(); ++p) {
                for (std::int64_t i = 0; i < masters[p].master.size; ++i) {
                    ASSERT_EQ(load(imported[p].master, i), load(masters[p].master, i));
                }
            }
        }
    }
}

TEST(ExportWeights, GoWhereALinkLeadsAndKeepTheLink) {
    const TestFolder folder;
    TinyRun run{tiny_gpt(), tiny_plan()};
    const RunState state = state_of(tiny_gpt(), tiny_plan(), 1);
    ASSERT_TRUE(save_training(run.executor(), state, folder.path()));
    std::filesystem::create_directory(folder / "elsewhere");
    std::filesystem::create_symlink("elsewhere/real", folder / "link");
    ASSERT_TRUE(export_weights(folder.path(), folder / "link", "F32"));
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
    EXPECT_TRUE(Safetensors::open(folder / "elsewhere" / "real"));
}

TEST(ExportWeights, RoundsToTheTypeAskedFor) {
    const TestFolder folder;
    TinyRun run{tiny_gpt(), tiny_plan()};
    const RunState state = state_of(tiny_gpt(), tiny_plan(), 1);
    ASSERT_TRUE(save_training(run.executor(), state, folder.path()));
    ASSERT_TRUE(export_weights(folder.path(), folder / "m", "BF16"));
    const auto file = Safetensors::open(folder / "m");
    ASSERT_TRUE(file);
    const auto wte = *file->floats(*file->find("transformer.wte.weight"));
    const auto expected = run.values("embedding.word_embeddings.weight");
    ASSERT_EQ(wte.size(), expected.size());
    for (std::size_t i = 0; i < wte.size(); ++i) {
        EXPECT_EQ(wte[i], float_of_bf16(bf16_of_float(expected[i])));
    }
    EXPECT_NE(read_text(folder / "config.json").find("\"torch_dtype\": \"bfloat16\""),
              std::string::npos);
}

TEST(ImportWeights, OfAnotherModelChangesNothing) {
    const TestFolder folder;
    TinyRun gpt{tiny_gpt(), tiny_plan()};
    const RunState state = state_of(tiny_gpt(), tiny_plan(), 1);
    ASSERT_TRUE(save_training(gpt.executor(), state, folder.path()));
    ASSERT_TRUE(export_weights(folder.path(), folder / "m", "F32"));
    TinyRun llama{tiny_llama(), tiny_plan()};
    const auto before = weights_of(llama);
    const auto imported = import_weights(llama.executor(), tiny_llama(), folder / "m");
    ASSERT_FALSE(imported);
    EXPECT_GT(imported.error().size(), 10U);
    EXPECT_EQ(weights_of(llama), before);
}

TEST(ExportWeights, NeedsACheckpointOfAModelWithNames) {
    const TestFolder folder;
    EXPECT_FALSE(export_weights(folder.path(), folder / "m", "F32"));
    Transformer model = tiny_gpt();
    model.add_bias_linear = false;
    TinyRun run{model, tiny_plan()};
    ASSERT_TRUE(save_training(run.executor(), state_of(model, tiny_plan(), 1), folder.path()));
    const auto exported = export_weights(folder.path(), folder / "m", "F32");
    ASSERT_FALSE(exported);
    EXPECT_NE(exported.error().what.find("no GPT-2, Llama, Qwen2 or Mixtral"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(folder / "m"));
}

// Ranks of a plan, each a thread; `body` runs on each with its executor.
void as_ranks(const Program& program,
              std::uint32_t ranks,
              const std::function<void(CpuExecutor&)>& body) {
    run_as_ranks(ranks, [&](std::unique_ptr<Transport> transport) {
        const auto rank = static_cast<RankId>(transport->rank());
        auto executor = CpuExecutor::create(program, rank, transport.get());
        ASSERT_TRUE(executor) << executor.error().to_string();
        body(**executor);
    });
}

// One rank's weights come back after two ranks have loaded and saved them: data-parallel ones that
// share the optimizer's state or the weights too, pipeline stages, tensor-parallel ones, which in
// the Llama share a key-value head.
void expect_same_weights_after_two_ranks(const Transformer& model) {
    const TestFolder folder;
    TinyRun one{model, bf16_plan()};
    std::vector<double> losses;
    run_steps(one, 1, 3, losses);
    ASSERT_TRUE(save_training(one.executor(), state_of(model, bf16_plan(), 3), folder / "one"));

    ParallelPlan shared = bf16_plan();
    shared.data_parallel_size = 2;
    shared.data_parallel_sharding_strategy = ShardingStrategy::optim;
    ParallelPlan stages = bf16_plan();
    stages.pipeline_model_parallel_size = 2;
    ParallelPlan sharded = shared;
    sharded.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
    ParallelPlan tensors = bf16_plan();
    tensors.tensor_model_parallel_size = 2;
    for (const ParallelPlan& plan : {shared, stages, sharded, tensors}) {
        const Program program = lower(model, plan);
        std::filesystem::remove_all(folder / "two");
        as_ranks(program, 2, [&](CpuExecutor& executor) {
            RunState state = state_of(model, plan, 0);
            const auto loaded = resume_training(executor, state, folder / "one");
            ASSERT_TRUE(loaded) << loaded.error().to_string();
            state.step = loaded->step;
            const auto saved = save_training(executor, state, folder / "two");
            ASSERT_TRUE(saved) << saved.error().to_string();
        });
        TinyRun back{model, bf16_plan(), 55};
        const auto state =
            resume_training(back.executor(), state_of(model, bf16_plan(), 0), folder / "two");
        ASSERT_TRUE(state) << state.error().to_string();
        EXPECT_EQ(weights_of(back), weights_of(one));
        // The optimizer's state came along: the next steps are those of the one rank.
        TinyRun again{model, bf16_plan(), 55};
        ASSERT_TRUE(
            resume_training(again.executor(), state_of(model, bf16_plan(), 0), folder / "one"));
        std::vector<double> now;
        std::vector<double> expected;
        run_steps(back, 4, 6, now);
        run_steps(again, 4, 6, expected);
        EXPECT_EQ(now, expected);
    }
}

TEST(ResumeTraining, RanksOfAnotherLayoutGoOnFromTheSameWeights) {
    expect_same_weights_after_two_ranks(tiny_gpt());
    expect_same_weights_after_two_ranks(tiny_llama());
}

// Two ranks, each with half of the columns of the model's one key-value head.
TEST(ExportWeights, OfRanksThatShareAKeyValueHeadAreThoseOfOneRank) {
    const TestFolder folder;
    const Transformer model = tiny_llama();
    TinyRun one{model, bf16_plan()};
    ASSERT_TRUE(save_training(one.executor(), state_of(model, bf16_plan(), 1), folder / "one"));
    ASSERT_TRUE(export_weights(folder / "one", folder / "model.safetensors", "F32"));
    ParallelPlan plan = bf16_plan();
    plan.tensor_model_parallel_size = 2;
    const Program program = lower(model, plan);
    as_ranks(program, 2, [&](CpuExecutor& executor) {
        const auto imported = import_weights(executor, model, folder / "model.safetensors");
        ASSERT_TRUE(imported) << imported.error().front().to_string();
        ASSERT_TRUE(save_training(executor, state_of(model, plan, 1), folder / "two"));
    });
    std::filesystem::create_directory(folder / "back");
    ASSERT_TRUE(export_weights(folder / "two", folder / "back" / "model.safetensors", "F32"));
    EXPECT_EQ(read_text(folder / "back" / "model.safetensors"),
              read_text(folder / "model.safetensors"));
}

TEST(SaveTraining, ARankWithoutAFolderFailsOnAll) {
    const TestFolder folder;
    write_text(folder / "file", "");
    ParallelPlan plan = tiny_plan();
    plan.data_parallel_size = 2;
    const Program program = lower(tiny_gpt(), plan);
    std::mutex lock;
    std::vector<std::string> errors;
    as_ranks(program, 2, [&](CpuExecutor& executor) {
        const auto saved =
            save_training(executor, state_of(tiny_gpt(), plan, 1), folder / "file/run");
        const std::lock_guard guard{lock};
        errors.push_back(saved ? "" : saved.error().what);
    });
    ASSERT_EQ(errors.size(), 2U);
    EXPECT_NE(errors[0], "");
    EXPECT_NE(errors[1], "");
    EXPECT_NE(errors[0], errors[1]);
}

}  // namespace
}  // namespace orrery
