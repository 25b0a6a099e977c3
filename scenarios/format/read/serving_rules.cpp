// SPDX-License-Identifier: Apache-2.0
// Rules between the keys of a served load: a key that another one leaves without effect is an
// error.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scenarios/format/read/read_serving.h"

namespace orrery {

void limit_time(MapReader& reader, const char* key, Time value, Time most, const char* hint) {
    if (value > most) {
        reader.complain(
            key,
            fmt::format("{} is {:.0f} s at most", reader.full_name(key), most.seconds()),
            hint);
    }
}

void check_engine(MapReader& reader, const ServingEngine& engine) {
    // A step adds up such times over thousands of kernels and sequences.
    constexpr Time kMost = Time::seconds(100);
    for (const auto& [key, value] :
         {std::pair{"host_per_step", engine.host_per_step},
          std::pair{"host_per_sequence", engine.host_per_sequence},
          std::pair{"host_per_launch", engine.host_per_launch},
          std::pair{"host_per_head_copy", engine.host_per_head_copy},
          std::pair{"host_per_request", engine.host_per_request},
          std::pair{"host_per_prompt_token", engine.host_per_prompt_token},
          std::pair{"host_per_response", engine.host_per_response},
          std::pair{"kernel_compile_time", engine.kernel_compile_time},
          std::pair{"attention_latency", engine.attention_latency},
          std::pair{"attention_block", engine.attention_block}}) {
        limit_time(reader, key, value, kMost, "1 ms");
    }
    if (engine.captures_generation && engine.host_per_launch == Time{}) {
        reader.complain("captures_generation",
                        "serving.engine.captures_generation says of which steps host_per_launch is",
                        "host_per_launch: 45 us");
    }
    if (engine.captured_batch_multiple > 1 && !engine.captures_generation) {
        reader.complain("captured_batch_multiple",
                        "serving.engine.captured_batch_multiple is of the steps that "
                        "captures_generation captures",
                        "captures_generation: true");
    }
    if (engine.max_captured_sequences > 0 && !engine.captures_generation) {
        reader.complain("max_captured_sequences",
                        "serving.engine.max_captured_sequences limits what captures_generation "
                        "captures",
                        "captures_generation: true");
    }
    if (engine.max_seq_len_to_capture > 0 && !engine.captures_generation) {
        reader.complain("max_seq_len_to_capture",
                        "serving.engine.max_seq_len_to_capture limits what captures_generation "
                        "captures",
                        "captures_generation: true");
    }
    if (engine.front_ends > 1 && engine.host_per_request == Time{} &&
        engine.host_per_prompt_token == Time{}) {
        reader.complain("front_ends",
                        "serving.engine.front_ends says how many requests take host_per_request "
                        "and host_per_prompt_token at a time, which are 0",
                        "host_per_request: 1.5 ms");
    }
    if (engine.stream_interval > 1 && engine.host_per_response == Time{}) {
        reader.complain("stream_interval",
                        "serving.engine.stream_interval says how many tokens share "
                        "host_per_response, which is 0",
                        "host_per_response: 100 us");
    }
    const BatchingRules* rules = find_batching_rules(engine.scheduler);
    if (rules == nullptr) {
        return;  // an error already
    }
    const auto needs_phases = [&](const char* key, bool given) {
        if (given && (rules->mixes_phases || rules->only_when_empty)) {
            reader.complain(key,
                            fmt::format("serving.engine.{} is of schedulers whose prompts have "
                                        "steps of their own, and scheduler is {}",
                                        key,
                                        engine.scheduler),
                            "scheduler: vllm_v0, or sglang");
        }
    };
    needs_phases("prompts_together", engine.prompts_together > 1);
    needs_phases("prompt_free_share", engine.prompt_free_share > 0);
    needs_phases("num_scheduler_steps", engine.num_scheduler_steps > 1);
}

namespace {

// A chain is a single instance, which takes the nodes that it needs.
void check_chain_of(MapReader& reader, const ServingPoolSpec& pool) {
    const auto refuse = [&](const char* key, bool given) {
        if (given) {
            reader.complain(
                key,
                fmt::format("{} does not go with {}, whose instance has one GPU of each "
                            "node that it takes",
                            reader.full_name(key),
                            reader.full_name("chain")),
                "1, or chain: none");
        }
    };
    refuse("instances", pool.instances > 1);
    refuse("tensor_model_parallel_size", pool.plan.tensor_model_parallel_size > 1);
    refuse("pipeline_model_parallel_size", pool.plan.pipeline_model_parallel_size > 1);
    refuse("data_parallel_size", pool.plan.data_parallel_size > 1);
    refuse("expert_model_parallel_size", pool.plan.expert_model_parallel_size > 1);
    refuse("context_parallel_size", pool.plan.context_parallel_size > 1);
    refuse("expert_ranks", pool.plan.expert_ranks > 0);
    if (pool.role != PoolRole::aggregated) {
        reader.complain("chain",
                        fmt::format("{} serves whole requests, and the role is {}",
                                    reader.full_name("chain"),
                                    name(pool.role)),
                        "role: aggregated");
    }
}

void refuse_keys_of_chains(MapReader& reader, const ServingPoolSpec& pool) {
    const auto refuse = [&](const char* key, bool given) {
        if (given) {
            reader.complain(
                key, fmt::format("{} is of a chain", reader.full_name(key)), "chain: ring");
        }
    };
    refuse("weight_scale_bits", pool.weight_scale_bits > 0);
    refuse("n_gpu_layers", pool.n_gpu_layers >= 0);
    refuse("resting_memory", pool.resting_memory > Bytes{});
}

}  // namespace

void check_pool(MapReader& reader, const ServingEngine& engine, const ServingPoolSpec& pool) {
    const ServingPlan& plan = pool.plan;
    if (pool.chain != LayerChain::none) {
        check_chain_of(reader, pool);
    } else {
        refuse_keys_of_chains(reader, pool);
    }
    if (pool.num_routers > 1 && pool.router != "round_robin") {
        reader.complain("num_routers",
                        "only round_robin has a turn for each of several routers",
                        "1, or router: round_robin");
    } else if (pool.num_routers > 1 && pool.instances == 1) {
        reader.complain("num_routers", "the pool has one instance", "1");
    }
    if (plan.attention_in_16_bits && (plan.weight_bits == 16 || pool.chain != LayerChain::none)) {
        reader.complain("attention_in_16_bits",
                        fmt::format("{} is of weights of fewer bits, and not of a chain",
                                    reader.full_name("attention_in_16_bits")),
                        "precision: fp8");
    }
    if (plan.block_scaled && plan.precision != ProductPrecision::fp8) {
        reader.complain("block_scaled",
                        fmt::format("{} is of products in fp8", reader.full_name("block_scaled")),
                        "precision: fp8");
    }
    if (plan.context_parallel_size == 1 && plan.context_parallel_comm == ContextExchange::ring) {
        reader.complain("context_parallel_comm",
                        fmt::format("{} is of ranks that share a context",
                                    reader.full_name("context_parallel_comm")),
                        "context_parallel_size: 8");
    }
    if (plan.expert_ranks > 0 &&
        (pool.role != PoolRole::aggregated || plan.pipeline_model_parallel_size > 1 ||
         plan.expert_model_parallel_size > 1 || plan.context_parallel_size > 1)) {
        reader.complain(
            "expert_ranks",
            fmt::format("{} are of an aggregated pool whose other ranks have no stages, "
                        "experts or shares of a context",
                        reader.full_name("expert_ranks")),
            "data_parallel_size and tensor_model_parallel_size");
    }
    const BatchingRules* rules = find_batching_rules(engine.scheduler);
    if (pool.limits.long_prefill_token_threshold > 0 && rules != nullptr &&
        !rules->chunks_prompts) {
        reader.complain("long_prefill_token_threshold",
                        fmt::format("{} is of schedulers that cut prompts, and {} does not",
                                    reader.full_name("long_prefill_token_threshold"),
                                    engine.scheduler),
                        "serving.engine.scheduler: vllm_v1");
    }
    if (pool.limits.prompt_batching_steps > 0 &&
        (plan.data_parallel_size == 1 || engine.prompt_wait_steps == 0)) {
        reader.complain(
            "prompt_batching_steps",
            fmt::format("{} is of data-parallel ranks whose prompts wait for each other",
                        reader.full_name("prompt_batching_steps")),
            "data_parallel_size and serving.engine.prompt_wait_steps");
    }
}

namespace {

void need_latencies(const DocumentNode& section, const char* key, bool has, Errors& errors) {
    if (!has) {
        errors.push_back({section.find(key)->where(),
                          fmt::format("serving.{} asks for objectives, and there are none", key),
                          "serving.objectives: {ttft: 2 s, tpot: 200 ms}"});
    }
}

}  // namespace

namespace {

void refuse_tiers_of_split(const DocumentNode& section, const ServingSpec& spec, Errors& errors) {
    const DocumentNode* cache = section.find("cache");
    if (cache != nullptr && std::ranges::any_of(spec.pools, [](const ServingPoolSpec& pool) {
            return pool.plan.expert_ranks > 0;
        })) {
        errors.push_back({cache->where(),
                          "serving.cache does not go with expert_ranks: all ranks of an instance "
                          "load their parts",
                          "expert_ranks: 0"});
    }
}

// These sections of `serving` need instances of equal ranks, but a chain's nodes differ.
void check_policies_of_chain(const DocumentNode& section, Errors& errors) {
    for (const char* const key : {"speculation",
                                  "autoscaler",
                                  "power",
                                  "cache",
                                  "recovery",
                                  "price_per_gpu_hour",
                                  "busy_watts",
                                  "weights"}) {
        if (const DocumentNode* given = section.find(key)) {
            errors.push_back({given->where(),
                              fmt::format("serving.{} does not go with serving.pools.chain: it is "
                                          "of instances with equal ranks",
                                          key),
                              "leave one of them out"});
        }
    }
}

// Instances compile kernels of FP8 products with scales of blocks alone.
void check_cold_start(const DocumentNode& section, const ServingSpec& spec, Errors& errors) {
    if (!spec.cold_start) {
        return;
    }
    if (spec.engine.kernel_compile_time == Time{}) {
        errors.push_back({section.find("cold_start")->where(),
                          "serving.cold_start is of an engine that compiles kernels, and its "
                          "kernel_compile_time is 0",
                          "serving.engine.kernel_compile_time: 450 ms"});
    } else if (std::ranges::none_of(spec.pools, [](const ServingPoolSpec& pool) {
                   return pool.plan.block_scaled && pool.chain == LayerChain::none;
               })) {
        errors.push_back({section.find("cold_start")->where(),
                          "serving.cold_start is of products with scales of blocks",
                          "serving.pools.block_scaled: true, precision: fp8"});
    }
}

}  // namespace

void check_policies(const DocumentNode& section, const ServingSpec& spec, Errors& errors) {
    if (spec.has_chain()) {
        check_policies_of_chain(section, errors);
    }
    refuse_tiers_of_split(section, spec, errors);
    if (spec.layer_wise_tokens > 0 && spec.pools.size() == 1) {
        errors.push_back({section.find("layer_wise_tokens")->where(),
                          "serving.layer_wise_tokens is of prompts that leave for another pool",
                          "serving.pools: [{role: prefill, …}, {role: decode, …}]"});
    }
    check_cold_start(section, spec, errors);
    const ServingObjectives& due = spec.objectives;
    const bool latencies = due.ttft > Time{} || due.tpot > Time{};
    if (spec.admission == "objectives") {
        need_latencies(section, "admission", latencies || due.tbt > Time{}, errors);
    }
    if (spec.autoscaler.policy == "objectives") {
        need_latencies(section, "autoscaler", latencies, errors);
    }
    const bool never = std::ranges::all_of(spec.pools, [&](const ServingPoolSpec& pool) {
        return pool.instances < spec.autoscaler.min_instances;
    });
    if (spec.autoscaler.min_instances > 1 && never) {
        errors.push_back({section.find("autoscaler")->find("min_instances")->where(),
                          "serving.autoscaler.min_instances is more than any pool has",
                          "at most serving.pools.instances"});
    }
    if (spec.idle_watts > 0 && spec.busy_watts == 0) {
        errors.push_back({section.find("idle_watts")->where(),
                          "serving.idle_watts has no effect without the power of a GPU that "
                          "computes",
                          "serving.busy_watts: 1000"});
    }
}

void check_recovery(const DocumentNode& section,
                    const ServingSpec& spec,
                    bool has_faults,
                    Errors& errors) {
    if (spec.layer_wise_tokens > 0 && has_faults) {
        errors.push_back({section.find("layer_wise_tokens")->where(),
                          "serving.layer_wise_tokens does not go with faults: an instance that "
                          "stops has sent some layers of its prompts",
                          "0"});
    }
    const DocumentNode* recovery = section.find("recovery");
    if (recovery == nullptr || has_faults) {
        return;
    }
    // Instances of an autoscaler start up, too.
    const bool scales = spec.autoscaler.policy != "none";
    for (const DocumentNode& key : recovery->keys) {
        if (!scales || (key.text != "start_up" && key.text != "weight_loading")) {
            errors.push_back(
                {key.where(),
                 fmt::format("serving.recovery.{} is of faults, and there are none", key.text),
                 "faults: [{t: 2 min, at: \"node:0\", kind: node_crash}]"});
        }
    }
}

void check_load(const DocumentNode& section,
                const DocumentNode* serving_section,
                const ServingSpec& serving,
                const WorkloadSpec& workload,
                Errors& errors) {
    const auto ranked = [](const ServingPoolSpec& pool) { return pool.plan.adapter_rank > 0; };
    if (workload.adapters > 0 && serving.engine.mixes_adapters &&
        !std::ranges::all_of(serving.pools, ranked)) {
        errors.push_back({section.find("adapters")->where(),
                          "workload.adapters needs the rank of the adapters",
                          "serving.pools.adapter_rank: 16"});
    }
    if (workload.adapters == 0 && std::ranges::any_of(serving.pools, ranked)) {
        errors.push_back({section.where(),
                          "serving.pools.adapter_rank is of adapters, and requests are for none",
                          "workload.adapters: 100"});
    }
    const DocumentNode* encoder =
        serving_section == nullptr ? nullptr : serving_section->find("encoder");
    if (encoder != nullptr && section.find("images") == nullptr) {
        errors.push_back({encoder->where(),
                          "serving.encoder reads images, and no request has one",
                          "workload.images: 1"});
    }
    if (workload.images > 0 && encoder == nullptr) {
        errors.push_back({section.find("images")->where(),
                          "workload.images needs an encoder",
                          "serving.encoder: {model: {…}}"});
    }
    if (workload.repeated_requests > 0 && !serving.pools.front().limits.enable_prefix_caching) {
        errors.push_back({section.find("repeated_requests")->where(),
                          "workload.repeated_requests is of prefix caches, and "
                          "enable_prefix_caching is false",
                          "serving.pools.enable_prefix_caching: true"});
    }
    // An explicit `queue_order: arrival` switches the predictor off.
    const DocumentNode* engine =
        serving_section == nullptr ? nullptr : serving_section->find("engine");
    const bool ordered = engine != nullptr && engine->find("queue_order") != nullptr &&
                         serving.engine.queue_order != QueueOrder::deadline;
    const bool routed = std::ranges::any_of(
        serving.pools, [](const ServingPoolSpec& pool) { return pool.router == "earliest_end"; });
    if (workload.prediction_error > 0 && !ordered && !routed) {
        errors.push_back(
            {section.find("prediction_error")->where(),
             "workload.prediction_error is of lengths that order the queue or choose an "
             "instance",
             "serving.engine.queue_order: predicted_length"});
    }
}

}  // namespace orrery
