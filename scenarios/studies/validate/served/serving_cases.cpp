// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/serving_cases.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/base/field.h"
#include "scenarios/format/document/csv_header.h"
#include "scenarios/studies/validate/case_fields.h"
#include "scenarios/studies/validate/served/engine_release.h"
#include "scenarios/studies/validate/served/inference_max.h"

namespace orrery {

namespace {

const CaseColumns kServingColumns{
    "case,family,source,engine,gpu,model,weight_precision,kv_precision,mode,load,num_gpus,"
    "gpus_per_node,tp,pp,dp,ep,replicas,prefill_workers,prefill_tp,prefill_dp,prefill_ep,"
    "decode_workers,decode_tp,decode_dp,decode_ep,concurrency,request_rate,num_requests,"
    "input_tokens,output_tokens,length_spread,max_num_seqs,max_num_batched_tokens,"
    "kv_mem_fraction,power_cap_w,ttft_mean_ms,ttft_p50_ms,tpot_mean_ms,tpot_p50_ms,e2e_mean_ms,"
    "output_tokens_per_s,notes"};

const CaseColumns kModelColumns{
    "model,num_layers,hidden_size,num_attention_heads,num_key_value_heads,head_dim,"
    "intermediate_size,vocab_size,gated_mlp,num_experts,experts_per_token,moe_intermediate_size,"
    "shared_experts,first_dense_layers,attention,kv_lora_rank,qk_rope_head_dim,qk_nope_head_dim,"
    "v_head_dim,q_lora_rank,sliding_window,fp8_block_scales,fp4_attention_bits,expert_load_alpha,"
    "max_position_embeddings,head_norms,notes"};

constexpr std::array<Choice<BlockScales>, 3> kBlockScales{
    {{"", BlockScales::none}, {"own", BlockScales::own}, {"all", BlockScales::all}}};

constexpr std::array<Choice<HeadNorms>, 3> kHeadNorms{
    {{"", HeadNorms::none}, {"each", HeadNorms::each}, {"all", HeadNorms::all}}};

// Objective behind a word, in seconds: "Server; SLO p99 TTFT 2000 ms TPOT 200 ms" gives 2 for
// "TTFT". 0 without the word.
double seconds_behind(const std::string& notes, const char* word) {
    const std::string wanted = std::string{word} + " ";
    const std::size_t at = notes.find(wanted);
    if (at == std::string::npos || notes.find("SLO p99") == std::string::npos) {
        return 0;
    }
    const std::size_t begin = at + wanted.size();
    const std::string number = notes.substr(begin, notes.find(' ', begin) - begin);
    return parse_number(number).value_or(0) * 1e-3;
}

// Number between words of the notes; 0 without them.
std::int64_t count_between(const std::string& notes,
                           std::string_view before,
                           std::string_view behind) {
    const std::size_t at = notes.find(before);
    if (at == std::string::npos) {
        return 0;
    }
    const std::size_t begin = at + before.size();
    const std::size_t end = std::min(notes.find_first_of("; ", begin), notes.size());
    const auto number = parse_number(notes.substr(begin, end - begin));
    return notes.substr(end).starts_with(behind) ? std::llround(number.value_or(0)) : 0;
}

// Applies what the notes and the name of a row say about its parallelism and its GPU.
void apply_words(const std::string& notes, ServingCase& row) {
    row.ttft_objective_s = seconds_behind(notes, "TTFT");
    row.tpot_objective_s = seconds_behind(notes, "TPOT");
    // Each rank holds attention whole, and experts are spread over all ranks.
    if (notes.ends_with("attention data parallel") && row.data_parallel == 1) {
        std::swap(row.data_parallel, row.tensor_parallel);
        // TensorRT-LLM's limits then hold per rank (documentation, "Attention data parallelism").
        row.max_num_seqs *= row.data_parallel;
        row.max_num_batched_tokens *= row.data_parallel;
    }
    row.share_gpt = notes.find("ShareGPT") != std::string::npos;
    row.attention_in_16_bits =
        notes.find("attention and the first and last layer of the checkpoint are bf16") !=
        std::string::npos;
    row.whole_prompts = notes.find("benchmark leaves prompts whole") != std::string::npos;
    row.repeated_requests = count_between(notes, "prompts of an earlier run: ", "");
    row.cache_tokens = count_between(notes, "cache of ", " tokens");
    if (notes.find("lengths by NumPy's seed ") != std::string::npos) {
        row.numpy_seed = count_between(notes, "lengths by NumPy's seed ", "");
    }
    if (const std::size_t at = notes.find("vLLM 0."); at != std::string::npos) {
        const std::size_t begin = at + std::string_view{"vLLM "}.size();
        row.release = notes.substr(begin, notes.find_first_of("; ,", begin) - begin);
    }
    // Red Hat's system has two GPUs and uses one (description in the results, "hw_notes").
    if (row.name.find("redhat-ibm_cloud_gx3-48x240x2l40s") != std::string::npos) {
        row.replicas = 1;
        row.num_gpus = 1;
    }
    // Names of systems tell the GH200 with 144 GB of HBM3e from the one with 96 GB of HBM3.
    if (row.gpu == "gh200" && row.name.find("144gb") != std::string::npos) {
        row.gpu = "gh200-144gb";
    }
}

PublishedModel model_of(CaseFields& fields) {
    const auto integer = [&](std::string_view column) { return fields.stated(column, 0); };
    const auto noted = [&](const char* words) {
        return fields.text("notes").find(words) != std::string::npos;
    };
    const bool gated = fields.text("gated_mlp") == "true";
    Transformer model{.name = fields.text("model"),
                      .num_layers = integer("num_layers"),
                      .hidden_size = integer("hidden_size"),
                      .ffn_hidden_size = integer("intermediate_size"),
                      .num_attention_heads = integer("num_attention_heads"),
                      .num_query_groups = integer("num_key_value_heads"),
                      .kv_channels = integer("head_dim"),
                      .vocab_size = integer("vocab_size"),
                      .normalization = gated ? Normalization::rmsnorm : Normalization::layernorm,
                      .position_embedding = PositionEmbedding::rope,
                      .activation = gated ? Activation::swiglu : Activation::gelu,
                      .add_bias_linear = false,
                      .tied_embeddings = false,
                      .parallel_block = noted("parallel block"),
                      .sliding_window = integer("sliding_window"),
                      .sliding_window_every = noted("every second layer has a window") ? 2 : 1};
    if (model.num_experts = integer("num_experts"); model.num_experts > 0) {
        model.moe_router_topk = integer("experts_per_token");
        model.moe_ffn_hidden_size = integer("moe_intermediate_size");
        model.moe_shared_expert_intermediate_size =
            integer("shared_experts") * model.moe_ffn_hidden_size;
        model.first_k_dense_replace = integer("first_dense_layers");
        model.moe_layer_freq = noted("MoE in every second layer") ? 2 : 1;
    }
    if (fields.text("attention") == "mla") {
        model.multi_latent_attention = true;
        model.kv_lora_rank = integer("kv_lora_rank");
        model.qk_pos_emb_head_dim = integer("qk_rope_head_dim");
        model.qk_head_dim = integer("qk_nope_head_dim");
        model.v_head_dim = integer("v_head_dim");
        model.q_lora_rank = integer("q_lora_rank");
    }
    PublishedModel published{model};
    published.fp8_block_scales = fields.choice("fp8_block_scales", BlockScales::none, kBlockScales);
    published.fp4_attention_bits =
        fields.stated("fp4_attention_bits", published.fp4_attention_bits);
    published.expert_load_alpha = fields.stated("expert_load_alpha");
    published.max_position_embeddings = fields.stated("max_position_embeddings", 0);
    const HeadNorms norms = fields.choice("head_norms", HeadNorms::none, kHeadNorms);
    published.qk_layernorm = norms != HeadNorms::none;
    published.norms_all_heads = norms == HeadNorms::all;
    return published;
}

ServingCase serving_case_of(CaseFields& fields) {
    const auto parallel = [&](const char* column) { return fields.stated(column, 1); };
    const auto limit = [&](const char* column) { return fields.stated(column, 0); };
    const auto workers = [&](const std::string& part) {
        return ServingCase::Workers{.workers = fields.stated(part + "_workers", 0),
                                    .tensor_parallel = fields.stated(part + "_tp", 1),
                                    .data_parallel = fields.stated(part + "_dp", 1),
                                    .expert_parallel = fields.stated(part + "_ep", 1)};
    };
    const auto first_of = [&](const char* mean, const char* other) {
        const double value = fields.stated(mean);
        return (value > 0 ? value : fields.stated(other)) * 1e-3;
    };
    ServingCase row{.name = fields.text("case"),
                    .family = fields.text("family"),
                    .source = fields.text("source"),
                    .engine = fields.text("engine"),
                    .gpu = fields.text("gpu"),
                    .model = fields.text("model"),
                    .weight_precision = fields.text("weight_precision"),
                    .key_value_precision = fields.text("kv_precision"),
                    .mode = fields.text("mode"),
                    .load = fields.text("load"),
                    .num_gpus = parallel("num_gpus"),
                    .tensor_parallel = parallel("tp"),
                    .pipeline_parallel = parallel("pp"),
                    .data_parallel = parallel("dp"),
                    .expert_parallel = parallel("ep"),
                    .replicas = std::max<std::int64_t>(1, parallel("replicas")),
                    .gpus_per_node = fields.stated("gpus_per_node", 8),
                    .prefill = workers("prefill"),
                    .decode = workers("decode"),
                    .concurrency = limit("concurrency"),
                    .request_rate = fields.stated("request_rate"),
                    .num_requests = limit("num_requests"),
                    .input_tokens = fields.stated("input_tokens"),
                    .output_tokens = fields.stated("output_tokens"),
                    .length_spread = fields.text("length_spread"),
                    .max_num_seqs = limit("max_num_seqs"),
                    .max_num_batched_tokens = limit("max_num_batched_tokens"),
                    .memory_share = fields.stated("kv_mem_fraction"),
                    .power_cap_w = fields.stated("power_cap_w"),
                    .ttft_s = first_of("ttft_mean_ms", "ttft_p50_ms"),
                    .tpot_s = first_of("tpot_mean_ms", "tpot_p50_ms"),
                    .e2e_s = fields.stated("e2e_mean_ms") * 1e-3,
                    .output_tokens_per_s = fields.stated("output_tokens_per_s"),
                    .where = fields.where()};
    apply_words(fields.text("notes"), row);
    apply_inference_max_script(fields.text("notes"), row);
    return row;
}

}  // namespace

bool is_serving_table(const std::string& file) {
    const std::string line = csv_header(file);
    return line.starts_with("case,family,source,engine,");
}

ResultOrErrors<std::vector<ServingCase>> read_serving_cases(const std::string& file) {
    return read_cases(file, kServingColumns, serving_case_of);
}

ResultOrErrors<std::vector<PublishedModel>> read_served_models(const std::string& file) {
    return read_cases(file, kModelColumns, model_of);
}

const PublishedModel* served_model(const std::vector<PublishedModel>& models,
                                   const std::string& name) {
    std::string known = name;
    for (const char* release : {"llama-3.1-", "llama-3.3-"}) {
        if (name.starts_with(release) && name != "llama-3.1-405b") {
            known = "llama-3-" + name.substr(10);
        }
    }
    if (name == "deepseek-v3") {
        known = "deepseek-r1";
    }
    const auto found = std::ranges::find(models, known, &PublishedModel::name);
    return found == models.end() ? nullptr : &*found;
}

bool has_block_scales(const ServingCase& row, const PublishedModel& model) {
    // "fp8" means Qwen's own checkpoints (Qwen/Qwen3-8B-FP8) in GPUStack's and Qwen's pages, and
    // scales of whole tensors in the other sources.
    const bool own = row.source.starts_with("GPUStack") || row.source.starts_with("Qwen");
    return model.fp8_block_scales == BlockScales::all ||
           (own && model.fp8_block_scales == BlockScales::own);
}

// Qwen2.5's page says enforce_eager=False. Its model of 0.5B takes 3.2 ms a token after 1 token of
// context and 3.8 ms after 30,720, by the same release: no step is launched kernel by kernel.
bool captures_all_contexts(const ServingCase& row) {
    return row.source.starts_with("Qwen2.5 documentation");
}

// From 0.5.1 on for models with more than 32,768 tokens of context (vllm/engine/arg_utils.py:
// "Chunked prefill is enabled by default for models with max_model_len > 32K"). Before pull request
// 9529, benchmark_throughput.py passed an option of its own, which is off.
bool chunks_prompts_by_default(const ServingCase& row, const PublishedModel& model) {
    constexpr std::int64_t kLong = 32'768;
    const std::optional<EngineRelease> release = release_of(row.release);
    const bool chunks = release && release->major == 0 && release->minor == 6;
    return row.engine == "vllm-2024" && chunks && !row.whole_prompts &&
           model.max_position_embeddings > kLong;
}

bool keeps_attention_in_16_bits(const ServingCase& row, const PublishedModel& model) {
    return row.attention_in_16_bits ||
           (row.weight_precision == "fp4" && model.fp4_attention_bits == 16);
}

// TensorRT-LLM's kernel by way of FlashInfer, the default of SGLang for these two architectures on
// one server of Hopper or Blackwell without data-parallel attention. Pull request 12724 (November
// 2025) finds it so, and leaves out instances of several servers.
bool sums_by_flashinfer(const ServingCase& row, std::string_view generation) {
    constexpr EngineRelease kFirst{.major = 0, .minor = 5, .patch = 5};
    const bool known = row.model.starts_with("deepseek-r1") ||
                       row.model.starts_with("deepseek-v3") || row.model.starts_with("gpt-oss");
    const auto has_one = [&](const ServingCase::Workers& pool) {
        return pool.data_parallel == 1 && pool.tensor_parallel <= row.gpus_per_node;
    };
    const bool on_one_server = row.mode == "disaggregated"
                                   ? has_one(row.prefill) && has_one(row.decode)
                                   : row.data_parallel == 1 && row.num_gpus <= row.gpus_per_node;
    return is_from(row.engine, "sglang-", kFirst) && known && on_one_server &&
           (generation == "hopper" || generation == "blackwell");
}

}  // namespace orrery
