// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/serving_prices.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <tuple>

#include "models/serving/serving_kernels.h"
#include "models/serving/step_launches.h"
#include "scenarios/format/read/reader.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

using namespace literals;

Scenario one_node(const std::string& node) {
    ReadOptions options;
    options.network_only = true;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    return read_scenario_text("cluster: {nodes: 1, node: " + node + "}\n", "test", ".", options)
        .value();
}

Scenario h100_server() {
    return one_node("dgx-h100");
}

std::unique_ptr<ServingPrices> prices_of(const ServingPlan& plan, ServingEngine engine = {}) {
    return ServingPrices::make(h100_server(), llama(80, 8192, 28672, 8, 128256), plan, engine)
        .value();
}

BatchShape generating(std::int64_t sequences, std::int64_t context) {
    return {.tokens = sequences,
            .sampled = sequences,
            .generating = sequences,
            .generating_context = sequences * context};
}

// Barriers take longer on NVLink 5, which engines with flags in the data do not have.
TEST(ServingPrices, SumsOnNvlink5WaitForBarriers) {
    const auto time = [](std::int64_t gigabytes_per_second, bool in_data) {
        Scenario server = h100_server();
        server.cluster.node.nvlink_bandwidth =
            Bandwidth::bytes_per_second(gigabytes_per_second * 1'000'000'000);
        const ServingPlan plan{.tensor_model_parallel_size = 8};
        const auto prices = ServingPrices::make(
            server, llama(80, 8192, 28672, 8, 128256), plan, {.flags_in_data = in_data});
        return prices.value()->stage_time(generating(64, 1000), 0);
    };
    EXPECT_EQ(time(450, true), time(450, false));
    EXPECT_GT(time(900, false).seconds() - time(900, true).seconds(), 160 * 9e-6);
}

// Ranks of an NVLink domain of several servers exchange rows by a kernel of the engine, which NCCL
// would take longer for.
TEST(ServingPrices, RowsAreExchangedDirectly) {
    Transformer model = llama(4, 4096, 14336, 8, 32000);
    model.num_experts = 64;
    model.moe_router_topk = 2;
    model.moe_ffn_hidden_size = 1024;
    const auto time = [&](const char* node, std::int64_t expert_ranks) {
        const ServingPlan plan{.data_parallel_size = 8, .expert_model_parallel_size = expert_ranks};
        return ServingPrices::make(one_node(node), model, plan, {})
            .value()
            ->stage_time(generating(2048, 100), 0)
            .seconds();
    };
    // With experts cut in two, and in one server, all rows are gathered.
    EXPECT_LT(time("gb200-nvl72", 8), 0.8 * time("gb200-nvl72", 4));
    EXPECT_GT(time("dgx-h100", 8), 0.8 * time("dgx-h100", 4));
}

// 70 B of weights in 16 bits on eight GPUs of 3.35 TB/s: 5.3 ms to read them, at 80 % 6.6 ms.
TEST(ServingPrices, OneTokenReadsAllWeights) {
    const auto prices = prices_of({.tensor_model_parallel_size = 8});
    const double bound = 2 * 70.55e9 / 8 / 3.35e12;
    const double seconds = prices->stage_time(generating(1, 1000), 0).seconds();
    EXPECT_GT(seconds, bound);
    EXPECT_LT(seconds, 3 * bound);
}

TEST(ServingPrices, WhatIsRememberedIsWhatWasPriced) {
    const auto prices = prices_of({.tensor_model_parallel_size = 4});
    for (const std::int64_t context : {100, 4000, 100}) {
        BatchShape shape = generating(32, context);
        shape.tokens += 300;
        shape.chunks = {{.new_tokens = 300, .context = context}};
        Time sum;
        for (const ServingOp& op : serving_ops(
                 llama(80, 8192, 28672, 8, 128256), {.tensor_model_parallel_size = 4}, shape, 0)) {
            sum += prices->time_of(op, 0);
        }
        EXPECT_EQ(prices->stage_time(shape, 0), sum);
    }
    EXPECT_EQ(prices->prices_remembered(), 1);
}

TEST(ServingPrices, TheCacheIsReadInItsOwnPrecision) {
    const auto wide = prices_of({.tensor_model_parallel_size = 8});
    const auto narrow =
        prices_of({.tensor_model_parallel_size = 8, .key_value_precision = Dtype::fp8});
    const BatchShape shape = generating(256, 8000);
    const Time saved = wide->stage_time(shape, 0) - narrow->stage_time(shape, 0);
    // Half of 256 x 8000 x 40,960 bytes a rank.
    EXPECT_NEAR(saved.seconds(), 256.0 * 8000 * 20480 / 3.35e12 / 0.9, 2e-3);
}

// A prompt of 8,192 tokens is bound by products, which a peak twice as high halves.
TEST(ServingPrices, Fp4ProductsHaveAPeakOfTheirOwn) {
    Scenario server = h100_server();
    const ServingPlan fp4{
        .tensor_model_parallel_size = 8, .precision = ProductPrecision::fp4, .weight_bits = 4};
    const Transformer model = llama(80, 8192, 28672, 8, 128256);
    const auto none = ServingPrices::make(server, model, fp4, {});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().what, "h100-80g does not compute in fp4");
    const BatchShape prompt{.tokens = 8192, .chunks = {{.new_tokens = 8192}}};
    const auto seconds = [&](double petaflops) {
        server.device.peak_fp4 = FlopRate::per_second(petaflops * 1e15);
        return ServingPrices::make(server, model, fp4, {}).value()->stage_time(prompt, 0).seconds();
    };
    const double products = 2 * 68.5e9 * 8192 / 8;
    EXPECT_GT(seconds(2) - seconds(4), 0.9 * products / 4e15);
}

TEST(ServingPrices, TheHostWorksBesideOrBeforeTheDevice) {
    Batch batch;
    batch.steps = {{.new_tokens = 1, .context = 10, .samples = true}};
    const ServingPlan plan{.tensor_model_parallel_size = 8};
    const auto time = [&](const ServingEngine& engine) {
        std::vector<Time> stages(1);
        prices_of(plan, engine)->times(batch, stages);
        return stages[0];
    };
    const Time device = time({});
    EXPECT_EQ(time({.host_per_step = 5_ms, .host_per_sequence = 1_ms, .asynchronous = false}),
              device + 6_ms);
    EXPECT_EQ(time({.host_per_step = 1_ms}), device);
    EXPECT_EQ(time({.host_per_step = 900_ms, .host_per_sequence = 100_ms}), 1000_ms);
}

// Eight data-parallel ranks have twelve sequences: two on the busiest rank.
TEST(ServingPrices, EachDataParallelRankHasAHostProcess) {
    Batch batch;
    batch.steps.assign(12, {.new_tokens = 1, .context = 10, .samples = true});
    std::vector<Time> stages(1);
    const ServingEngine engine{.host_per_step = 900_ms, .host_per_sequence = 100_ms};
    prices_of({.tensor_model_parallel_size = 8}, engine)->times(batch, stages);
    EXPECT_EQ(stages[0], 2100_ms);
    ServingPrices::make(
        h100_server(), llama(4, 1024, 4096, 8, 32000), {.data_parallel_size = 8}, engine)
        .value()
        ->times(batch, stages);
    EXPECT_EQ(stages[0], 1100_ms);
}

// A tree's exchange does not grow with the context, and a ring's does.
TEST(ServingPrices, ATreeOverTheContextIsFasterThanARing) {
    const auto seconds = [](ContextExchange exchange, std::int64_t context) {
        ServingPlan plan;
        plan.context_parallel_size = 8;
        plan.context_parallel_comm = exchange;
        return prices_of(plan)->stage_time(generating(1, context), 0).seconds();
    };
    const double tree = seconds(ContextExchange::tree, 1'000'000);
    const double ring = seconds(ContextExchange::ring, 1'000'000);
    EXPECT_LT(tree, ring / 2);
    // 8 hops of 125,000 keys and values of 8 heads of 128, in each of 80 layers, at most at the
    // rate of NVLink.
    const double moved = 8.0 * 80 * 125'000 * 2 * 8 * 128 * 2;
    EXPECT_GT(ring - tree, moved / 450e9 * 0.9);
}

TEST(ServingPrices, ServedModelsHaveSoftmaxAttention) {
    Transformer model = llama(80, 8192, 28672, 8, 128256);
    model.linear_attention_every = 1;
    const auto prices = ServingPrices::make(h100_server(), model, {}, {});
    ASSERT_FALSE(prices);
    EXPECT_EQ(prices.error().where, "model.linear_attention_every");
}

TEST(ServingPrices, ASharedContextHasKeysAndValuesOfHeads) {
    Transformer model = llama(80, 8192, 28672, 8, 128256);
    model.multi_latent_attention = true;
    const auto prices = ServingPrices::make(h100_server(), model, {.context_parallel_size = 2}, {});
    ASSERT_FALSE(prices);
    EXPECT_EQ(prices.error().where, "serving.pools.context_parallel_size");
}

TEST(ServingPrices, AnInstanceFitsIntoTheCluster) {
    const auto prices = ServingPrices::make(
        h100_server(), llama(80, 8192, 28672, 8, 128256), {.tensor_model_parallel_size = 16}, {});
    ASSERT_FALSE(prices);
    EXPECT_EQ(prices.error().what, "the instances take 16 GPUs, and the cluster has 8");
}

Batch batch_of(std::int64_t new_tokens, std::int64_t context) {
    return {.steps = {{.new_tokens = new_tokens, .context = context, .samples = true}},
            .preempted = {},
            .admitted = {}};
}

Time step_time(const Scenario& cluster,
               const ServingEngine& engine,
               const Batch& batch,
               const Transformer& model = llama(4, 1024, 4096, 8, 32000)) {
    const auto prices = ServingPrices::make(cluster, model, {}, engine);
    std::vector<Time> stages(1);
    (*prices)->times(batch, stages);
    return stages.front();
}

// Both kernels are joined in steps that have both kinds of sequences.
TEST(ServingPrices, JoinedAttentionIsOneKernelOfMixedSteps) {
    const Scenario server = h100_server();
    const ServingEngine apart{.attention_latency = 100_us};
    ServingEngine joined = apart;
    joined.joins_attention = true;
    Batch mixed = batch_of(512, 0);
    mixed.steps.push_back(batch_of(1, 2048).steps.front());
    EXPECT_GT(step_time(server, apart, mixed), step_time(server, joined, mixed) + 300_us);
    const Batch prompt = batch_of(512, 0);
    EXPECT_EQ(step_time(server, apart, prompt), step_time(server, joined, prompt));
    const Batch generation = batch_of(1, 2048);
    EXPECT_EQ(step_time(server, apart, generation), step_time(server, joined, generation));
}

// FlashAttention 2 reads a paged cache by smaller tiles.
TEST(ServingPrices, WholePromptsAreReadByLargeTiles) {
    const auto seconds = [](const char* scheduler, std::int64_t context) {
        const ServingPlan plan{.tensor_model_parallel_size = 8,
                               .attention = AttentionGeneration::flash_2};
        const BatchShape prompt{
            .tokens = 30'000, .sampled = 1, .chunks = {{.new_tokens = 30'000, .context = context}}};
        return ServingPrices::make(one_node("dgx-a100-80g"),
                                   llama(80, 8192, 28672, 8, 128256),
                                   plan,
                                   {.scheduler = scheduler})
            .value()
            ->stage_time(prompt, 0)
            .seconds();
    };
    EXPECT_LT(seconds("vllm_v0", 0), 0.97 * seconds("sarathi", 0));
    EXPECT_EQ(seconds("vllm_v0", 16), seconds("sarathi", 16));
}

// Graphs capture steps that generate: the host launches the kernels of the others.
TEST(ServingPrices, StepsWithPromptsAreLaunched) {
    ServingEngine engine{.host_per_launch = 1_ms, .captures_generation = true};
    const Scenario server = h100_server();
    const std::int64_t launches = step_launches(llama(4, 1024, 4096, 8, 32000), {}, 0).all;
    EXPECT_EQ(step_time(server, engine, batch_of(16, 0)), 1_ms * launches);
    EXPECT_LT(step_time(server, engine, batch_of(1, 16)), 1_ms);
    engine.captures_generation = false;
    EXPECT_EQ(step_time(server, engine, batch_of(1, 16)), 1_ms * launches);
}

// Between the pieces that graphs hold the host launches attention: a kernel that writes the cache
// and one that attends in each of four layers, and five pieces.
TEST(ServingPrices, StepsInPiecesLaunchAttention) {
    const ServingEngine engine{.host_per_launch = 1_ms, .piecewise_capture_tokens = 16};
    const Scenario server = h100_server();
    EXPECT_EQ(step_time(server, engine, batch_of(16, 0)), 13_ms);
    EXPECT_EQ(step_time(server, engine, batch_of(1, 16)), 13_ms);
    const std::int64_t launches = step_launches(llama(4, 1024, 4096, 8, 32000), {}, 0).all;
    EXPECT_EQ(step_time(server, engine, batch_of(17, 0)), 1_ms * launches);
}

// Prompts and sequences that generate have kernels of their own in latent attention.
TEST(ServingPrices, MixedStepsOfLatentAttentionHaveMoreLaunches) {
    const ServingEngine engine{.host_per_launch = 1_ms};
    const Scenario server = h100_server();
    Transformer model = llama(4, 1024, 4096, 8, 32000);
    model.multi_latent_attention = true;
    model.q_lora_rank = 256;
    const StepLaunches launches = step_launches(model, {}, 0);
    Batch mixed = batch_of(16, 0);
    EXPECT_EQ(step_time(server, engine, mixed, model), 1_ms * launches.all);
    mixed.steps.push_back(batch_of(1, 16).steps.front());
    EXPECT_EQ(step_time(server, engine, mixed, model), 1_ms * (launches.all + launches.of_mixed));
}

// A step with prompts waits for the copies of keys and values in four layers, whatever the device
// does meanwhile.
TEST(ServingPrices, CopiesOfSharedHeadsAreNotHidden) {
    const auto time = [](Time copy, const Batch& batch) {
        const ServingEngine engine{.host_per_launch = 1_ms, .host_per_head_copy = copy};
        return step_time(h100_server(), engine, batch, llama(4, 2048, 4096, 8, 32000));
    };
    EXPECT_EQ(time(3_ms, batch_of(16, 0)), time({}, batch_of(16, 0)) + 24_ms);
    EXPECT_EQ(time(3_ms, batch_of(1, 16)), time({}, batch_of(1, 16)));
}

// One thread of the host prepares the next step and launches its kernels while the device works.
TEST(ServingPrices, OneThreadPreparesAStepAndLaunchesIt) {
    ServingEngine engine{
        .host_per_step = 9_ms, .host_per_launch = 1_ms, .captures_generation = true};
    const Scenario server = h100_server();
    const std::int64_t launches = step_launches(llama(4, 1024, 4096, 8, 32000), {}, 0).all;
    EXPECT_EQ(step_time(server, engine, batch_of(16, 0)), 9_ms + 1_ms * launches);
    EXPECT_EQ(step_time(server, engine, batch_of(1, 16)), 9_ms);
    engine.asynchronous = false;
    EXPECT_EQ(step_time(server, engine, batch_of(16, 0)), 9_ms + 1_ms * launches);
}

// One sequence with a long context is enough for a step to be launched.
TEST(ServingPrices, StepsWithLongContextsAreLaunched) {
    ServingEngine engine{.host_per_launch = 1_ms, .captures_generation = true};
    const Scenario server = h100_server();
    const std::int64_t launches = step_launches(llama(4, 1024, 4096, 8, 32000), {}, 0).all;
    Batch batch = batch_of(1, 16);
    batch.steps.push_back(batch_of(1, 100).steps.front());
    EXPECT_LT(step_time(server, engine, batch), 1_ms);
    engine.max_seq_len_to_capture = 100;
    EXPECT_EQ(step_time(server, engine, batch), 1_ms * launches);
    engine.max_seq_len_to_capture = 101;  // with the token that the step computes
    EXPECT_LT(step_time(server, engine, batch), 1_ms);
}

// Engines say their host times on an x86 host; steps that are prepared together share them.
TEST(ServingPrices, HostsAreAsSlowAsTheirLaunches) {
    ServingEngine engine{.host_per_step = 10_ms, .asynchronous = true};
    Scenario server = h100_server();
    EXPECT_EQ(step_time(server, engine, batch_of(1, 16)), 10_ms);
    server.device.launch_cost = server.device.launch_cost * 2;
    EXPECT_EQ(step_time(server, engine, batch_of(1, 16)), 20_ms);
    engine.num_scheduler_steps = 4;
    EXPECT_EQ(step_time(server, engine, batch_of(1, 16)), 5_ms);
    EXPECT_EQ(step_time(server, engine, batch_of(16, 0)), 20_ms);
}

// Experts alone on half of the GPUs, and halves of a batch that take turns between the two.
TEST(ServingPrices, ExpertsOnRanksOfTheirOwnTakeTurnsWithAttention) {
    Transformer model = llama(8, 4096, 14336, 8, 32000);
    model.num_experts = 16;
    model.moe_router_topk = 2;
    model.moe_ffn_hidden_size = 8192;
    const auto seconds = [&](const ServingPlan& plan, std::int64_t sequences) {
        return ServingPrices::make(h100_server(), model, plan, {})
            .value()
            ->stage_time(generating(sequences, 2000), 0)
            .seconds();
    };
    const ServingPlan together{.data_parallel_size = 8, .expert_model_parallel_size = 8};
    const ServingPlan split{.data_parallel_size = 4, .expert_ranks = 4};
    const ServingPlan more_experts{.data_parallel_size = 2, .expert_ranks = 6};
    // One sequence has no other half.
    EXPECT_GT(seconds(split, 2), 0.5 * seconds(split, 1));
    // Attention reads the caches of 400 sequences: two ranks take longer than four.
    EXPECT_GT(seconds(more_experts, 400), 1.1 * seconds(split, 400));
    // Few tokens reach all experts: half as many ranks read them, while attention waits.
    EXPECT_GT(seconds(split, 32), seconds(together, 32));
}

TEST(ServingPrices, RanksOfExpertsNeedExpertsThatFit) {
    const auto error = [](const Transformer& model, std::int64_t ranks) {
        const auto made = ServingPrices::make(h100_server(), model, {.expert_ranks = ranks}, {});
        return made ? std::string{} : made.error().what;
    };
    EXPECT_EQ(error(llama(8, 4096, 14336, 8, 32000), 4), "the model has no experts");
    const auto skewed = ServingPrices::make(
        h100_server(), llama(8, 4096, 14336, 8, 32000), {.expert_skew = 1.2}, {});
    ASSERT_FALSE(skewed);
    EXPECT_EQ(skewed.error().where, "serving.pools.expert_skew");
    Transformer model = llama(8, 4096, 14336, 8, 32000);
    model.num_experts = 2;
    model.moe_router_topk = 1;
    model.moe_ffn_hidden_size = 8192;
    EXPECT_EQ(error(model, 4), "4 ranks for 2 experts");
    EXPECT_EQ(error(model, 2), "");
    model.num_experts = 256;
    EXPECT_EQ(error(model, 1), "412.3 GB of experts on a GPU of 85.9 GB");
}

TEST(ServingPrices, TensorParallelRanksDivideTheHeads) {
    const Transformer model = llama(8, 4096, 14336, 8, 32000);
    const auto made = ServingPrices::make(
        h100_server(), model, {.tensor_model_parallel_size = 3}, ServingEngine{});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().what, "3 tensor-parallel ranks do not divide the 32 attention heads");
}

// An engine's kernels of experts reach these shares of the peak; other products are as before.
TEST(ServingPrices, KernelsOfExpertsReachAShareOfThePeak) {
    const ServingEngine engine{
        .expert_peak = 0.4, .scaled_expert_peak = 0.2, .unpacked_expert_peak = 0.3};
    const auto time = [](const ServingPlan& plan, const ServingEngine& of, const char* name) {
        const ServingOp op{.name = name, .work = served_experts(plan, 8, 1024, 4096, 7168)};
        return prices_of(plan, of)->time_of(op, 0).seconds();
    };
    const double flop = 2.0 * 8 * 1024 * 4096 * 7168;
    const DeviceSpec device = h100_server().device;
    const ServingPlan plain{};
    const ServingPlan scaled{
        .precision = ProductPrecision::fp8, .weight_bits = 8, .block_scaled = true};
    const ServingPlan unpacked{.weight_bits = 4};
    for (const auto& [plan, share, peak] : {std::tuple{plain, 0.4, device.peak(Dtype::bf16)},
                                            {scaled, 0.2, device.peak_fp8},
                                            {unpacked, 0.3, device.peak(Dtype::bf16)}}) {
        const double due = flop / (share * peak.per_second());
        EXPECT_NEAR(time(plan, engine, "expert fc1") / due, 1, 1e-6);
        EXPECT_EQ(time(plan, engine, "expert fc2"), time(plan, engine, "expert fc1"));
        EXPECT_LT(time(plan, {}, "expert fc1"), 0.8 * due);
        EXPECT_EQ(time(plan, engine, "fc1"), time(plan, {}, "fc1"));
    }
}

// Rows of experts and casts to scales of blocks move at the engine's share of the bandwidth, unless
// weights are unpacked; other kernels are as before.
TEST(ServingPrices, RowsMoveAtAShareOfTheBandwidth) {
    Transformer model = llama(1, 4096, 14336, 8, 32000);
    model.num_experts = 8;
    model.moe_router_topk = 2;
    model.moe_ffn_hidden_size = 4096;
    const EngineKernels shares =
        read_engine_kernels(ORRERY_SOURCE_DIR "/scenarios/catalogue/engine_kernels.csv",
                            {.engine = "sglang", .generation = "hopper", .bits = 8})
            .value();
    const double bandwidth = h100_server().device.memory_bandwidth.gigabytes_per_second() * 1e9;
    const BatchShape prompt{.tokens = 8192, .chunks = {{.new_tokens = 8192}}};
    struct Expected {
        ServingPlan plan;
        int rows;   // out and back, an activation, two casts
        int casts;  // of two products of attention
    };
    for (const auto& [plan, rows, casts] :
         {Expected{{.precision = ProductPrecision::fp8, .weight_bits = 8}, 5, 0},
          Expected{
              {.precision = ProductPrecision::fp8, .weight_bits = 8, .block_scaled = true}, 5, 2},
          Expected{{.weight_bits = 4}, 0, 0}}) {
        const auto of_engine = ServingPrices::make(h100_server(), model, plan, {.name = "sglang"});
        const auto of_none = ServingPrices::make(h100_server(), model, plan, {});
        int moved = 0;
        int cast = 0;
        for (const ServingOp& op : serving_ops(model, plan, prompt, 0)) {
            const bool moves = op.of_expert_rows && rows > 0;
            const bool casts_it = op.name == kQuantise && !op.of_expert_rows && casts > 0;
            moved += moves ? 1 : 0;
            cast += casts_it ? 1 : 0;
            Time due = (*of_none)->time_of(op, 0);
            if (moves || casts_it) {
                const double share = moves ? shares.expert_rows : shares.scaled_casts;
                due = std::max(
                    due,
                    Time::seconds(static_cast<double>(std::get<KernelCall>(op.work).bytes) / share /
                                  bandwidth));
                EXPECT_GT((*of_engine)->time_of(op, 0).seconds(),
                          (*of_none)->time_of(op, 0).seconds() * 1.5)
                    << op.name;
            }
            EXPECT_NEAR((*of_engine)->time_of(op, 0) / due, 1, 1e-6) << op.name;
        }
        EXPECT_EQ(moved, rows);
        EXPECT_EQ(cast, casts);
    }
}

// TensorRT-LLM's products of experts in FP4 read weights at 0.63 of the bandwidth.
TEST(ServingPrices, WeightsOfExpertsAreReadAtAShareOfTheBandwidth) {
    Transformer model = llama(1, 4096, 14336, 8, 32000);
    model.num_experts = 8;
    model.moe_router_topk = 2;
    model.moe_ffn_hidden_size = 14336;
    Scenario server = h100_server();
    server.device.peak_fp4 = FlopRate::per_second(4e15);
    const ServingPlan plan{.precision = ProductPrecision::fp4, .weight_bits = 4};
    const auto slow = ServingPrices::make(server, model, plan, {.name = "tensorrt-llm-1"}).value();
    const auto fast = ServingPrices::make(server, model, plan, {}).value();
    for (const ServingOp& op : serving_ops(model, plan, generating(32, 100), 0)) {
        if (op.name == "expert fc1") {
            const double bytes = static_cast<double>(std::get<KernelCall>(op.work).bytes);
            EXPECT_NEAR(slow->time_of(op, 0).seconds(), bytes / 0.63 / 3.35e12, 1e-9);
            EXPECT_LT(fast->time_of(op, 0).seconds() * 1.2, slow->time_of(op, 0).seconds());
        }
    }
}

// The node's host and the device's usual one count together.
TEST(ServingPrices, ASlowerHostTakesLonger) {
    const ServingEngine engine{.host_per_step = 100_ms, .asynchronous = true};
    Scenario server = h100_server();
    EXPECT_EQ(step_time(server, engine, batch_of(1, 16)), 100_ms);
    server.cluster.node.host_speed = 0.5;
    EXPECT_EQ(step_time(server, engine, batch_of(1, 16)), 200_ms);
    server.device.launch_cost = kEagerOperator * 2;
    EXPECT_EQ(step_time(server, engine, batch_of(1, 16)), 400_ms);
    server.cluster.node.host_speed = 2;
    EXPECT_EQ(step_time(server, engine, batch_of(1, 16)), 100_ms);
}

}  // namespace
}  // namespace orrery
