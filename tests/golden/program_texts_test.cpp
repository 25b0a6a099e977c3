// SPDX-License-Identifier: Apache-2.0
// Programs as they were: the texts of a few small plans in tests/golden/programs, one for each
// feature, and the fingerprints of the texts of forty drawn ones. A change of the lowering that is
// meant to change no Program changes none of them. To accept what it changes, and to see it:
//   ORRERY_WRITE_PROGRAMS=tests/golden/programs build/tests/golden/program_texts_test
// writes all texts there, those of the drawn plans into `drawn`, which git ignores: write them at
// the commit before too, elsewhere, and compare the folders.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "engine/program/program_text.h"
#include "engine/program/verifier.h"
#include "models/lowering/lowering.h"
#include "scenarios/format/provenance/fingerprint.h"
#include "tests/models/drawn_plans.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

constexpr std::uint64_t kDrawn = 40;

struct Case {
    std::string name;
    Transformer model;
    ParallelPlan plan;
};

Transformer small_gpt(std::int64_t layers) {
    return gpt(layers, 64, 4, 32, 128);
}

// Eight query heads of 8 in two groups.
Transformer small_llama(std::int64_t layers) {
    Transformer model = llama(layers, 64, 128, 2, 128);
    model.num_attention_heads = 8;
    model.kv_channels = 8;
    model.seq_length = 32;
    return model;
}

ParallelPlan plan_of(std::int64_t tp, std::int64_t pp, std::int64_t cp, std::int64_t dp) {
    return {.tensor_model_parallel_size = tp,
            .pipeline_model_parallel_size = pp,
            .context_parallel_size = cp,
            .data_parallel_size = dp,
            .global_batch_size = 2 * dp};
}

Case zero_1() {
    Case c{"zero-1", small_gpt(2), plan_of(1, 2, 1, 2)};
    c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    c.plan.global_batch_size = 6;
    c.plan.overlap_grad_reduce = true;
    c.plan.overlap_param_gather = true;
    return c;
}

Case zero_2() {
    Case c{"zero-2", small_gpt(1), plan_of(1, 1, 1, 2)};
    c.model.dropout = 0.1;
    c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads;
    c.plan.attention_kernel = AttentionKernel::unfused;
    c.plan.optimizer = Optimizer::lamb;
    return c;
}

Case zero_3() {
    Case c{"zero-3", small_llama(2), plan_of(1, 1, 1, 4)};
    c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
    c.plan.hsdp_shard_size = 2;
    c.plan.recompute_granularity = Recompute::full;
    return c;
}

// Four ranks share two key-value heads.
Case tensor_parallel() {
    Case c{"tensor-parallel", small_llama(1), plan_of(4, 1, 1, 1)};
    c.plan.sequence_parallel = true;
    c.plan.tp_comm_overlap = true;
    c.plan.tp_comm_overlap_chunks = 2;
    return c;
}

Case context_ring() {
    Case c{"context-ring", small_llama(1), plan_of(1, 1, 2, 2)};
    c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    return c;
}

Case context_all_to_all() {
    Case c{"context-all-to-all", small_gpt(1), plan_of(2, 1, 2, 1)};
    c.plan.context_parallel_comm = ContextParallelComm::all_to_all;
    return c;
}

Case context_all_gather() {
    Case c{"context-all-gather", small_llama(1), plan_of(2, 1, 2, 1)};
    c.plan.context_parallel_comm = ContextParallelComm::all_gather;
    return c;
}

Case interleaved() {
    Case c{"interleaved", small_gpt(4), plan_of(2, 2, 1, 1)};
    c.plan.virtual_pipeline_model_parallel_size = 2;
    c.plan.schedule = ScheduleKind::interleaved_1f1b;
    c.plan.global_batch_size = 4;
    c.plan.recompute_granularity = Recompute::selective;
    return c;
}

Case zero_bubble() {
    Case c{"zero-bubble", small_llama(2), plan_of(1, 2, 1, 1)};
    c.plan.schedule = ScheduleKind::zero_bubble;
    c.plan.global_batch_size = 4;
    c.plan.precision = Dtype::fp8;
    c.plan.overlap_p2p = true;
    return c;
}

Case there_and_back() {
    Case c{"dualpipev", small_gpt(4), plan_of(1, 2, 1, 1)};
    c.plan.schedule = ScheduleKind::dual_pipe_v;
    c.plan.virtual_pipeline_model_parallel_size = 2;
    c.plan.global_batch_size = 4;
    c.plan.overlap_p2p = true;
    return c;
}

Case both_ends() {
    Case c{"dualpipe", small_llama(2), plan_of(1, 2, 1, 2)};
    c.model.tied_embeddings = false;
    c.plan.schedule = ScheduleKind::dual_pipe;
    c.plan.global_batch_size = 8;
    c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    c.plan.overlap_p2p = true;
    return c;
}

Case shared_vocabulary() {
    Case c{"shared-vocabulary", small_gpt(2), plan_of(1, 2, 1, 1)};
    c.model.tied_embeddings = false;
    c.plan.vocabulary_parallel = true;
    c.plan.global_batch_size = 4;
    c.plan.overlap_p2p = true;
    return c;
}

// The weights of the first chunk are gathered beside the optimizer of the second, and all of them
// beside the next step.
Case with_optimizer_step() {
    Case c{"with-optimizer-step", small_gpt(4), plan_of(1, 2, 1, 2)};
    c.plan.virtual_pipeline_model_parallel_size = 2;
    c.plan.schedule = ScheduleKind::interleaved_1f1b;
    c.plan.global_batch_size = 8;
    c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    c.plan.overlap_grad_reduce = true;
    c.plan.overlap_param_gather = true;
    c.plan.overlap_param_gather_with_optimizer_step = true;
    return c;
}

std::vector<Case> cases() {
    return {zero_1(),
            with_optimizer_step(),
            zero_2(),
            zero_3(),
            tensor_parallel(),
            context_ring(),
            context_all_to_all(),
            context_all_gather(),
            interleaved(),
            zero_bubble(),
            there_and_back(),
            both_ends(),
            shared_vocabulary()};
}

std::string text_of(const Transformer& model, const ParallelPlan& plan) {
    const Program program = lower(model, plan);
    const Errors errors = verify(program);
    EXPECT_TRUE(errors.empty()) << errors.front().to_string();
    return to_text(program);
}

std::filesystem::path folder() {
    return std::filesystem::path{ORRERY_SOURCE_DIR} / "tests/golden/programs";
}

// Where to write texts, or empty.
std::filesystem::path write_to() {
    const char* const named = std::getenv("ORRERY_WRITE_PROGRAMS");
    return named == nullptr ? "" : named;
}

void write(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream{file} << text;
}

std::vector<std::string> lines_of(const std::filesystem::path& file) {
    std::ifstream in{file};
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

TEST(ProgramTexts, OfSmallPlansAreAsTheyWere) {
    for (const Case& c : cases()) {
        const std::int64_t gpus = c.plan.model_parallel_size() * c.plan.data_parallel_size;
        ASSERT_TRUE(check(c.model, c.plan, gpus).empty()) << c.name;
        const std::string text = text_of(c.model, c.plan);
        if (!write_to().empty()) {
            write(write_to() / (c.name + ".txt"), text);
        }
        const std::vector<std::string> golden = lines_of(folder() / (c.name + ".txt"));
        std::istringstream in{text};
        std::size_t number = 0;
        for (std::string line; std::getline(in, line); ++number) {
            ASSERT_LT(number, golden.size()) << c.name << " is longer";
            ASSERT_EQ(line, golden[number]) << c.name << ", line " << number + 1;
        }
        EXPECT_EQ(number, golden.size()) << c.name;
    }
}

TEST(ProgramTexts, OfDrawnPlansAreAsTheyWere) {
    std::string all;
    std::vector<std::string> lines;
    for (std::uint64_t seed = 0; seed < kDrawn; ++seed) {
        const DrawnPlan drawn = tiny_drawn_plan(seed);
        const std::string text = text_of(drawn.model, drawn.plan);
        Fingerprint fingerprint;
        fingerprint.add(text);
        lines.push_back(fingerprint.hexadecimal() + " " + drawn.text());
        all += lines.back() + "\n";
        if (!write_to().empty()) {
            write(write_to() / "drawn" / (std::to_string(seed) + ".txt"), text);
        }
    }
    if (!write_to().empty()) {
        write(write_to() / "drawn.txt", all);
    }
    const std::vector<std::string> golden = lines_of(folder() / "drawn.txt");
    ASSERT_EQ(lines.size(), golden.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
        EXPECT_EQ(lines[i], golden[i]);
    }
}

}  // namespace
}  // namespace orrery
