// SPDX-License-Identifier: Apache-2.0
// Serving as a scenario says it: how instances of an engine hold the model and choose their
// batches, and the load that arrives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/units.h"
#include "engine/faults/detection.h"
#include "engine/serving/batch_scheduler.h"
#include "engine/serving/instance_faults.h"
#include "models/serving/serving_plan.h"
#include "models/transformer/transformer.h"
#include "scenarios/format/specs/serving_policies.h"

namespace orrery {

// Facts about the software that serves, and its defaults: an entry of the catalogue's engines.
struct ServingEngine {
    std::string name{};
    Time host_per_step{};      // scheduling, sampling, launching
    Time host_per_sequence{};  // of each sequence in the batch
    // Of each kernel and collective of a step that is not replayed from a graph: of every step, or
    // of those with prompts.
    Time host_per_launch{};
    // Of a request, outside of its steps: the server's front end reads and tokenises the prompt
    // before it is queued.
    Time host_per_request{};
    std::int64_t front_ends = 1;  // requests that an instance's front end handles at a time
    // The host prepares the next step while the device works: a step takes the longer of the two,
    // else their sum. Requests that come meanwhile wait for the step after it.
    bool asynchronous = true;
    // Sums of tensor parallelism by the engine's own kernel where that is faster than NCCL
    // (network/collectives/direct_all_reduce.h).
    bool direct_all_reduce = true;
    // models/serving/serving_plan.h: the same of ServingPlan
    bool fused_casts = false;
    bool fused_cache_write = false;
    bool masks_experts = false;
    // Requests for different adapters share a step. Otherwise those for one adapter do, which is
    // part of the weights meanwhile.
    bool mixes_adapters = true;
    // Of an attention kernel that reads a paged cache, beyond the device's kernel_latency: block
    // tables, and a second kernel that joins the parts of a split context.
    Time attention_latency{};
    // Of a kernel that generates, on one SM: a key-value head of a sequence beside the reading of
    // its cache, with a cache of 16 bits; twice as long with one of 8 bits, whose tiles hold twice
    // as many tokens.
    Time attention_block{};
    // Query heads that share a key-value head in the one shape whose shared keys and values are
    // read once (with 128 elements a head); in others every query head reads them, by way of the L2
    // cache. 0: all shapes share.
    std::int64_t shared_query_heads = 0;
    // Memory of each GPU that neither weights, keys and values nor activations get: captured
    // graphs, the CUDA context.
    Bytes reserved_memory{};
    double memory_share = 0.9;         // of a GPU's memory that the engine may use (vLLM) ...
    bool share_of_rest = false;        // ... or of what weights and the engine leave (TensorRT-LLM)
    bool captures_generation = false;  // steps that only generate are replayed from graphs
    // max_num_seqs are of each stage of a pipeline, otherwise of all together.
    bool seqs_of_each_stage = false;
    // Steps that generate between two looks at the queue (vLLM v0's option); the host prepares them
    // together.
    std::uint32_t num_scheduler_steps = 1;
    // For schedulers whose steps hold prompts alone (AMD's vLLM of MLPerf): prompts begin when this
    // many prompts wait and this share of the cache is free.
    std::uint32_t prompts_together = 1;
    double prompt_free_share = 0;
    QueueOrder queue_order = QueueOrder::arrival;
    std::string scheduler = "vllm_v1";  // engine/serving/batch_scheduler.h: batching_rules()
    std::int64_t max_num_seqs = 1024;
    std::int64_t max_num_batched_tokens = 8192;
    // max_num_batched_tokens are of all data-parallel ranks together, otherwise of each.
    bool tokens_of_all_ranks = false;
    // With data-parallel attention, steps for which prompts wait until there is one for each rank
    // (TensorRT-LLM's attention_dp_config: timeout_iters).
    std::uint32_t prompt_wait_steps = 0;
};

// What the instances of a pool do.
enum class PoolRole : std::uint8_t { aggregated, prefill, decode };

constexpr std::string_view name(PoolRole role) {
    return role == PoolRole::prefill  ? "prefill"
           : role == PoolRole::decode ? "decode"
                                      : "aggregated";
}

// How layers lie on nodes that differ (studies/serve/layer_chain.h).
enum class LayerChain : std::uint8_t {
    none,  // instances have equal ranks
    one_node,
    even,
    ring,
};

constexpr std::string_view name(LayerChain chain) {
    return chain == LayerChain::one_node ? "one_node"
           : chain == LayerChain::even   ? "even"
           : chain == LayerChain::ring   ? "ring"
                                         : "none";
}

struct ServingPoolSpec {
    PoolRole role = PoolRole::aggregated;
    LayerChain chain = LayerChain::none;
    double weight_scale_bits = 0;  // of a chain: beside ServingPlan::weight_bits of each weight
    std::int64_t instances = 1;
    ServingPlan plan;
    // num_blocks 0: as many as the memory holds.
    SchedulerLimits limits;
    std::string router = "least_requests";  // engine/serving/request_router.h
};

// How many times as long as alone on an idle instance of the first pool 50, 90 and 99 of 100
// requests may take (Patel et al., Splitwise, ISCA 2024, section V); zero: no objective.
struct SlowdownObjective {
    double p50 = 0;
    double p90 = 0;
    double p99 = 0;
    bool any() const { return p50 > 0 || p90 > 0 || p99 > 0; }
};

// What a request must reach to count as good; zero: no objective.
struct ServingObjectives {
    Time ttft{};  // to the first token
    Time tpot{};  // of an output token, mean over the request
    Time e2e{};
    Time tbt{};  // between output tokens: mean of the longest tenth of a request's (Mooncake)
    // Of all requests together: goodput counts no request by these.
    SlowdownObjective ttft_slowdown{};
    SlowdownObjective tbt_slowdown{};  // of all times between two tokens
    SlowdownObjective e2e_slowdown{};
    bool any_slowdown() const {
        return ttft_slowdown.any() || tbt_slowdown.any() || e2e_slowdown.any();
    }
};

// Speculative decoding (Leviathan et al., ICML 2023): a draft proposes tokens, which the next step
// of the sequence verifies together.
struct Speculation {
    std::int64_t draft_tokens = 0;  // 0: none
    // Probability that a proposal is accepted if those before it were.
    double acceptance = 0.7;
    // Proposes on the same GPUs, one step a proposal. Without layers, proposals cost nothing:
    // prompt lookup works like that.
    Transformer draft_model{.num_layers = 0};
    bool has_model() const { return draft_tokens > 0 && draft_model.num_layers > 0; }
};

// Reads images before the model reads the prompt of which they become a part.
struct EncoderSpec {
    Transformer model{.num_layers = 0};  // no layers: no encoder
    std::int64_t patches = 1025;         // tokens that it reads of an image
    // Of its own, each with the next request that waits; 0: instances of the first pool encode the
    // images of a prompt in the step in which the prompt begins (Qiu et al., ModServe,
    // arXiv:2502.00937).
    std::int64_t instances = 0;
    // Ranks that share an image. The other ranks of an instance of a pool do the same work.
    std::int64_t tensor_model_parallel_size = 1;
    bool present() const { return model.num_layers > 0; }
    std::int64_t num_gpus() const { return instances * tensor_model_parallel_size; }
    ServingPlan plan() const { return {.tensor_model_parallel_size = tensor_model_parallel_size}; }
};

// What follows a fault of an instance's nodes.
struct ServingRecovery {
    DetectionSpec detection{};
    // A fault of no stated duration: a spare node takes the place at once.
    // Of an instance, until it serves: processes start, graphs are captured (assumed) ...
    WallTime start_up = WallTime::seconds(30);
    // ... and every node reads its weights at this rate (assumed: NVMe disks).
    Bandwidth weight_loading = Bandwidth::bytes_per_second(5'000'000'000);
    LostCache lost_cache = LostCache::recompute;
};

struct ServingSpec {
    ServingEngine engine;
    Speculation speculation;
    EncoderSpec encoder{};
    ServingObjectives objectives;
    ServingRecovery recovery{};
    LowerCacheSpec cache{};
    std::string admission = "all";  // engine/serving/admission.h
    AutoscalerSpec autoscaler{};
    RowPowerSpec power{};
    // One aggregated pool, or one that computes prompts and then one that generates. Their
    // instances stand on the cluster's GPUs in this order.
    std::vector<ServingPoolSpec> pools{1};
    std::uint64_t seed = 0;
    // Of the GPUs that the instances take; 0: not known.
    double price_per_gpu_hour = 0;
    double busy_watts = 0;  // with the GPU's share of the server
    double idle_watts = 0;
    // Of a real run: a checkpoint's folder or a safetensors file; empty: drawn from the seed.
    std::filesystem::path weights{};

    bool has_chain() const {
        return std::ranges::any_of(
            pools, [](const ServingPoolSpec& pool) { return pool.chain != LayerChain::none; });
    }
    std::int64_t num_gpus() const {
        std::int64_t gpus = encoder.num_gpus();
        for (const ServingPoolSpec& pool : pools) {
            gpus += pool.instances * pool.plan.num_ranks();
        }
        return gpus;
    }
};

// Which adapter a request is for.
enum class AdapterPopularity : std::uint8_t {
    in_turn,  // one after the other
    uniform,  // drawn, all alike
    zipf,     // drawn: the n-th has the weight 1 / n^adapter_alpha
};

// Tokens of a request or a step at most, and the largest seed.
inline constexpr std::int64_t kMostTokens = 1'000'000'000;
// No request arrives later, because Time ends at 9.2e6 s: neither one of a trace nor a drawn one.
inline constexpr double kLongestLoad_s = 5e6;

// A load: a trace, or a synthetic one whose lengths are drawn uniformly from `length_spread`
// times the stated length to the stated length.
struct WorkloadSpec {
    std::int64_t num_requests = 1000;
    std::int64_t users = 0;   // of a closed load, each with one request at a time
    double request_rate = 0;  // open: Poisson arrivals a second; 0: all at once
    double input_tokens = 1024;
    double output_tokens = 128;
    double length_spread = 1;  // 1: all equal
    // Of the times between arrivals, their standard deviation over their mean: 1 is Poisson's,
    // otherwise they are gamma distributed.
    double arrival_variation = 1;
    // share,input_tokens,output_tokens: shares of requests with at most these lengths. Prompts and
    // outputs are drawn from it independently, instead of the two lengths; empty: no table.
    std::filesystem::path lengths{};
    // Of a predictor of output lengths: standard deviation of the logarithm of predicted over true.
    double prediction_error = 0;
    std::uint64_t seed = 0;
    std::int64_t adapters = 0;  // low-rank adapters that requests are for; 0: none
    AdapterPopularity adapter_popularity = AdapterPopularity::uniform;
    double adapter_alpha = 1.5;
    std::filesystem::path trace{};  // read_request_trace.h; empty: synthetic
    // Tokens of the blocks whose hashes a trace names (Mooncake's: 512).
    std::int64_t trace_block_tokens = 512;
    // Requests are turns of conversations: the prompt of a turn is that of the turn before, its
    // output, and new tokens of the stated lengths. Mean number of turns; 1: no conversations.
    double turns = 1;
    double turn_tokens = 0;  // mean of the new tokens of later turns, exponential; 0: as the first
    Time turn_gap = Time::seconds(30);  // mean, from the arrival of a turn to that of the next one
    std::int64_t system_tokens = 0;     // with which all prompts begin, besides
    bool has_conversations() const { return turns > 1 || system_tokens > 0; }
    std::int64_t images = 0;  // of each request that has some; 0: none has
    double image_share = 1;   // of the requests, drawn
    // Of the prompt, besides its own: what an image becomes for the model.
    std::int64_t image_prompt_tokens = 0;
    // A table of clients (client_table.h) and one of its workloads; empty: one kind of requests.
    std::filesystem::path clients{};
    std::string client_group{};
};

}  // namespace orrery
