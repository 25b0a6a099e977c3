// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_serving.h"

#include <fmt/format.h>

#include <utility>

#include "engine/serving/admission.h"
#include "engine/serving/request_router.h"
#include "scenarios/format/read/key_tables.h"

namespace orrery {
namespace {

constexpr Choice<ProductPrecision> kServedProducts[] = {{"bf16", ProductPrecision::bf16},
                                                        {"fp16", ProductPrecision::fp16},
                                                        {"fp8", ProductPrecision::fp8},
                                                        {"fp4", ProductPrecision::fp4}};
constexpr Choice<Dtype> kCached[] = {
    {"bf16", Dtype::bf16}, {"fp16", Dtype::fp16}, {"fp8", Dtype::fp8}};
constexpr Choice<AttentionGeneration> kAttention[] = {
    {"flash_2", AttentionGeneration::flash_2}, {"flash_3", AttentionGeneration::flash_3_or_cudnn}};
constexpr Choice<ContextExchange> kContextExchanges[] = {{"tree", ContextExchange::tree},
                                                         {"ring", ContextExchange::ring}};
constexpr Choice<LayerChain> kChains[] = {{"none", LayerChain::none},
                                          {"one_node", LayerChain::one_node},
                                          {"even", LayerChain::even},
                                          {"ring", LayerChain::ring},
                                          {"full_ring", LayerChain::full_ring}};
constexpr Choice<PoolRole> kRoles[] = {{name(PoolRole::aggregated), PoolRole::aggregated},
                                       {name(PoolRole::prefill), PoolRole::prefill},
                                       {name(PoolRole::decode), PoolRole::decode}};

constexpr Key kPoolRows[] = {
    choice<kRoles, &ServingPoolSpec::role>("role", "Part of a request that the pool serves."),
    choice<kChains, &ServingPoolSpec::chain>(
        "chain", "One instance on nodes that differ, by layers: the fastest node, all, or a ring."),
    key<&ServingPoolSpec::instances>("instances", "Copies of the model.")
        .range(1, 1'000'000)
        .of("instances"),
    key<&ServingPoolSpec::plan, &ServingPlan::tensor_model_parallel_size>(
        "tensor_model_parallel_size", "Ranks that share each layer of an instance.")
        .range(1, 1024)
        .of("ranks"),
    key<&ServingPoolSpec::plan, &ServingPlan::pipeline_model_parallel_size>(
        "pipeline_model_parallel_size", "Pipeline stages of an instance.")
        .range(1, 1024)
        .of("stages"),
    key<&ServingPoolSpec::plan, &ServingPlan::data_parallel_size>(
        "data_parallel_size", "Ranks with requests of their own that step together.")
        .range(1, 1024)
        .of("ranks"),
    key<&ServingPoolSpec::plan, &ServingPlan::expert_model_parallel_size>(
        "expert_model_parallel_size", "Ranks of a stage that hold different experts.")
        .range(1, 1024)
        .of("ranks"),
    key<&ServingPoolSpec::plan, &ServingPlan::expert_ranks>(
        "expert_ranks", "Ranks beside the others that hold all experts; 0: the others do.")
        .range(0, 4096)
        .of("ranks"),
    key<&ServingPoolSpec::plan, &ServingPlan::expert_skew>(
        "expert_skew", "Exponent of the power law of the experts' loads; 0: all are equal.")
        .range(0.0, 4.0),
    key<&ServingPoolSpec::plan, &ServingPlan::context_parallel_size>(
        "context_parallel_size", "Ranks that share the cache of each sequence by position.")
        .range(1, 1024)
        .of("ranks"),
    choice<kContextExchanges, &ServingPoolSpec::plan, &ServingPlan::context_parallel_comm>(
        "context_parallel_comm", "What ranks of a context exchange to generate a token."),
    choice<kServedProducts, &ServingPoolSpec::plan, &ServingPlan::precision>("precision",
                                                                             "Type of products."),
    key<&ServingPoolSpec::plan, &ServingPlan::weight_bits>("weight_bits",
                                                           "Bits of a stored weight.")
        .range(2, 16)
        .of("bits")
        .by("of precision"),
    key<&ServingPoolSpec::plan, &ServingPlan::attention_in_16_bits>(
        "attention_in_16_bits", "Attention's projections keep 16 bits."),
    key<&ServingPoolSpec::plan, &ServingPlan::block_scaled>(
        "block_scaled", "FP8 weights have a scale for each block of 128 x 128."),
    key<&ServingPoolSpec::weight_scale_bits>("weight_scale_bits",
                                             "Of a chain: bits of scales beside a weight's.")
        .range(0.0, 8.0),
    key<&ServingPoolSpec::n_gpu_layers>(
        "n_gpu_layers", "Of a chain: layers in a device's memory at most; -1: as many as fit.")
        .range(-1, 10'000)
        .of("layers"),
    key<&ServingPoolSpec::resting_memory>(
        "resting_memory",
        "Of a chain: memory of a host's programs at rest, swapped out for pages of weights."),
    choice<kCached, &ServingPoolSpec::plan, &ServingPlan::key_value_precision>(
        "key_value_precision", "Type of cached keys and values."),
    choice<kAttention, &ServingPoolSpec::plan, &ServingPlan::attention>("attention_kernel",
                                                                        "Attention kernel."),
    key<&ServingPoolSpec::plan, &ServingPlan::adapter_rank>(
        "adapter_rank", "Rank of low-rank adapters of every projection; 0: none.")
        .range(0, 1024)
        .of("columns"),
    key<&ServingPoolSpec::router>("router", "Policy that sends a request to an instance."),
    key<&ServingPoolSpec::num_routers>(
        "num_routers",
        "With round_robin: processes that choose instances without knowing of each other.")
        .range(1, 10'000)
        .of("processes"),
    key<&ServingPoolSpec::limits, &SchedulerLimits::max_num_seqs>("max_num_seqs",
                                                                  "Sequences of a step at most.")
        .range(1, 1'000'000)
        .of("sequences")
        .by("the engine's"),
    key<&ServingPoolSpec::limits, &SchedulerLimits::max_num_batched_tokens>(
        "max_num_batched_tokens", "Tokens of a step at most.")
        .range(1, kMostTokens)
        .of("tokens")
        .by("the engine's"),
    key<&ServingPoolSpec::limits, &SchedulerLimits::long_prefill_token_threshold>(
        "long_prefill_token_threshold", "Tokens of one prompt in a step at most; 0: no limit.")
        .range(0, kMostTokens)
        .of("tokens"),
    key<&ServingPoolSpec::limits, &SchedulerLimits::prompt_batching_steps>(
        "prompt_batching_steps",
        "Steps for which prompts of all data-parallel ranks wait for more of them.")
        .range(0, 10'000)
        .of("steps"),
    key<&ServingPoolSpec::limits, &SchedulerLimits::block_size>("block_size",
                                                                "Tokens of a block of the cache.")
        .range(1, 65'536)
        .of("tokens"),
    key<&ServingPoolSpec::limits, &SchedulerLimits::num_blocks>(
        "num_blocks", "Blocks of an instance's cache; 0: as many as the memory holds.")
        .range(0, 1'000'000'000)
        .of("blocks"),
    key<&ServingPoolSpec::limits, &SchedulerLimits::enable_prefix_caching>(
        "enable_prefix_caching", "Prompts share the blocks of equal beginnings."),
};
const KeyTable<ServingPoolSpec> kPoolKeys = key_table<ServingPoolSpec>(
    "serving_pool", kPoolRows, "{instances: 4, tensor_model_parallel_size: 8}");

constexpr Key kSpeculationRows[] = {
    key<&Speculation::draft_tokens>("draft_tokens", "Tokens that a draft proposes a step; 0: none.")
        .range(0, 64)
        .of("tokens"),
    key<&Speculation::acceptance>("acceptance",
                                  "Probability of a proposal if those before it were accepted.")
        .range(0.0, 1.0),
    entry("draft_model", "models", kModelKeys, "Model that proposes.").by("proposals cost nothing"),
};
const KeyTable<Speculation> kSpeculationKeys =
    key_table<Speculation>("speculation", kSpeculationRows, "{draft_tokens: 4, acceptance: 0.7}");

constexpr Choice<LostCache> kLostCaches[] = {{"recompute", LostCache::recompute},
                                             {"copy", LostCache::copy}};
constexpr Key kServingRecoveryRows[] = {
    part<&ServingRecovery::detection>("detection", kDetectionKeys, "How a fault is noticed."),
    key<&ServingRecovery::start_up>(
        "start_up", "Time until an instance serves again, beside the loading of its weights."),
    key<&ServingRecovery::weight_loading>("weight_loading",
                                          "Bandwidth at which a node reads weights.")
        .above_zero("5 GB/s"),
    choice<kLostCaches, &ServingRecovery::lost_cache>(
        "lost_cache", "Where keys and values come from that an instance has lost."),
};
const KeyTable<ServingRecovery> kServingRecoveryKeys = key_table<ServingRecovery>(
    "serving_recovery", kServingRecoveryRows, "{start_up: 30 s, lost_cache: copy}");

constexpr Key kServingRows[] = {
    entry("engine", "engines", kEngineKeys, "Software that serves.").by("vllm-v1"),
    nested("pools", KeyShape::map_or_list, kPoolKeys, "Instances; or prefill, then decode."),
    key<&ServingSpec::layer_wise_tokens>(
        "layer_wise_tokens", "Shortest prompt that leaves prefill layer by layer; 0: none does.")
        .range(0, kMostTokens)
        .of("tokens"),
    part<&ServingSpec::objectives>(
        "objectives", kObjectiveKeys, "What a request must reach to count in goodput."),
    part<&ServingSpec::recovery>(
        "recovery", kServingRecoveryKeys, "What follows a fault of an instance."),
    nested("speculation", KeyShape::map, kSpeculationKeys, "Proposals that steps verify."),
    nested("encoder", KeyShape::map, kEncoderKeys, "What reads images before the prompt."),
    key<&ServingSpec::admission>("admission",
                                 "Requests that are served: all, or those that will meet the "
                                 "objectives."),
    nested("autoscaler", KeyShape::map, kAutoscalerKeys, "Instances that follow the load."),
    nested("power", KeyShape::map, kRowPowerKeys, "Power of the row of all instances."),
    nested("cache", KeyShape::map, kLowerCacheKeys, "Tiers below the caches of the first pool."),
    key<&ServingSpec::cold_start>("cold_start",
                                  "Kernels are compiled at first use, after one request."),
    key<&ServingSpec::seed>("seed", "Seed of routers that draw, and of weights that are drawn.")
        .range(0, kMostTokens),
    key<&ServingSpec::price_per_gpu_hour>("price_per_gpu_hour",
                                          "Price of a GPU for an hour; 0: not known.")
        .range(0.0, 1e6),
    key<&ServingSpec::busy_watts>("busy_watts",
                                  "Power of a GPU while it computes, with its share of the server.")
        .range(0.0, 1e6),
    key<&ServingSpec::idle_watts>("idle_watts", "The same while it does not.").range(0.0, 1e6),
    plain("weights", KeyShape::path, "Of a real run: a checkpoint, or a safetensors file.")
        .by("drawn"),
};

// Missing keys of a pool have the engine's values.
void read_pool(const DocumentNode& map,
               const std::string& path,
               const ServingEngine& engine,
               ServingPoolSpec& pool,
               Errors& errors) {
    if (!map.is_map()) {
        errors.push_back({map.where(),
                          path + " must be a map, not " + map.describe(),
                          std::string{kPoolKeys.example}});
        return;
    }
    pool.limits.max_num_seqs = engine.max_num_seqs;
    pool.limits.max_num_batched_tokens = engine.max_num_batched_tokens;
    MapReader reader{map, path, errors};
    read_keys(reader, kPoolKeys, pool);
    if (map.find("weight_bits") == nullptr) {
        pool.plan.weight_bits = bits_of(pool.plan.precision);
    }
    check_name(reader, "router", pool.router, request_router_names());
    if (pool.plan.ranks_of_stage() % pool.plan.expert_model_parallel_size != 0) {
        reader.complain("expert_model_parallel_size",
                        fmt::format("{} must divide the {} ranks of a stage",
                                    reader.full_name("expert_model_parallel_size"),
                                    pool.plan.ranks_of_stage()),
                        "a divisor of tensor x data parallel ranks");
    }
    const std::int64_t others = pool.plan.pipeline_model_parallel_size *
                                pool.plan.data_parallel_size * pool.plan.expert_model_parallel_size;
    if (pool.plan.context_parallel_size > 1 && (others > 1 || pool.role != PoolRole::aggregated)) {
        reader.complain("context_parallel_size",
                        "ranks that share a context are those of an aggregated pool without "
                        "stages, data and expert parallelism",
                        "1, or other sizes of 1");
    }
    check_pool(reader, engine, pool);
    reader.finish();
}

void check_roles(const DocumentNode& pools, const ServingSpec& spec, Errors& errors) {
    const bool one = spec.pools.size() == 1 && spec.pools[0].role == PoolRole::aggregated;
    const bool two = spec.pools.size() == 2 && spec.pools[0].role == PoolRole::prefill &&
                     spec.pools[1].role == PoolRole::decode;
    if (!one && !two) {
        errors.push_back({pools.where(),
                          "serving.pools must be one aggregated pool, or prefill and decode",
                          "[{role: prefill, …}, {role: decode, …}]"});
    }
}

void read_speculation(DocumentNode& map,
                      const ModelSources& sources,
                      Speculation& speculation,
                      Errors& errors) {
    if (!map.is_map()) {
        errors.push_back({map.where(),
                          "serving.speculation must be a map, not " + map.describe(),
                          std::string{kSpeculationKeys.example}});
        return;
    }
    MapReader reader{map, "serving.speculation", errors};
    read_keys(reader, kSpeculationKeys, speculation);
    for (const char* const key : {"acceptance", "draft_model"}) {
        if (reader.has(key) && !reader.has("draft_tokens")) {
            reader.complain(
                key,
                fmt::format("{} is of tokens that a draft proposes", reader.full_name(key)),
                "draft_tokens: 4");
        }
    }
    if (reader.find("draft_model") != nullptr) {
        speculation.draft_model = read_model_beside(
            *map.find("draft_model"), "serving.speculation.draft_", sources, errors);
    }
    reader.finish();
}

}  // namespace

const KeyTable<ServingSpec> kServingKeys = key_table<ServingSpec>("serving", kServingRows);

void read_serving(DocumentNode& section,
                  const Catalogue& catalogue,
                  const std::filesystem::path& folder,
                  ServingSpec& spec,
                  std::vector<std::string>& remarks,
                  Errors& errors) {
    if (!section.is_map()) {
        errors.push_back({section.where(),
                          "serving must be a map, not " + section.describe(),
                          "{engine: vllm-v1, pools: {instances: 4}}"});
        return;
    }
    if (section.find("engine") == nullptr) {
        section.set(scalar_node("engine"), scalar_node("vllm-v1"));
    }
    DocumentNode engine =
        catalogue.resolve(*section.find("engine"), "engines", "serving.engine", errors);
    if (engine.is_map()) {
        *section.find("engine") = std::move(engine);
        read_engine_map(*section.find("engine"), spec.engine, errors);
    }
    MapReader reader{section, "serving", errors};
    read_keys(reader, kServingKeys, spec);
    if (std::string weights; reader.word("weights", weights)) {
        spec.weights = folder / weights;
    }
    check_name(reader, "admission", spec.admission, admission_names());
    if (const DocumentNode* autoscaler = reader.find("autoscaler")) {
        read_autoscaler(*autoscaler, spec, errors);
    }
    if (const DocumentNode* power = reader.find("power")) {
        read_row_power(*power, spec, errors);
    }
    if (const DocumentNode* cache = reader.find("cache")) {
        read_lower_cache(*cache, spec.cache, errors);
    }
    const ModelSources sources{catalogue, folder, remarks};
    if (reader.find("speculation") != nullptr) {
        read_speculation(*section.find("speculation"), sources, spec.speculation, errors);
    }
    if (reader.find("encoder") != nullptr) {
        read_encoder(*section.find("encoder"), sources, spec.encoder, errors);
    }
    if (const DocumentNode* pools = reader.find("pools")) {
        const bool list = pools->is_sequence();
        spec.pools.assign(list ? pools->items.size() : 1, {});
        for (std::size_t i = 0; i < spec.pools.size(); ++i) {
            read_pool(list ? pools->items[i] : *pools,
                      list ? fmt::format("serving.pools[{}]", i) : "serving.pools",
                      spec.engine,
                      spec.pools[i],
                      errors);
        }
        check_roles(*pools, spec, errors);
    } else {
        spec.pools.front().limits.max_num_seqs = spec.engine.max_num_seqs;
        spec.pools.front().limits.max_num_batched_tokens = spec.engine.max_num_batched_tokens;
    }
    check_policies(section, spec, errors);
    reader.finish();
}

}  // namespace orrery
