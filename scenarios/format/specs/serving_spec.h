// SPDX-License-Identifier: Apache-2.0
// Serving in a scenario: the instances of an engine with their plans and schedulers, and the load.
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

// Facts about the serving software and its defaults: an entry of the catalogue's engines.
struct ServingEngine {
    std::string name{};
    Time host_per_step{};      // scheduling, sampling, launching
    Time host_per_sequence{};  // of each sequence in the batch
    // For each kernel and collective of a step that is not replayed from a graph. Depending on
    // captures_generation these are all steps, or the steps with prompts, and of a step in pieces
    // the attention kernels and the pieces.
    Time host_per_launch{};
    // For each of keys and values in each layer, if a step with prompts copies shared key-value
    // heads for their query heads. The copy waits for the device, which is idle until the host has
    // launched attention. Zero: kernels of attention share the heads.
    Time host_per_head_copy{};
    // For each kernel of FP8 products with scales of blocks that the host compiles at its first use
    // (studies/serve/compiled_products.h). Zero: kernels come with the engine.
    Time kernel_compile_time{};
    // For each request, outside of its steps: the server's front end reads and tokenises the prompt
    // before the request is queued.
    Time host_per_request{};
    // For each token of a request's prompt, in addition to host_per_request: the front end
    // tokenises the text. Zero: requests bring tokens.
    Time host_per_prompt_token{};
    // Number of requests that an instance's front end handles at a time
    std::int64_t front_ends = 1;
    // For each response to a client, outside of its steps: one thread of an instance's host turns
    // tokens into text and sends them (engine/serving/responses.h).
    Time host_per_response{};
    // Tokens of a response, but for the first token of an answer (TensorRT-LLM's option)
    std::int64_t stream_interval = 1;
    // The host prepares the next step while the device works, so that a step takes the longer of
    // the two times. Requests that arrive meanwhile wait for the step after the next. false: a step
    // takes the sum.
    bool asynchronous = true;
    // The engine's own kernel does all-reduces of tensor parallelism if it is faster than NCCL
    // (network/collectives/direct_all_reduce.h).
    bool direct_all_reduce = true;
    // NCCL sums in the switches of servers that can (NVLS, node.nvls). false: the engine turns it
    // off.
    bool nvls = true;
    // That kernel has no barriers (PeerFlags::in_data).
    bool flags_in_data = false;
    // Same as in ServingPlan (models/serving/serving_plan.h).
    bool fused_casts = false;
    bool fused_cache_write = false;
    bool masks_experts = false;
    // One FlashAttention 2 kernel per layer attends for a step's prompts and its generating
    // sequences. false: a kernel for each.
    bool joins_attention = false;
    // Requests for different adapters share a step. false: only requests for one adapter share a
    // step, and the adapter is merged into the weights meanwhile.
    bool mixes_adapters = true;
    // For each attention kernel that reads a paged cache, in addition to the device's
    // kernel_latency: block tables, and a second kernel that joins the parts of a split context.
    Time attention_latency{};
    // For each generating attention kernel, on one SM: the time for a key-value head of a sequence,
    // without reading its cache. The time is for a cache of 16 bits. With 8 bits it is twice as
    // long, because a tile holds twice the tokens.
    Time attention_block{};
    // Rows of queries in a tile of prompts' attention, if there are so few of them that the kernel
    // waits for keys and values from the L2 cache (vLLM's Triton kernel: 16). 0: the curves.
    std::int64_t attention_tile_rows = 0;
    // The number of query heads for each key-value head in the only shape whose shared keys and
    // values are read once (with 128 elements a head). In other shapes every query head reads them,
    // through the L2 cache. 0: all shapes share.
    std::int64_t shared_query_heads = 0;
    // The highest share of the device's peak for kernels of experts: with plain weights, with
    // block-scaled FP8 weights, and with weights that the kernel unpacks. 0: the curves of
    // products.
    double expert_peak = 0;
    double scaled_expert_peak = 0;
    double unpacked_expert_peak = 0;
    // Memory of each GPU for captured graphs and the CUDA context, which weights, caches and
    // activations cannot use.
    Bytes reserved_memory{};
    double memory_share = 0.9;  // share of a GPU's memory that the engine may use (vLLM) …
    // … or share of the memory that weights and engine leave free (TensorRT-LLM)
    bool share_of_rest = false;
    bool captures_generation = false;  // steps that only generate are replayed from graphs
    // The longest step in tokens that is replayed in pieces: a graph holds what lies between the
    // attention kernels of two layers (vLLM's cudagraph_mode PIECEWISE). 0: none.
    std::int64_t piecewise_capture_tokens = 0;
    // Graphs hold multiples of this number of sequences of a data-parallel rank, and powers of two
    // below it. A step is filled up to the next such number. 1: a graph for each number.
    std::int64_t captured_batch_multiple = 1;
    // The largest number of a data-parallel rank's sequences that a graph holds; 0: any.
    std::int64_t max_captured_sequences = 0;
    // The longest context of a captured step in tokens (vLLM's option of this name); 0: any.
    std::int64_t max_seq_len_to_capture = 0;
    // max_num_seqs applies to each pipeline stage. false: to all stages together.
    bool seqs_of_each_stage = false;
    // The number of generating steps between two looks at the queue (vLLM v0's option). The host
    // prepares them together.
    std::uint32_t num_scheduler_steps = 1;
    // For schedulers whose prompt steps have only prompts (AMD's vLLM of MLPerf): prompts start
    // when this number of prompts waits and this share of the cache is free.
    std::uint32_t prompts_together = 1;
    double prompt_free_share = 0;
    QueueOrder queue_order = QueueOrder::arrival;
    std::string scheduler = "vllm_v1";  // engine/serving/batch_scheduler.h: batching_rules()
    std::int64_t max_num_seqs = 1024;
    std::int64_t max_num_batched_tokens = 8192;
    // max_num_batched_tokens applies to all data-parallel ranks together. false: to each.
    bool tokens_of_all_ranks = false;
    // With two pools: clients get the first token from the decode instance, when the request joins
    // its steps. false: from the prefill instance.
    bool streams_from_decode = false;
    // With data-parallel attention: the number of steps for which prompts wait until each rank has
    // one (TensorRT-LLM's attention_dp_config: timeout_iters). With prompts_together: the number of
    // looks at the queue for which fewer prompts wait; 0: without end.
    std::uint32_t prompt_wait_steps = 0;
};

// The work of a pool's instances.
enum class PoolRole : std::uint8_t { aggregated, prefill, decode };

constexpr std::string_view name(PoolRole role) {
    return role == PoolRole::prefill  ? "prefill"
           : role == PoolRole::decode ? "decode"
                                      : "aggregated";
}

// The distribution of layers over unequal nodes (studies/serve/layer_chain.h).
enum class LayerChain : std::uint8_t {
    none,  // instances have equal ranks
    one_node,
    even,
    ring,
    full_ring,
};

constexpr std::string_view name(LayerChain chain) {
    return chain == LayerChain::one_node    ? "one_node"
           : chain == LayerChain::even      ? "even"
           : chain == LayerChain::ring      ? "ring"
           : chain == LayerChain::full_ring ? "full_ring"
                                            : "none";
}

struct ServingPoolSpec {
    PoolRole role = PoolRole::aggregated;
    LayerChain chain = LayerChain::none;
    // With a chain: bits of scales, added to ServingPlan::weight_bits of each weight
    double weight_scale_bits = 0;
    // With a chain: the layers in a device's memory at most (llama.cpp's --n-gpu-layers); -1: as
    // many as fit.
    std::int64_t n_gpu_layers = -1;
    // With a chain: memory of programs at rest on each host. The kernel swaps it out in favour of
    // pages of weights, but no plan counts on it.
    Bytes resting_memory{};
    std::int64_t instances = 1;
    ServingPlan plan;
    // num_blocks 0: as many blocks as fit in memory.
    SchedulerLimits limits;
    std::string router = "least_requests";  // engine/serving/request_router.h
    // Processes with such a router each. Requests come to them in turn, and each chooses without
    // knowing of the others.
    std::int64_t num_routers = 1;
};

// The largest allowed slowdown of 50, 90 and 99 % of the requests, relative to an idle instance of
// the first pool (Patel et al., Splitwise, ISCA 2024, section V). Zero: no objective.
struct SlowdownObjective {
    double p50 = 0;
    double p90 = 0;
    double p99 = 0;
    bool any() const { return p50 > 0 || p90 > 0 || p99 > 0; }
};

// The objectives that a good request meets; zero: no objective.
struct ServingObjectives {
    Time ttft{};  // to the first token
    Time tpot{};  // time of an output token, mean over the request
    Time e2e{};
    // Between output tokens: mean of the longest tenth of the request's gaps (Mooncake)
    Time tbt{};
    // Objectives of all requests together. Goodput does not use them.
    SlowdownObjective ttft_slowdown{};
    SlowdownObjective tbt_slowdown{};  // of a request's mean time between tokens
    SlowdownObjective e2e_slowdown{};
    bool any_slowdown() const {
        return ttft_slowdown.any() || tbt_slowdown.any() || e2e_slowdown.any();
    }
};

// Speculative decoding (Leviathan et al., ICML 2023): a draft proposes tokens, and the sequence's
// next step verifies them together.
struct Speculation {
    std::int64_t draft_tokens = 0;  // 0: none
    // The probability that a proposal is accepted if all earlier ones were.
    double acceptance = 0.7;
    // The model that proposes, on the same GPUs, one step for each proposal. Without layers,
    // proposals cost nothing (prompt lookup).
    Transformer draft_model{.num_layers = 0};
    bool has_model() const { return draft_tokens > 0 && draft_model.num_layers > 0; }
};

// An encoder of images. It runs before the model reads the prompt with the encoded images.
struct EncoderSpec {
    Transformer model{.num_layers = 0};  // no layers: no encoder
    std::int64_t patches = 1025;         // tokens of an image in the encoder
    // Separate instances for encoding; each takes the next waiting request. 0: instances of the
    // first pool encode a prompt's images in the step in which the prompt begins (Qiu et al.,
    // ModServe, arXiv:2502.00937).
    std::int64_t instances = 0;
    // The number of ranks that share an image. In a pool's instance, the other ranks repeat the
    // same work.
    std::int64_t tensor_model_parallel_size = 1;
    bool present() const { return model.num_layers > 0; }
    std::int64_t num_gpus() const { return instances * tensor_model_parallel_size; }
    ServingPlan plan() const { return {.tensor_model_parallel_size = tensor_model_parallel_size}; }
};

// The consequences of a fault of an instance's nodes.
struct ServingRecovery {
    DetectionSpec detection{};
    // If a fault has no stated duration, a spare node takes the place at once. Time until an
    // instance serves again: processes start and graphs are captured (assumed) …
    WallTime start_up = WallTime::seconds(30);
    // … and every node reads its weights at this rate (assumed: NVMe disks).
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
    // One aggregated pool, or one that computes prompts followed by one that generates. Their
    // instances occupy the cluster's GPUs in this order.
    std::vector<ServingPoolSpec> pools{1};
    // With two pools: SplitPools::layer_wise_tokens.
    std::int64_t layer_wise_tokens = 0;
    // Instances have served one request, the first one, and compile the kernels of others as they
    // come (ServingEngine::kernel_compile_time). false: all kernels are there.
    bool cold_start = false;
    std::uint64_t seed = 0;
    // For each GPU of the instances; 0: unknown.
    double price_per_gpu_hour = 0;
    double busy_watts = 0;  // includes the GPU's share of the server
    double idle_watts = 0;
    // For a real run: a checkpoint's folder or a safetensors file; empty: weights are drawn from
    // the seed.
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

// The choice of a request's adapter.
enum class AdapterPopularity : std::uint8_t {
    in_turn,  // one after the other
    uniform,  // drawn, all equally likely
    zipf,     // drawn; the n-th has the weight 1 / n^adapter_alpha
};

// How the lengths of a load are drawn.
enum class LengthDraws : std::uint8_t {
    each,   // a prompt's, then its output's
    numpy,  // by NumPy's randint: all prompts', then all outputs', as benchmark clients draw them
};

// The most tokens of a request or a step, and the largest seed.
inline constexpr std::int64_t kMostTokens = 1'000'000'000;
// The latest arrival in a trace or a drawn load, in seconds. A Time ends at 9.2e6 s.
inline constexpr double kLongestLoad_s = 5e6;

// A load: a trace, or a synthetic one whose lengths are drawn uniformly from `length_spread`
// times the stated length to the stated length.
struct WorkloadSpec {
    std::int64_t num_requests = 1000;
    std::int64_t users = 0;  // of a closed load; each has one request at a time
    // Of an open load: Poisson arrivals a second; 0: all requests arrive at once
    double request_rate = 0;
    double input_tokens = 1024;
    double output_tokens = 128;
    double length_spread = 1;  // 1: all equal
    LengthDraws length_draws = LengthDraws::each;
    // The standard deviation of the times between arrivals over their mean. 1 is a Poisson process,
    // other values give gamma distributions.
    double arrival_variation = 1;
    Time arrival_step{};  // requests come at multiples of it only; zero: at any time
    // A table with the columns share,input_tokens,output_tokens: the share of requests with at most
    // these lengths. It replaces the two lengths; prompts and outputs are drawn independently.
    // Empty: no table.
    std::filesystem::path lengths{};
    // For a predictor of output lengths: the standard deviation of the logarithm of predicted over
    // true length.
    double prediction_error = 0;
    // The number of requests, from the first one, whose prompts an earlier run computed: benchmarks
    // draw the same prompts in each run, and servers keep their prefix caches in between.
    std::int64_t repeated_requests = 0;
    std::uint64_t seed = 0;
    std::int64_t adapters = 0;  // number of low-rank adapters; 0: none
    AdapterPopularity adapter_popularity = AdapterPopularity::uniform;
    double adapter_alpha = 1.5;
    std::filesystem::path trace{};  // read_request_trace.h; empty: synthetic
    // The number of tokens in a block whose hash a trace names (Mooncake's: 512).
    std::int64_t trace_block_tokens = 512;
    // The mean number of turns of a conversation; 1: no conversations. The prompt of a turn is the
    // previous turn's prompt and output, followed by new tokens of the stated lengths.
    double turns = 1;
    // Standard deviation over mean of the turns of a conversation; 0: that of equally likely ends
    // after each turn, sqrt(1 - 1 / turns). With more, the longer a conversation is the likelier it
    // goes on: its chance to go on is drawn from a beta distribution.
    double turns_variation = 0;
    // Mean number of new tokens in later turns, exponential; 0: as in the first turn
    double turn_tokens = 0;
    // The share of later turns that repeat only the beginning of what was said, and the share of it
    // that they repeat. Their prompts are as long as those of other turns.
    double turn_forks = 0;
    double turn_fork_kept = 0.5;
    Time turn_gap = Time::seconds(30);  // mean time between the arrivals of two turns
    std::int64_t system_tokens = 0;     // additional tokens at the beginning of all prompts
    bool has_conversations() const { return turns > 1 || system_tokens > 0; }
    std::int64_t images = 0;  // of each request with images; 0: no request has images
    double image_share = 1;   // share of requests with images, drawn
    // The number of prompt tokens that an image becomes, in addition to the prompt's own.
    std::int64_t image_prompt_tokens = 0;
    // A table of clients (client_table.h) and one of its workloads; empty: all requests are of one
    // kind.
    std::filesystem::path clients{};
    std::string client_group{};
};

}  // namespace orrery
