// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <regex>

#include "models/plan/pipeline_split.h"
#include "models/plan/rank_mesh.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

struct Case {
    Transformer model = llama3_8b();  // 32 heads in 8 groups, 32 layers, ffn 14336, 8192 tokens
    ParallelPlan plan{.tensor_model_parallel_size = 4,
                      .pipeline_model_parallel_size = 2,
                      .context_parallel_size = 2,
                      .sequence_parallel = true,
                      .global_batch_size = 128};
    std::int64_t num_gpus = 64;
    Errors errors() const { return check(model, plan, num_gpus); }
};

std::string text(const Errors& errors) {
    std::string all;
    for (const Error& error : errors) {
        all += error.to_string() + "\n";
    }
    return all;
}

// The only error of the good case after this change.
Error only_error(const std::function<void(Case&)>& change) {
    Case c;
    change(c);
    const Errors errors = c.errors();
    EXPECT_EQ(errors.size(), 1u) << text(errors);
    return errors.empty() ? Error{} : errors.front();
}

TEST(ValidatePlan, AcceptsAGoodPlan) {
    EXPECT_EQ(text(Case{}.errors()), "");
}

TEST(ValidatePlan, AcceptsPublishedPlans) {
    // MegaScale, 2024: 12,288 GPUs, 6 chunks a stage.
    const ParallelPlan megascale{.tensor_model_parallel_size = 8,
                                 .pipeline_model_parallel_size = 8,
                                 .virtual_pipeline_model_parallel_size = 6,
                                 .sequence_parallel = true,
                                 .global_batch_size = 6144,
                                 .schedule = ScheduleKind::interleaved_1f1b};
    EXPECT_EQ(text(check(gpt(96, 12288, 128, 2048, 64000), megascale, 12288)), "");
    // Llama 3 405B, 2024: 16,384 GPUs, 126 layers on 128 places, 131,072 tokens on 16 ranks.
    Transformer llama = llama3_405b();
    const ParallelPlan short_context{.tensor_model_parallel_size = 8,
                                     .pipeline_model_parallel_size = 16,
                                     .virtual_pipeline_model_parallel_size = 8,
                                     .sequence_parallel = true,
                                     .global_batch_size = 2048,
                                     .schedule = ScheduleKind::interleaved_1f1b,
                                     .embedding_and_loss_as_layers = true};
    EXPECT_EQ(text(check(llama, short_context, 16384)), "");
    llama.seq_length = 131072;
    ParallelPlan long_context = short_context;
    long_context.context_parallel_size = 16;
    long_context.global_batch_size = 128;
    EXPECT_EQ(text(check(llama, long_context, 16384)), "");
    // llm-foundry: FSDP alone, 30 layers of 2,560.
    const ParallelPlan fsdp{.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params,
                            .micro_batch_size = 10,
                            .global_batch_size = 1280};
    EXPECT_EQ(text(check(gpt(30, 2560, 20, 2048, 50368), fsdp, 64)), "");
}

// The key to be named, and a change to the good case that breaks one of its rules.
const std::vector<std::pair<std::string, std::function<void(Case&)>>> kBrokenRules{
    {"model.num_query_groups", [](Case& c) { c.model.num_query_groups = 12; }},
    {"model.vocab_size", [](Case& c) { c.model.vocab_size = 128257; }},
    {"model.hidden_size", [](Case& c) { c.model.hidden_size = 0; }},
    {"model.sliding_window", [](Case& c) { c.model.sliding_window = -1; }},
    {"cluster.nodes", [](Case& c) { c.num_gpus = 0; }},
    {"plan.tensor_model_parallel_size", [](Case& c) { c.model.ffn_hidden_size = 14338; }},
    {"plan.tensor_model_parallel_size", [](Case& c) { c.model.hidden_size = 4098; }},
    {"plan.tensor_model_parallel_size", [](Case& c) { c.num_gpus = 72; }},
    {"plan.tensor_model_parallel_size", [](Case& c) { c.plan.tensor_model_parallel_size = -4; }},
    {"plan.sequence_parallel", [](Case& c) { c.plan.tensor_model_parallel_size = 1; }},
    {"plan.sequence_parallel", [](Case& c) { c.model.seq_length = 8196; }},
    {"plan.context_parallel_size",
     [](Case& c) {
         c.plan.sequence_parallel = false;
         c.model.seq_length = 8190;
     }},
    {"plan.context_parallel_size",
     [](Case& c) {
         c.model.num_attention_heads = 24;  // of a rank 6, in 3 groups
         c.model.num_query_groups = 12;
         c.plan.context_parallel_comm = ContextParallelComm::all_to_all;
     }},
    {"plan.context_parallel_comm", [](Case& c) { c.model.sliding_window = 4096; }},
    {"plan.context_parallel_comm",
     [](Case& c) { c.plan.attention_kernel = AttentionKernel::unfused; }},
    {"plan.tp_comm_overlap",
     [](Case& c) {
         c.plan.sequence_parallel = false;
         c.plan.tp_comm_overlap = true;
     }},
    {"plan.tp_comm_overlap_chunks", [](Case& c) { c.plan.tp_comm_overlap_chunks = 1'000'000; }},
    {"plan.tp_comm_overlap_chunks", [](Case& c) { c.plan.tp_comm_overlap_chunks = 0; }},
    {"plan.pipeline_model_parallel_size", [](Case& c) { c.model.num_layers = 33; }},
    {"plan.virtual_pipeline_model_parallel_size",
     [](Case& c) {
         c.plan.schedule = ScheduleKind::interleaved_1f1b;
         c.plan.virtual_pipeline_model_parallel_size = 3;
     }},
    {"plan.virtual_pipeline_model_parallel_size",
     [](Case& c) {
         c.plan.schedule = ScheduleKind::breadth_first;
         c.plan.pipeline_model_parallel_size = 1;
         c.plan.virtual_pipeline_model_parallel_size = 2;
     }},
    {"plan.schedule", [](Case& c) { c.plan.virtual_pipeline_model_parallel_size = 2; }},
    {"plan.pipeline_layout",
     [](Case& c) {
         c.plan.pipeline_layout = {16, 15};
     }},
    {"plan.global_batch_size", [](Case& c) { c.plan.global_batch_size = 130; }},
    {"plan.global_batch_size", [](Case& c) { c.plan.global_batch_size = 4'000'000; }},
    {"model.kv_channels", [](Case& c) { c.model.kv_channels = 65'536; }},
    {"plan.micro_batch_size", [](Case& c) { c.plan.micro_batch_size = 0; }},
    {"plan.hsdp_shard_size", [](Case& c) { c.plan.hsdp_shard_size = 2; }},
    {"plan.hsdp_shard_size",
     [](Case& c) {
         c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
         c.plan.hsdp_shard_size = 3;
     }},
    {"plan.precision", [](Case& c) { c.plan.precision = Dtype::int8; }},
    {"plan.gradient_dtype", [](Case& c) { c.plan.gradient_dtype = Dtype::fp8; }},
};

// The same of the state's shards and of recomputation.
const std::vector<std::pair<std::string, std::function<void(Case&)>>> kBrokenStateRules{
    {"plan.zero_hpz_partition_size", [](Case& c) { c.plan.zero_hpz_partition_size = 2; }},
    {"plan.zero_hpz_partition_size",
     [](Case& c) {
         c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
         c.plan.zero_hpz_partition_size = 3;
     }},
    {"plan.reshard_after_forward",
     [](Case& c) {
         c.plan.pipeline_model_parallel_size = 2;
         c.plan.reshard_after_forward = false;
     }},
    {"plan.reshard_after_forward",
     [](Case& c) {
         c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
         c.plan.pipeline_model_parallel_size = 1;
         c.plan.zero_hpz_partition_size = 2;
         c.plan.reshard_after_forward = false;
     }},
    {"plan.fsdp_unit_layers", [](Case& c) { c.plan.fsdp_unit_layers = 1'000; }},
    {"plan.fsdp_prefetch_units", [](Case& c) { c.plan.fsdp_prefetch_units = 0; }},
    {"plan.stage3_max_reuse_distance", [](Case& c) { c.plan.stage3_max_reuse_distance = -1; }},
    {"plan.fsdp_unit_layers",
     [](Case& c) {
         c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
         c.plan.stage3_max_reuse_distance = 0;
         c.plan.fsdp_unit_layers = 2;
     }},
    {"plan.recompute_num_layers", [](Case& c) { c.plan.recompute_num_layers = 0; }},
    {"plan.recompute_num_layers",
     [](Case& c) {
         c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
         c.plan.recompute_granularity = Recompute::full;
         c.plan.recompute_num_layers = 2;
     }},
    {"plan.recompute_modules", [](Case& c) { c.plan.recompute_modules = 16 | 1; }},
};

TEST(ValidatePlan, NamesTheKeyThatBreaksTheRule) {
    for (const auto& rules : {kBrokenRules, kBrokenStateRules}) {
        for (std::size_t i = 0; i < rules.size(); ++i) {
            const Error error = only_error(rules[i].second);
            EXPECT_EQ(error.where, rules[i].first) << "case " << i << ": " << error.to_string();
            EXPECT_FALSE(error.what.empty() || error.hint.empty()) << error.to_string();
        }
    }
}

TEST(ValidatePlan, OnlyBf16WeightsAreTheirOwnMastersAndRoundedStochastically) {
    for (const Dtype precision : {Dtype::fp32, Dtype::fp16, Dtype::bf16, Dtype::fp8}) {
        const bool refused = precision == Dtype::fp32 || precision == Dtype::fp16;
        const auto text_of = [&](auto change) {
            Case c;
            c.plan.precision = precision;
            change(c.plan);
            return text(check(c.model, c.plan, c.num_gpus));
        };
        const std::string own = text_of([](ParallelPlan& p) { p.main_params_dtype = Dtype::bf16; });
        EXPECT_EQ(own.find("plan.main_params_dtype: error") != own.npos, refused) << own;
        const std::string rounded =
            text_of([](ParallelPlan& p) { p.bf16_stochastic_round = true; });
        EXPECT_EQ(rounded.find("plan.bf16_stochastic_round: error") != own.npos, refused);
        const std::string other =
            text_of([](ParallelPlan& p) { p.main_params_dtype = Dtype::fp16; });
        EXPECT_NE(other.find("plan.main_params_dtype: error"), other.npos);
    }
}

TEST(ValidatePlan, SaysWhatWouldDo) {
    EXPECT_EQ(only_error([](Case& c) { c.plan.global_batch_size = 130; }).to_string(),
              "plan.global_batch_size: error: 130 is not divisible by micro_batch_size 1 x data "
              "parallel 4 (hint: 128 or 132)");
    EXPECT_EQ(only_error([](Case& c) { c.model.vocab_size = 50257; }).to_string(),
              "model.vocab_size: error: 50257 is not divisible by tensor_model_parallel_size 4 "
              "(hint: pad it to 50260)");
    Case c;
    c.plan.tensor_model_parallel_size = 3;
    c.num_gpus = 48;
    EXPECT_EQ(c.errors().at(0).to_string(),
              "plan.tensor_model_parallel_size: error: 3 does not divide num_attention_heads 32 "
              "(hint: 1, 2, 4, 8, 16, 32)");
}

TEST(ValidatePlan, TensorParallelMayBeAMultipleOfTheQueryGroups) {
    Case c;
    c.plan.tensor_model_parallel_size = 16;
    EXPECT_EQ(text(c.errors()), "");
    c.model.num_attention_heads = 48;
    c.model.num_query_groups = 12;
    c.plan.tensor_model_parallel_size = 8;
    ASSERT_EQ(c.errors().size(), 1u) << text(c.errors());
    EXPECT_EQ(c.errors()[0].hint, "1, 2, 3, 4, 6, 12, or a multiple of 12");
}

// A ring needs two pieces a rank, an exchange of heads needs heads instead.
TEST(ValidatePlan, ContextParallelRulesDependOnItsCommunication) {
    Case c;
    c.plan.sequence_parallel = false;
    c.model.seq_length = 8190;  // 2 x 4095
    EXPECT_EQ(c.errors().size(), 1u) << text(c.errors());
    c.plan.context_parallel_comm = ContextParallelComm::all_to_all;
    EXPECT_EQ(text(c.errors()), "");
}

TEST(ValidatePlan, AnAllGatherOfKeysNeedsTwoPiecesAndAFlashKernel) {
    Case c;
    c.plan.sequence_parallel = false;
    c.plan.context_parallel_comm = ContextParallelComm::all_gather;
    EXPECT_EQ(text(c.errors()), "");
    c.model.sliding_window = 4096;
    ASSERT_EQ(c.errors().size(), 1u) << text(c.errors());
    EXPECT_EQ(c.errors()[0].what, "an all-gather can't attend to a window of 4096 tokens");
    c.model.sliding_window = 0;
    c.plan.attention_kernel = AttentionKernel::unfused;
    ASSERT_EQ(c.errors().size(), 1u) << text(c.errors());
    EXPECT_EQ(c.errors()[0].what, "an all-gather needs a flash attention kernel");
    c.plan.attention_kernel = AttentionKernel::flash_2;
    c.model.seq_length = 8190;  // 2 x 4095
    EXPECT_EQ(c.errors().size(), 1u) << text(c.errors());
}

TEST(ValidatePlan, InterleavingTakesAnyNumberOfMicroBatches) {
    Case c;
    c.plan.schedule = ScheduleKind::interleaved_1f1b;
    c.plan.virtual_pipeline_model_parallel_size = 4;
    c.plan.global_batch_size = 4 * 7;  // seven micro-batches on two stages
    EXPECT_EQ(text(c.errors()), "");
}

TEST(ValidatePlan, AGatherWithTheOptimizerStepNeedsChunksAndShardsThatAreGathered) {
    const auto errors_of = [](const std::function<void(ParallelPlan&)>& change) {
        Case c;
        c.plan.virtual_pipeline_model_parallel_size = 2;
        c.plan.schedule = ScheduleKind::interleaved_1f1b;
        c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
        c.plan.overlap_param_gather = true;
        c.plan.overlap_param_gather_with_optimizer_step = true;
        change(c.plan);
        for (const Error& error : c.errors()) {
            EXPECT_EQ(error.where, "plan.overlap_param_gather_with_optimizer_step");
        }
        return c.errors().size();
    };
    EXPECT_EQ(errors_of([](ParallelPlan&) {}), 0u);
    EXPECT_EQ(errors_of([](ParallelPlan& p) { p.overlap_param_gather = false; }), 1u);
    for (const ShardingStrategy other :
         {ShardingStrategy::no_shard, ShardingStrategy::optim_grads_params}) {
        EXPECT_EQ(errors_of([&](ParallelPlan& p) { p.data_parallel_sharding_strategy = other; }),
                  1u);
    }
    EXPECT_EQ(errors_of([](ParallelPlan& p) {
                  p.virtual_pipeline_model_parallel_size = 1;
                  p.schedule = ScheduleKind::one_f_one_b;
              }),
              1u);
}

TEST(ValidatePlan, CollectsAllErrors) {
    Case c;
    c.model.num_layers = 33;
    c.model.vocab_size = 50257;
    c.plan.global_batch_size = 130;
    c.plan.sequence_parallel = false;
    c.plan.tp_comm_overlap = true;
    c.plan.virtual_pipeline_model_parallel_size = 2;
    EXPECT_EQ(c.errors().size(), 5u) << text(c.errors());
    c.plan.micro_batch_size = 0;
    c.plan.context_parallel_size = 0;
    EXPECT_EQ(c.errors().size(), 2u) << text(c.errors());  // nothing can be divided by zero
}

TEST(ValidatePlan, SurvivesAnyNumbers) {
    std::mt19937_64 random(3);
    const auto draw = [&] {
        const std::int64_t extremes[] = {0, 1, -1, 3, 64, 1'000'000'000, INT64_MAX, INT64_MIN};
        return extremes[random() % 8];
    };
    for (int i = 0; i < 3000; ++i) {
        Case c;
        for (std::int64_t* number : {&c.model.num_layers,
                                     &c.model.hidden_size,
                                     &c.model.num_attention_heads,
                                     &c.model.num_query_groups,
                                     &c.model.seq_length,
                                     &c.model.vocab_size,
                                     &c.plan.tensor_model_parallel_size,
                                     &c.plan.pipeline_model_parallel_size,
                                     &c.plan.virtual_pipeline_model_parallel_size,
                                     &c.plan.context_parallel_size,
                                     &c.plan.micro_batch_size,
                                     &c.plan.global_batch_size,
                                     &c.plan.hsdp_shard_size,
                                     &c.num_gpus}) {
            if (random() % 8 == 0) {
                *number = draw();
            }
        }
        if (random() % 4 == 0) {
            c.plan.pipeline_layout = {draw(), draw()};
        }
        c.errors();
    }
}

// Drawn plans: what is accepted divides into whole shards; what is rejected names a number in its
// hint that lifts this very error.
class DrawnPlans {
public:
    Case next() {
        Case c;
        const auto pick = [&](std::initializer_list<std::int64_t> values) {
            return values.begin()[random_() % values.size()];
        };
        c.model.num_attention_heads = pick({12, 32, 48});
        c.model.num_query_groups = pick({4, 6, 12});
        c.model.hidden_size = c.model.num_attention_heads * 128;
        c.model.num_layers = pick({24, 30, 32});
        c.model.seq_length = pick({2048, 3000, 8192});
        c.model.vocab_size = pick({50257, 50304});
        c.plan.tensor_model_parallel_size = pick({1, 2, 3, 4, 8});
        c.plan.pipeline_model_parallel_size = pick({1, 2, 3, 4, 7});
        c.plan.virtual_pipeline_model_parallel_size = pick({1, 1, 2, 3});
        c.plan.schedule =
            pick({0, 1}) == 0 ? ScheduleKind::one_f_one_b : ScheduleKind::interleaved_1f1b;
        c.plan.context_parallel_size = pick({1, 1, 2, 3});
        c.plan.sequence_parallel = pick({0, 1}) == 1;
        c.plan.micro_batch_size = pick({1, 2, 3});
        c.plan.global_batch_size = pick({96, 128, 100});
        c.num_gpus = pick({8, 48, 64, 96});
        return c;
    }

private:
    std::mt19937 random_{11};
};

TEST(ValidatePlan, WhatItAcceptsDividesIntoWholeShards) {
    DrawnPlans plans;
    int accepted = 0;
    for (int i = 0; i < 10000; ++i) {
        Case c = plans.next();
        if (!c.errors().empty()) {
            continue;
        }
        ++accepted;
        ParallelPlan& plan = c.plan;
        plan.data_parallel_size = derived_data_parallel_size(plan, c.num_gpus);
        EXPECT_EQ(rank_mesh(plan).num_ranks(), c.num_gpus);
        EXPECT_EQ(plan.num_micro_batches() * plan.micro_batch_size * plan.data_parallel_size,
                  plan.global_batch_size);
        EXPECT_EQ(c.model.num_attention_heads % plan.tensor_model_parallel_size, 0);
        EXPECT_EQ(c.model.ffn_hidden_size % plan.tensor_model_parallel_size, 0);
        EXPECT_EQ(c.model.vocab_size % plan.tensor_model_parallel_size, 0);
        EXPECT_EQ(c.model.seq_length % plan.context_parallel_size, 0);
        EXPECT_EQ(std::ssize(layers_of_stages(c.model, plan)),
                  plan.pipeline_model_parallel_size * plan.virtual_pipeline_model_parallel_size);
    }
    EXPECT_GT(accepted, 100);
}

std::int64_t* number_at(Case& c, const std::string& key) {
    const std::vector<std::pair<std::string, std::int64_t*>> numbers{
        {"model.num_query_groups", &c.model.num_query_groups},
        {"model.vocab_size", &c.model.vocab_size},
        {"plan.tensor_model_parallel_size", &c.plan.tensor_model_parallel_size},
        {"plan.pipeline_model_parallel_size", &c.plan.pipeline_model_parallel_size},
        {"plan.virtual_pipeline_model_parallel_size", &c.plan.virtual_pipeline_model_parallel_size},
        {"plan.context_parallel_size", &c.plan.context_parallel_size},
        {"plan.global_batch_size", &c.plan.global_batch_size},
        {"plan.hsdp_shard_size", &c.plan.hsdp_shard_size}};
    const auto found =
        std::ranges::find(numbers, key, &std::pair<std::string, std::int64_t*>::first);
    return found == numbers.end() ? nullptr : found->second;
}

// The kind of an error: its key and its words without the numbers.
std::string kind(const Error& error) {
    return error.where + std::regex_replace(error.what, std::regex("[0-9]+"), "N");
}

TEST(ValidatePlan, EveryNumberOfAHintLiftsTheError) {
    DrawnPlans plans;
    const std::regex number("[0-9]+");
    int tried = 0;
    for (int i = 0; i < 500; ++i) {
        const Case drawn = plans.next();
        for (const Error& error : drawn.errors()) {
            Case probe = drawn;
            if (number_at(probe, error.where) == nullptr || error.hint.starts_with("a product")) {
                continue;
            }
            for (std::sregex_iterator it(error.hint.begin(), error.hint.end(), number), end;
                 it != end;
                 ++it) {
                Case mended = drawn;
                *number_at(mended, error.where) = std::stoll(it->str());
                for (const Error& left : mended.errors()) {
                    EXPECT_NE(kind(left), kind(error))
                        << error.to_string() << "\nwith " << it->str() << ": " << left.to_string();
                }
                ++tried;
            }
        }
    }
    EXPECT_GT(tried, 1000);
}

TEST(ValidatePlan, ADeviceIsAskedForNothingThatItDoesNotHave) {
    DeviceSpec volta{.name = "volta", .bf16 = false, .attention_kernels = {"unfused"}};
    const auto keys = [&](const ParallelPlan& plan) {
        std::string all;
        for (const Error& error : check_device(plan, volta)) {
            all += error.where + " ";
        }
        return all;
    };
    ParallelPlan plan;
    EXPECT_EQ(keys(plan), "plan.precision plan.attention_kernel ");
    EXPECT_EQ(check_device(plan, volta)[0].what, "volta does not compute in bf16");
    EXPECT_EQ(check_device(plan, volta)[1].what, "there is no attention kernel flash_2 for volta");
    plan.attention_kernel = AttentionKernel::unfused;
    plan.precision = Dtype::fp8;
    plan.gradient_dtype = Dtype::bf16;
    plan.main_params_dtype = Dtype::bf16;
    EXPECT_EQ(keys(plan), "plan.precision plan.gradient_dtype plan.main_params_dtype ");
    plan.precision = Dtype::fp16;
    plan.gradient_dtype = Dtype::fp32;
    plan.main_params_dtype = Dtype::fp32;
    EXPECT_EQ(keys(plan), "");
    volta.peak_fp8 = FlopRate::per_second(1e12);
    plan.precision = Dtype::fp8;
    EXPECT_EQ(keys(plan), "");
}

}  // namespace
}  // namespace orrery
