// SPDX-License-Identifier: Apache-2.0
// What the words of a published row mean as a scenario. Sources of the stacks' facts: Megatron-LM's
// defaults (bias and activation fused, gradients accumulated in the GEMM, in fp32 with bf16), the
// table's README for feature words, MegaScale's section 3.2 (fused LayerNorm and GELU are its own
// addition), llm-foundry's benchmark scripts (Triton port of FlashAttention 1, PyTorch FSDP with
// bf16 reductions), NeMo's performance recipes (Transformer Engine with cuDNN attention on Hopper,
// gradients reduced in bf16), llm.c's README (cuDNN attention, bf16 gradients).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "models/plan_words.h"
#include "models/validate_plan.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t end = text.find(separator);
        if (end != 0) {
            words.emplace_back(text.substr(0, end));
        }
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return words;
}

bool has(const std::vector<std::string>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

// Value of "key=value" among the words, or nothing.
std::string value_of(const std::vector<std::string>& words, std::string_view key) {
    for (const std::string& word : words) {
        if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=') {
            return word.substr(key.size() + 1);
        }
    }
    return {};
}

std::int64_t integer_of(const std::vector<std::string>& words, std::string_view key) {
    const std::string value = value_of(words, key);
    std::int64_t number = 0;
    for (const char c : value.substr(0, 12)) {
        if (c < '0' || c > '9') {
            return 0;
        }
        number = number * 10 + (c - '0');
    }
    return number;
}

bool starts(const PublishedCase& row, std::string_view stack) {
    return row.stack.starts_with(stack);
}

// Megatron-LM before its third version, and Microsoft's fork of it with DeepSpeed: gradients are
// accumulated in a kernel of their own, input gradients reduced before the weight gradient starts.
bool second_megatron(const PublishedCase& row) {
    return row.stack == "megatron-lm-v2" || starts(row, "megatron-deepspeed");
}

// Words that say something which is modelled elsewhere or changes nothing about the step's cost.
constexpr std::string_view kWordsWithoutEffect[] = {
    "async_data_pipeline",              // data loading is not part of the simulated step
    "no_perturbation",                  // nor is what it removes
    "sequence_parallel_fused_overlap",  // tp_comm_overlap says it
    "scatter_gather",  // pipeline sends are always split over the tensor-parallel ranks
    "fsdp_prefetch",   // overlap_param_gather says it
    "deferred_embedding_wgrad",
    "fp8_hybrid",
    "fp8_params",
    "fp8_current_scaling",
    "float8_dynamic_tensorwise",
    "async_tp",                // tp_comm_overlap says it
    "force_balanced_routing",  // plan.moe_router_load's default
    "natural_routing",         // a trained router's loads are not published
    "token_drop",              // with a capacity of the mean load: balanced
};
constexpr std::string_view kWordsOfOptions[] = {
    "parallel_block",
    "lamb",
    "fused_norm_gelu",
    "fused_gelu",
    "untied_embeddings",
    "tied_embeddings",
    "embedding_and_loss_as_layers",
    "cuda_graphs",
    "no_gradient_accumulation_fusion",
    "squared_relu",
    "geglu",
    "torch_compile",
    "xla",
    "bf16_grads",
    "bf16_moments",
    "shared_expert_overlap",
};
constexpr std::string_view kKeysOfOptions[] = {
    "sliding_window",
    "swa_every",
    "flash_attn",
    "dropout",
    "hsdp_shard",
    "method",  // the sizes say it
};

template <std::size_t N>
bool among(std::string_view word, const std::string_view (&words)[N]) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// The first word that this version can't express, or nothing.
std::string unknown_word(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        const std::string key = word.substr(0, word.find('='));
        const bool known = key == word
                               ? among(word, kWordsWithoutEffect) || among(word, kWordsOfOptions)
                               : among(key, kKeysOfOptions);
        if (!known) {
            return word;
        }
    }
    return {};
}

// Dropout of a row that doesn't say: the default of Megatron-LM's arguments (and of its fork's) and
// of NeMo's GPT-3 recipes is 0.1; Llama-style recipes and everything else run without.
double default_dropout(const PublishedCase& row) {
    const bool gpt_of_nemo = starts(row, "nemo") && !row.model.gated_mlp();
    const bool arguments = starts(row, "megatron-lm") || starts(row, "megatron-deepspeed");
    return arguments || gpt_of_nemo ? 0.1 : 0.0;
}

void set_model(const PublishedCase& row,
               const std::vector<std::string>& words,
               Transformer& model) {
    const bool llama_style = model.gated_mlp();
    if (has(words, "squared_relu")) {
        model.activation = Activation::squared_relu;
    } else if (has(words, "geglu")) {
        model.activation = Activation::geglu;
    }
    if (llama_style) {
        model.normalization = Normalization::rmsnorm;
    }
    if (llama_style || has(words, "squared_relu")) {
        model.position_embedding = PositionEmbedding::rope;
        model.add_bias_linear = false;
    }
    model.tied_embeddings =
        has(words, "tied_embeddings") || (!llama_style && !has(words, "untied_embeddings"));
    model.parallel_block = has(words, "parallel_block");
    model.qk_layernorm = row.model.name.starts_with("qwen3");
    model.sliding_window = integer_of(words, "sliding_window");
    model.sliding_window_every = std::max<std::int64_t>(1, integer_of(words, "swa_every"));
    const std::string dropout = value_of(words, "dropout");
    model.dropout =
        dropout.empty() ? default_dropout(row) : std::clamp(std::atof(dropout.c_str()), 0.0, 0.999);
}

AttentionKernel attention_of(const PublishedCase& row,
                             const std::vector<std::string>& words,
                             std::uint32_t compute_capability) {
    if (!row.flash_attention) {
        return AttentionKernel::unfused;
    }
    const std::int64_t version = integer_of(words, "flash_attn");
    if (version == 1 || starts(row, "llm-foundry")) {
        return AttentionKernel::flash_1;
    }
    if (version == 2) {
        return AttentionKernel::flash_2;
    }
    const bool hopper = compute_capability >= 90;
    return hopper || starts(row, "llm.c") ? AttentionKernel::cudnn : AttentionKernel::flash_2;
}

Dtype gradient_dtype_of(const PublishedCase& row) {
    if (starts(row, "nemo") || starts(row, "mb") || starts(row, "llm-foundry") ||
        starts(row, "llm.c") || starts(row, "megatron-bridge")) {
        return Dtype::bf16;
    }
    return row.plan.precision == Dtype::fp16 ? Dtype::fp16 : Dtype::fp32;
}

void set_plan(const PublishedCase& row,
              const std::vector<std::string>& words,
              const DeviceSpec& device,
              ParallelPlan& plan) {
    plan.attention_kernel = attention_of(row, words, device.compute_capability);
    plan.optimizer = has(words, "lamb") ? Optimizer::lamb : Optimizer::adam;
    plan.gradient_dtype = gradient_dtype_of(row);
    // PyTorch FSDP accumulates in a kernel of its own, too.
    plan.gradient_accumulation_fusion = !starts(row, "llm-foundry") && !second_megatron(row) &&
                                        !has(words, "no_gradient_accumulation_fusion");
    const bool unfused = starts(row, "llm-foundry") || starts(row, "megatron-lm-285068c8");
    const bool both = has(words, "fused_norm_gelu");
    // Bias, dropout and addition are one kernel in Megatron-LM, the norm after them another.
    plan.fused_norm = both;
    plan.async_tensor_model_parallel_allreduce = !second_megatron(row);
    plan.fused_activation = both || has(words, "fused_gelu") ||
                            (!unfused && !starts(row, "llm.c") && !starts(row, "megascale"));
    // Megatron-LM's loss works on fp32 logits kernel by kernel unless --cross-entropy-loss-fusion.
    plan.fused_cross_entropy = !starts(row, "megatron-");
    // Composer recomputes MPT's two training metrics (cross entropy, perplexity) for each
    // micro-batch, and prefetches weights behind the backward pass of a unit.
    plan.loss_metrics = starts(row, "llm-foundry") ? 2 : 0;
    plan.prefetch_behind_backward = starts(row, "llm-foundry");
    plan.cuda_graphs = has(words, "cuda_graphs");
    plan.eager_framework = !starts(row, "llm.c");  // C++
    plan.compiled = has(words, "torch_compile") || has(words, "xla");
    plan.embedding_and_loss_as_layers = has(words, "embedding_and_loss_as_layers");
    plan.hsdp_shard_size = integer_of(words, "hsdp_shard");
    if (has(words, "bf16_grads")) {
        plan.gradient_dtype = Dtype::bf16;
    }
    plan.moments_dtype = has(words, "bf16_moments") ? Dtype::bf16 : Dtype::fp32;
    plan.moe_shared_expert_overlap = has(words, "shared_expert_overlap");
    plan.moe_token_dispatcher_type = row.token_dispatcher == "allgather"
                                         ? TokenDispatcher::allgather
                                         : TokenDispatcher::alltoall;
}

// The modules that a row names. A module that its model lacks changes nothing.
void set_recomputation(const PublishedCase& row, ParallelPlan& plan) {
    const std::vector<std::string> modules = split(row.recompute_modules, ';');
    if (plan.recompute_granularity != Recompute::selective || modules.empty()) {
        return;
    }
    plan.recompute_modules = 0;
    for (const auto& [word, bit] : kRecomputeModules) {
        plan.recompute_modules |= has(modules, word) ? bit : 0;
    }
}

// What a row has and no scenario can say, or nothing.
std::string beyond_words(const PublishedCase& row) {
    if (!row.token_dispatcher.empty() && row.token_dispatcher != "alltoall" &&
        row.token_dispatcher != "allgather") {
        return fmt::format("token dispatcher '{}'", row.token_dispatcher);
    }
    if (row.overlap_moe_expert_parallel_comm) {
        return "exchange of tokens beside another micro-batch's passes";
    }
    if (row.mtp_num_layers > 0) {
        return "prediction of further tokens";
    }
    return !row.offload.empty() ? "offload " + row.offload
           : !row.quantized_communication.empty()
               ? "quantised communication " + row.quantized_communication
               : "";
}

struct GpuNode {
    std::string_view gpu;
    std::string_view node;
};
constexpr GpuNode kNodes[] = {
    {"v100-32g", "dgx-v100"},
    {"a100-40g", "dgx-a100-40g"},
    {"a100-80g", "dgx-a100-80g"},
    {"a800-80g", "hgx-a800-80g"},
    {"h100-80g", "dgx-h100"},
    {"h100-96g-hbm2e", "hgx-h100-96g"},
    {"h200", "hgx-h200"},
    {"h800", "hgx-h800"},
    {"b200", "hgx-b200"},
    {"gb200", "gb200-nvl72"},
};

DocumentNode word_node(std::string_view text) {
    DocumentNode node;
    node.kind = DocumentNode::Kind::scalar;
    node.text = text;
    return node;
}

// Reads catalogue entries by way of a cluster section.
Result<void> read_entries(std::string_view node,
                          std::string_view fabric,
                          const Catalogue& catalogue,
                          ClusterSpec& cluster,
                          DeviceSpec& device) {
    DocumentNode section;
    section.kind = DocumentNode::Kind::map;
    section.set(word_node("nodes"), word_node("1"));
    section.set(word_node("node"), word_node(node));
    section.set(word_node("fabric"), word_node(fabric));
    Errors errors;
    read_cluster(section, catalogue, {}, cluster, device, errors);
    if (!errors.empty()) {
        return fail(errors[0].where, errors[0].what, errors[0].hint);
    }
    return {};
}

std::string_view fabric_entry(const std::vector<std::string>& words) {
    const std::string& link = words.front();
    if (link == "ib") {
        const bool hdr = std::any_of(
            words.begin(), words.end(), [](const std::string& w) { return w.starts_with("hdr"); });
        return hdr ? "dgx-superpod-hdr200" : "ndr400-rail";
    }
    if (link.starts_with("eth")) {
        const bool three_tiers = has(words, "clos3") || !link.starts_with("eth200");
        return link.starts_with("eth400") ? "eth400-clos"
               : three_tiers              ? "megascale-clos"
                                          : "eth200-clos";
    }
    return link.starts_with("opa") ? "opa100-fattree" : "ndr400-rail";
}

Bandwidth scaled(Bandwidth bandwidth, double factor) {
    return Bandwidth::bits_per_second(static_cast<std::int64_t>(
        std::llround(static_cast<double>(bandwidth.bits_per_second()) * factor)));
}

const GpuNode* node_of(const PublishedCase& row) {
    const auto* known = std::find_if(
        std::begin(kNodes), std::end(kNodes), [&](const GpuNode& n) { return n.gpu == row.gpu; });
    return known == std::end(kNodes) ? nullptr : known;
}

// Trays that a job has in each NVLink domain of `most`: as many as divide it evenly, the segment
// that NeMo's and Megatron-Bridge's launchers ask Slurm for (scripts/performance, GB200).
std::int64_t trays_together(std::int64_t trays, std::int64_t most) {
    std::int64_t together = std::min(trays, most);
    while (trays % together != 0) {
        --together;
    }
    return together;
}

Result<void> set_cluster(const PublishedCase& row, const Catalogue& catalogue, Scenario& scenario) {
    const GpuNode* known = node_of(row);
    if (known == nullptr) {
        std::vector<std::string> gpus;
        for (const GpuNode& n : kNodes) {
            gpus.emplace_back(n.gpu);
        }
        return fail({},
                    fmt::format("gpu '{}' is not in the catalogue", row.gpu),
                    nearest_hint(row.gpu, gpus));
    }
    ClusterSpec& cluster = scenario.cluster;
    const Result<void> read =
        read_entries(known->node, "single-switch-400", catalogue, cluster, scenario.device);
    if (!read) {
        return read;
    }
    const std::int64_t whole =
        cluster.node.trays > 1 ? cluster.gpus_per_server() : row.gpus_per_node;
    const std::int64_t per_server = std::min(whole, row.num_gpus);
    if (row.num_gpus % per_server != 0) {
        return fail({},
                    fmt::format("{} GPUs are not whole {} of {}",
                                row.num_gpus,
                                cluster.node.trays > 1 ? "trays" : "servers",
                                per_server));
    }
    const std::int64_t servers = row.num_gpus / per_server;
    const std::int64_t trays = trays_together(servers, cluster.node.trays);
    cluster.node.trays = static_cast<std::uint32_t>(trays);
    cluster.node.gpus_per_node = static_cast<std::uint32_t>(trays * per_server);
    cluster.num_nodes = static_cast<std::uint32_t>(servers / trays);
    const Result<FabricSpec> fabric = fabric_of(row, catalogue);
    if (!fabric) {
        return unexpected<Error>(fabric.error());
    }
    cluster.fabric = *fabric;
    // Every tray of a rack brings its NICs.
    cluster.fabric.nics_per_node *= cluster.node.trays;
    if (has(split(row.fabric, '-'), "clos3") && fabric->name == "megascale-clos") {
        // Jiang et al., section 6.3 and 5: 0.5 % of that cluster's machines took 10 % longer for
        // the same forward computation.
        cluster.slow_node_share = 0.005;
        cluster.slow_node_slowdown = 0.1;
    }
    return {};
}

}  // namespace

Result<FabricSpec> fabric_of(const PublishedCase& row, const Catalogue& catalogue) {
    const std::vector<std::string> words = split(row.fabric, '-');
    const GpuNode* known = node_of(row);
    ClusterSpec cluster;
    DeviceSpec device;
    if (known != nullptr) {
        const Result<void> read =
            read_entries(known->node, "single-switch-400", catalogue, cluster, device);
        if (!read) {
            return unexpected<Error>(read.error());
        }
    }
    // A rack of trays is one NVLink domain.
    const bool rack = cluster.node.trays > 1;
    const std::int64_t per_server = rack ? cluster.gpus_per_server() : row.gpus_per_node;
    const bool alone = row.num_gpus <= (rack ? cluster.num_gpus() : row.gpus_per_node);
    if (!alone && (words.empty() || row.nic_gbps_per_gpu <= 0)) {
        return fail({}, "several servers, but fabric or nic_gbps_per_gpu is empty");
    }
    const bool named = !words.empty() && words.front() != "nvlink";
    const std::string_view entry = named ? fabric_entry(words) : "single-switch-400";
    ClusterSpec plain;
    const Result<void> read = read_entries("dgx-a100-80g", entry, catalogue, plain, device);
    if (!read) {
        return unexpected<Error>(read.error());
    }
    FabricSpec fabric = plain.fabric;
    if (rack) {
        fabric.nics_per_node = cluster.node.nics_per_tray;
    }
    const auto gpus = static_cast<double>(std::min(row.num_gpus, per_server));
    if (row.nic_gbps_per_gpu > 0) {
        fabric.nics_per_node = has(words, "x4") ? 4 : static_cast<std::uint32_t>(gpus);
        const double nic_bps = row.nic_gbps_per_gpu * 1e9 * gpus / fabric.nics_per_node;
        const double factor = nic_bps / static_cast<double>(fabric.nic_bandwidth.bits_per_second());
        fabric.nic_bandwidth = scaled(fabric.nic_bandwidth, factor);
        fabric.uplink_bandwidth = scaled(fabric.uplink_bandwidth, factor);
        fabric.core_bandwidth = scaled(fabric.core_bandwidth, factor);
    }
    return fabric;
}

Result<Scenario> scenario_of(const PublishedCase& row, const Catalogue& catalogue) {
    const std::vector<std::string> words = split(row.features, ';');
    if (const std::string beyond = beyond_words(row); !beyond.empty()) {
        return fail(row.where, beyond + " is not expressible");
    }
    if (const std::string word = unknown_word(words); !word.empty()) {
        return fail(row.where, fmt::format("feature '{}' is not expressible", word));
    }
    Scenario scenario;
    scenario.name = row.name;
    scenario.software = row.stack;
    if (const Result<void> set = set_cluster(row, catalogue, scenario); !set) {
        return fail(row.where, set.error().what, set.error().hint);
    }
    scenario.model = row.model;
    set_model(row, words, scenario.model);
    scenario.plan = row.plan;
    set_plan(row, words, scenario.device, scenario.plan);
    set_recomputation(row, scenario.plan);
    scenario.plan.data_parallel_size =
        std::max<std::int64_t>(1, row.num_gpus / scenario.plan.model_parallel_size());
    Errors errors = check(scenario.model, scenario.plan, row.num_gpus);
    std::ranges::move(check_device(scenario.plan, scenario.device), std::back_inserter(errors));
    if (!errors.empty()) {
        return fail(row.where, errors[0].where + " " + errors[0].what, errors[0].hint);
    }
    return scenario;
}

}  // namespace orrery
