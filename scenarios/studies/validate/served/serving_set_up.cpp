// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/serving_set_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/csv_rows.h"
#include "scenarios/format/read/read_serving.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/serve/serving_study.h"
#include "scenarios/studies/validate/published_servers.h"
#include "scenarios/studies/validate/served/ai_configurator.h"
#include "scenarios/studies/validate/served/engine_release.h"
#include "scenarios/studies/validate/served/inference_max.h"
#include "scenarios/studies/validate/served/inference_max_pools.h"
#include "scenarios/studies/validate/served/mlperf.h"
#include "scenarios/studies/validate/served/served_load.h"
#include "scenarios/studies/validate/served/trtllm_bench.h"

namespace orrery {

namespace {

// Catalogue entry by the beginning of the row's engine; the first match counts. Rows of
// InferenceMAX name releases of Dynamo (0.5.1, 0.8.1), or none, for the TensorRT-LLM 1 in its
// containers.
struct EngineWord {
    std::string_view begins;
    std::string_view engine;
};
constexpr EngineWord kEngines[] = {{"trtllm-1.0", "tensorrt-llm-1.0"},
                                   {"trtllm-1.", "tensorrt-llm-1"},
                                   {"trtllm-0.5.1-rc", "tensorrt-llm-1"},
                                   {"trtllm-0.8.1.post", "tensorrt-llm-1"},
                                   {"trtllm-0.6", "tensorrt-llm-0.6"},
                                   {"trtllm-0.9", "tensorrt-llm-0.9"},
                                   {"trtllm-", "tensorrt-llm"},
                                   {"trtllm", "tensorrt-llm-1"},
                                   {"vllm-2024", "vllm-v0"},
                                   {"vllm-2023", "vllm-2023"},
                                   {"vllm", "vllm-v1"},
                                   {"sglang", "sglang"}};

// The entry of a release of vLLM; empty for other words. The first engine is the default
// before 0.8 (release notes of 0.8.0), and asynchronous scheduling from 0.14 on (of 0.14.0).
std::string_view vllm_release(std::string_view engine) {
    constexpr EngineRelease kSecondEngine{.major = 0, .minor = 8};
    constexpr EngineRelease kAsynchronous{.major = 0, .minor = 14};
    const std::optional<EngineRelease> release = release_of(engine);
    if (!engine.starts_with("vllm-") || !release) {
        return {};
    }
    return *release < kSecondEngine   ? "vllm-v0"
           : *release < kAsynchronous ? "vllm-v1"
                                      : "vllm-0.14";
}

Result<ServingEngine> engine_of(const ServingCase& row, const std::filesystem::path& catalogue) {
    if (const std::string_view entry = mlperf_engine(row); !entry.empty()) {
        auto engine = read_engine(entry, catalogue);
        if (engine) {
            set_mlperf_options(row, *engine);
        }
        return engine;
    }
    const auto word = std::find_if(std::begin(kEngines), std::end(kEngines), [&](const auto& each) {
        return row.engine.starts_with(each.begins);
    });
    if (word == std::end(kEngines)) {
        return fail(row.where, fmt::format("no facts about the engine {}", row.engine));
    }
    const std::string_view own = inference_max_engine(row);
    const std::string_view released = vllm_release(row.engine);
    return read_engine(!own.empty() ? own : !released.empty() ? released : word->engine, catalogue);
}

// Sets bits of weights and type of products: "fp8" means 8 bits and FP8 products. int4 weights, and
// fp4 weights on devices without FP4, are unpacked for products in 16 bits.
Result<void> set_precision(const ServingCase& row,
                           const PublishedModel& model,
                           const DeviceSpec& device,
                           ServingPlan& plan) {
    struct Word {
        std::string_view word;
        ProductPrecision products;
        std::int64_t bits;
    };
    constexpr Word kWords[] = {{"bf16", ProductPrecision::bf16, 16},
                               {"fp16", ProductPrecision::fp16, 16},
                               {"fp8", ProductPrecision::fp8, 8},
                               {"fp4", ProductPrecision::fp4, 4},
                               {"int8", ProductPrecision::bf16, 8},
                               {"int4", ProductPrecision::bf16, 4}};
    const auto find = [&](const std::string& word) {
        return std::find_if(std::begin(kWords), std::end(kWords), [&](const Word& each) {
            return each.word == word;
        });
    };
    const auto* weights = find(row.weight_precision);
    const auto* cache = find(row.key_value_precision);
    if (weights == std::end(kWords)) {
        return fail(row.where, fmt::format("weights in '{}'", row.weight_precision));
    }
    if (cache == std::end(kWords)) {
        return fail(row.where, fmt::format("a cache in '{}'", row.key_value_precision));
    }
    plan.precision = weights->products;
    plan.weight_bits = weights->bits;
    plan.block_scaled = plan.precision == ProductPrecision::fp8 && has_block_scales(row, model);
    if (plan.precision == ProductPrecision::fp4 && device.peak_fp4.per_second() <= 0) {
        plan.precision = ProductPrecision::bf16;
    }
    plan.attention_in_16_bits = plan.weight_bits < 16 && keeps_attention_in_16_bits(row, model);
    plan.key_value_precision = cache->bits == 8 ? Dtype::fp8 : Dtype::bf16;
    return {};
}

// Multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2): one more layer of the model
// proposes tokens. AIConfigurator accepts the first one at a rate of 0.85 and the second at 0.3
// (nextn_accept_rates): three proposals yield 2.1 tokens a step, as with 0.576 for each.
Speculation proposals_of(const ServingCase& row, const Transformer& model) {
    constexpr double kOfOne = 0.85;
    constexpr double kOfThree = 0.576;
    if (row.draft_tokens == 0) {
        return {};
    }
    Transformer layer = model;
    layer.num_layers = 1;
    layer.first_k_dense_replace = 0;
    return {.draft_tokens = row.draft_tokens,
            .acceptance = row.draft_tokens == 1 ? kOfOne : kOfThree,
            .draft_model = layer};
}

// The load of one of the row's replicas.
Result<WorkloadSpec> workload_of(const ServingCase& row) {
    constexpr std::int64_t kMost = 2000;
    constexpr std::int64_t kLongest = 6000;  // longer runs hardly change the result
    const std::int64_t of_table = is_trtllm_bench(row) ? trtllm_bench_requests(row) : 0;
    const std::int64_t stated = (row.num_requests > 0 ? row.num_requests : of_table) / row.replicas;
    WorkloadSpec workload{.num_requests = std::max<std::int64_t>(1, row.concurrency / row.replicas),
                          .input_tokens = row.input_tokens,
                          .output_tokens = std::max(row.output_tokens, 1.0)};
    if (const auto spread = parse_number(row.length_spread); spread && *spread > 0) {
        workload.length_spread = *spread;
        if (row.numpy_seed >= 0) {
            workload.length_draws = LengthDraws::numpy;
            workload.seed = static_cast<std::uint64_t>(row.numpy_seed);
        }
    }
    if (row.load == "single") {
        workload.num_requests = 1;
    } else if (row.load == "closed") {
        workload.users = workload.num_requests;
        const std::int64_t all = stated > 0 ? stated : 10 * workload.users;
        workload.num_requests = std::min(all, std::max(kMost, 4 * workload.users));
    } else if (row.load == "offline") {
        // Long enough that all concurrent sequences are replaced at least once.
        workload.num_requests = is_mlperf(row) ? mlperf_requests(row)
                                : stated > 0   ? std::min(stated, kLongest)
                                               : std::max(2 * kMost, 2 * row.max_num_seqs);
    } else if (row.load == "poisson") {
        workload.request_rate = row.request_rate / static_cast<double>(row.replicas);
        workload.num_requests = is_mlperf(row) ? mlperf_requests(row)
                                : stated > 0   ? std::min(stated, 2 * kMost)
                                               : 2 * kMost;
        workload.arrival_variation = is_mlperf(row) ? mlperf_arrival_variation(row) : 1;
    } else if (row.load != "static" && row.load != "trace") {
        return fail(row.where, fmt::format("a load from a {}", row.load));
    }
    workload.repeated_requests = std::min(row.repeated_requests, workload.num_requests);
    return workload;
}

// The row's pools without limits: one pool, or prefill and decode.
std::vector<ServingPoolSpec> pools_of(const ServingCase& row) {
    if (row.mode != "disaggregated") {
        ServingPoolSpec pool;
        pool.plan.tensor_model_parallel_size = row.tensor_parallel;
        pool.plan.pipeline_model_parallel_size = row.pipeline_parallel;
        pool.plan.data_parallel_size = row.data_parallel;
        pool.plan.expert_model_parallel_size = row.expert_parallel;
        return {pool};
    }
    const auto pool = [](PoolRole role, const ServingCase::Workers& workers) {
        ServingPoolSpec spec{.role = role, .instances = workers.workers};
        spec.plan.tensor_model_parallel_size = workers.tensor_parallel;
        spec.plan.data_parallel_size = workers.data_parallel;
        spec.plan.expert_model_parallel_size = workers.expert_parallel;
        return spec;
    };
    return {pool(PoolRole::prefill, row.prefill), pool(PoolRole::decode, row.decode)};
}

// Sets the limits that the row states, else its benchmark's, else the engine's. Limits of the
// engine hold per data-parallel rank.
void set_limits(const ServingCase& row, const Scenario& scenario, ServingPoolSpec& pool) {
    const ServingEngine& engine = scenario.serving.engine;
    pool.limits.num_blocks = row.cache_tokens / pool.limits.block_size;
    pool.limits.prompt_batching_steps = mlperf_prompt_batching(row);
    pool.limits.long_prefill_token_threshold = mlperf_prompt_chunk(row);
    const std::optional<EngineLimits> limits =
        is_trtllm_bench(row) ? trtllm_bench_limits(row, scenario.model, pool.plan, scenario.device)
        : is_ai_configurator(row) ? ai_configurator_limits(row)
                                  : inference_max_limits(row);
    if (limits) {
        pool.limits.max_num_seqs = limits->max_num_seqs;
        pool.limits.max_num_batched_tokens = limits->max_num_batched_tokens;
        return;
    }
    const auto stated = [&](std::int64_t value, std::int64_t otherwise) {
        return value > 0 ? value : otherwise * pool.plan.data_parallel_size;
    };
    pool.limits.max_num_seqs = stated(row.max_num_seqs, engine.max_num_seqs);
    pool.limits.max_num_batched_tokens =
        engine.tokens_of_all_ranks && row.max_num_batched_tokens == 0
            ? engine.max_num_batched_tokens
            : stated(row.max_num_batched_tokens, engine.max_num_batched_tokens);
    // vLLM before 0.8: without chunked prompts the limit defaults to the longest context
    // (vllm/config.py).
    const BatchingRules* rules = find_batching_rules(engine.scheduler);
    if (row.max_num_batched_tokens == 0 && rules != nullptr && !rules->chunks_prompts) {
        pool.limits.max_num_batched_tokens =
            std::max(pool.limits.max_num_batched_tokens,
                     static_cast<std::int64_t>(std::ceil(row.input_tokens)));
    }
}

Result<void> set_pools(const ServingCase& row, const PublishedModel& model, Scenario& scenario) {
    ServingSpec& spec = scenario.serving;
    spec.pools = pools_of(row);
    if (spec.pools.front().instances < 1 || spec.pools.back().instances < 1) {
        return fail(row.where, "instances of prefill and of decode are not both stated");
    }
    for (ServingPoolSpec& pool : spec.pools) {
        if (pool.plan.ranks_of_stage() % pool.plan.expert_model_parallel_size != 0) {
            return fail(row.where, "expert parallelism that does not divide the ranks");
        }
        if (const auto set = set_precision(row, model, scenario.device, pool.plan); !set) {
            return tl::unexpected(set.error());
        }
        if (scenario.device.generation != "ampere") {
            pool.plan.attention = AttentionGeneration::flash_3_or_cudnn;
        }
        pool.plan.expert_skew = model.expert_load_alpha;
        pool.plan.norms_all_heads = model.norms_all_heads;
        set_limits(row, scenario, pool);
        // The lengths of a static batch are known. It runs in as few steps as the cache allows.
        const BatchingRules* rules = find_batching_rules(spec.engine.scheduler);
        if (rules != nullptr && rules->only_when_empty) {
            pool.limits.max_num_batched_tokens =
                std::max<std::int64_t>(1, std::llround(row.input_tokens)) *
                scenario.workload.num_requests;
        }
    }
    return {};
}

// The load of one replica. A harness that collects requests sees those of all replicas.
CollectedLoad mlperf_load(const ServingCase& row,
                          WorkloadSpec workload,
                          const LengthTable* lengths) {
    const auto collecting = mlperf_collecting(row);
    if (!collecting) {
        return {.requests = synthetic_requests(workload, lengths), .mean_wait = {}};
    }
    workload.request_rate *= static_cast<double>(row.replicas);
    workload.num_requests *= row.replicas;
    workload.arrival_variation = 1;
    return collected(synthetic_requests(workload, lengths), *collecting);
}

// Share of the peak that vLLM's Marlin kernel of experts reaches with GPT-OSS's weights, or 0 if
// the row has another kernel. OpenAI's Triton kernels need Hopper and are part of vLLM from 0.11.1
// on (issue 26582). Before, on Ampere, and with VLLM_MXFP4_USE_MARLIN=1 in InferenceMAX's scripts
// it is Marlin, whose products are Ampere's instructions. An H100 reaches 230 and 239 TFLOP/s with
// 292 rows in blocks of 64 (AIConfigurator's kernel tables of vLLM 0.24 and SGLang 0.5.14), which
// are 262 in its products. An A100 reaches 141 of 312 (vLLM pull request 2497, a comment's table).
double marlin_peak(const ServingCase& row, const DeviceSpec& device) {
    constexpr double kOnHopper = 0.265;
    constexpr double kOnAmpere = 0.45;
    const bool before = is_from(row.engine, "vllm-", {.major = 0, .minor = 10}) &&
                        !is_from(row.engine, "vllm-", {.major = 0, .minor = 11, .patch = 1});
    if (row.weight_precision != "fp4" || !row.engine.starts_with("vllm")) {
        return 0;
    }
    return device.generation == "ampere"                                        ? kOnAmpere
           : device.generation == "hopper" && (before || is_inference_max(row)) ? kOnHopper
                                                                                : 0;
}

// Whether prompts attend by vLLM's Triton kernel, whose tiles have 16 rows. GPT-OSS's attention has
// sinks, which FlashAttention has on Hopper only (vLLM issue 22331).
bool attends_by_triton(const ServingCase& row, const DeviceSpec& device) {
    return row.engine.starts_with("vllm") && row.model.starts_with("gpt-oss") &&
           (device.generation == "ampere" || device.generation == "ada");
}

// TensorRT-LLM 1 adds up, norms and quantises the stream of Llama's tensor-parallel ranks in one
// kernel (tensorrt_llm/_torch/models/modeling_llama.py: RESIDUAL_RMS_NORM_QUANT_FP8, for hidden
// sizes above 4,096), and SwiGLU's kernel writes eight bits (modules/gated_mlp.py).
bool fuses_casts(const ServingCase& row, const PublishedModel& model) {
    constexpr std::int64_t kSmall = 4096;
    return row.engine.starts_with("trtllm") && row.model.starts_with("llama") &&
           row.tensor_parallel > 1 && model.hidden_size > kSmall;
}

// Before 0.11 vLLM's graphs leave attention out of steps that generate, too (pull request 25444).
bool captures_pieces_alone(const ServingCase& row) {
    return is_from(row.engine, "vllm-", {.major = 0, .minor = 8}) &&
           !is_from(row.engine, "vllm-", {.major = 0, .minor = 11});
}

// What the row's benchmark and its options make of the engine's facts.
void set_options(const ServingCase& row,
                 const PublishedModel& model,
                 const DeviceSpec& device,
                 ServingEngine& facts) {
    if (chunks_prompts_by_default(row, model)) {
        // vllm/core/scheduler.py, _schedule_chunked_prefill, serves what runs first, as Sarathi
        // does; vllm/config.py: 512 tokens a step.
        facts.scheduler = "sarathi";
        facts.max_num_batched_tokens = 512;
    }
    if (leaves_prompts_whole(row)) {
        facts.scheduler = "orca";  // guaranteed_no_evict without chunked context
    }
    if (row.load == "static" || row.load == "single") {
        facts.scheduler = "static";
    }
    facts.memory_share = row.memory_share > 0 ? row.memory_share : facts.memory_share;
    // The programs give the engine tokens, without a server (trtllm-bench, vLLM's
    // benchmark_latency.py): the requests of a batch are there together. Traces pin tokens.
    const bool alone = is_trtllm_bench(row) || row.load == "static";
    if (alone) {
        facts.host_per_request = facts.host_per_response = {};
    }
    const double of_text = alone || row.load == "trace" ? 0 : 1 / row.tokens_of_text;
    facts.host_per_prompt_token = Time::seconds(facts.host_per_prompt_token.seconds() * of_text);
    facts.captures_generation = facts.captures_generation && !captures_pieces_alone(row);
    facts.max_seq_len_to_capture = captures_all_contexts(row) ? 0 : facts.max_seq_len_to_capture;
    if (row.engine.starts_with("trtllm serve")) {
        facts.max_captured_sequences = 128;  // the default (llm_args.py: CudaGraphConfig)
    }
    facts.num_scheduler_steps =
        std::max(facts.num_scheduler_steps, inference_max_steps_to_queue(row));
    facts.fused_casts = facts.fused_casts || fuses_casts(row, model);
    facts.asynchronous = facts.asynchronous || inference_max_schedules_ahead(row);
    if (row.engine.starts_with("sglang") && row.weight_precision == "fp4") {
        facts.masks_experts = false;  // its kernels for 4 bits are FlashInfer's, not Triton's
    }
    if (const double peak = marlin_peak(row, device); peak > 0) {
        facts.unpacked_expert_peak = peak;
    }
    facts.flags_in_data = facts.flags_in_data || sums_by_flashinfer(row, device.generation);
    // vLLM's kernel of small sums runs on AMD's GPUs from pull request 14125 (March 2025) on.
    if (row.engine == "vllm-2024" && device.generation == "cdna3") {
        facts.direct_all_reduce = false;
    }
    if (attends_by_triton(row, device)) {
        facts.attention_tile_rows = 16;
    }
    if (inference_max_has_deep_gemm(row)) {
        facts.scaled_expert_peak = 0;  // the curves are of these kernels
        facts.masks_experts = false;
    }
}

// Sets the requests of the row's load, of which a scenario has the workload.
Result<void> set_requests(const ServingCase& row,
                          const std::filesystem::path& catalogue,
                          const std::filesystem::path& traces,
                          ServingSetUp& set_up) {
    const WorkloadSpec& workload = set_up.scenario.workload;
    if (is_mlperf(row)) {
        const auto lengths = mlperf_lengths(row, catalogue / "published" / "mlperf_outputs.csv");
        if (!lengths) {
            return tl::unexpected(lengths.error());
        }
        CollectedLoad load =
            mlperf_load(row, workload, lengths->shares.empty() ? nullptr : &*lengths);
        set_up.requests = std::move(load.requests);
        set_up.held = load.mean_wait;
        return {};
    }
    if (row.load != "trace") {
        const LengthTable lengths = share_gpt_lengths(row);
        set_up.requests =
            synthetic_requests(workload,
                               row.share_gpt ? &lengths : nullptr,
                               set_up.scenario.serving.pools.front().limits.block_size);
        return {};
    }
    std::string file = row.name + ".csv";
    std::replace(
        file.begin(), file.begin() + static_cast<std::ptrdiff_t>(file.find('-')) + 1, '-', '_');
    auto requests = read_request_trace(traces / file);
    if (!requests) {
        return fail(row.where, "the requests of its trace, traces/" + file + ", are not there");
    }
    set_up.requests = std::move(*requests);
    return {};
}

}  // namespace

Result<Scenario> serving_cluster(std::string_view gpu,
                                 std::int64_t gpus,
                                 const std::string& where,
                                 const std::filesystem::path& catalogue) {
    const Result<PublishedServer> server = server_of_gpu(gpu, catalogue);
    if (!server) {
        return fail(where, server.error().what, server.error().hint);
    }
    const auto read = [&](const std::string& cluster) {
        ReadOptions options;
        options.network_only = true;
        options.catalogue = catalogue;
        return read_scenario_text("cluster: {" + cluster + "}\n", where, ".", options);
    };
    auto scenario = read(fmt::format("nodes: 1, node: {}", server->node));
    if (!scenario) {
        return tl::unexpected(scenario.error().front());
    }
    const std::int64_t per_node = scenario->cluster.node.gpus_per_node;
    if (gpus > per_node) {
        scenario = read(fmt::format("nodes: {}, node: {}, fabric: {}",
                                    (gpus + per_node - 1) / per_node,
                                    server->node,
                                    server->fabric));
        if (!scenario) {
            return tl::unexpected(scenario.error().front());
        }
    }
    return std::move(*scenario);
}

Result<ServingSetUp> set_up_of(const ServingCase& row,
                               const PublishedModel& model,
                               const std::filesystem::path& catalogue,
                               const std::filesystem::path& traces) {
    if (row.load != "trace" && (row.input_tokens <= 0 || row.output_tokens <= 0)) {
        return fail(row.where, "the lengths of its requests are not stated");
    }
    const Result<ServingEngine> engine = engine_of(row, catalogue);
    if (!engine) {
        return tl::unexpected(engine.error());
    }
    ServingSpec sized;
    sized.pools = pools_of(row);
    auto scenario = serving_cluster(row.gpu, sized.num_gpus(), row.where, catalogue);
    auto workload = workload_of(row);
    if (!scenario || !workload) {
        return tl::unexpected(!scenario ? scenario.error() : workload.error());
    }
    ServingSetUp set_up{.scenario = std::move(*scenario)};
    if (row.power_cap_w > 0) {
        set_up.scenario.device.power_limit = std::llround(row.power_cap_w);
    }
    set_up.scenario.model = model;
    set_up.scenario.workload = *workload;
    set_up.scenario.serving.engine = *engine;
    ServingEngine& facts = set_up.scenario.serving.engine;
    set_options(row, model, set_up.scenario.device, facts);
    set_up.scenario.serving.cold_start = row.cold_start;
    const auto wait = inference_max_prompt_wait(row);
    if (wait) {
        facts.prompt_wait_steps = wait->steps;
    }
    set_up.scenario.serving.speculation = proposals_of(row, model);
    if (const auto set = set_pools(row, model, set_up.scenario); !set) {
        return tl::unexpected(set.error());
    }
    const auto recipes = catalogue / "published" / "inference_max_pools.csv";
    if (const auto set = set_inference_max_pools(row, recipes, set_up.scenario.serving); !set) {
        return tl::unexpected(set.error());
    }
    if (wait) {
        set_up.scenario.serving.pools.front().limits.balanced_ranks = wait->prompts;
    }
    if (const auto set = set_requests(row, catalogue, traces, set_up); !set) {
        return tl::unexpected(set.error());
    }
    return set_up;
}

}  // namespace orrery
