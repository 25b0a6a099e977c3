// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/serving_cases.h"

#include <algorithm>
#include <utility>

#include "kernels/csv_rows.h"
#include "scenarios/format/document/csv_header.h"

namespace orrery {

namespace {

const std::vector<std::string> kColumns = {"case",
                                           "family",
                                           "engine",
                                           "gpu",
                                           "model",
                                           "weight_precision",
                                           "kv_precision",
                                           "mode",
                                           "load",
                                           "num_gpus",
                                           "tp",
                                           "pp",
                                           "dp",
                                           "ep",
                                           "replicas",
                                           "concurrency",
                                           "request_rate",
                                           "num_requests",
                                           "input_tokens",
                                           "output_tokens",
                                           "length_spread",
                                           "max_num_seqs",
                                           "max_num_batched_tokens",
                                           "kv_mem_fraction",
                                           "power_cap_w",
                                           "ttft_mean_ms",
                                           "ttft_p50_ms",
                                           "tpot_mean_ms",
                                           "tpot_p50_ms",
                                           "e2e_mean_ms",
                                           "output_tokens_per_s",
                                           "gpus_per_node",
                                           "prefill_workers",
                                           "prefill_tp",
                                           "prefill_dp",
                                           "prefill_ep",
                                           "decode_workers",
                                           "decode_tp",
                                           "decode_dp",
                                           "decode_ep",
                                           "source",
                                           "notes"};

const std::vector<std::string> kModelColumns = {"model",
                                                "num_layers",
                                                "hidden_size",
                                                "num_attention_heads",
                                                "num_key_value_heads",
                                                "head_dim",
                                                "intermediate_size",
                                                "vocab_size",
                                                "gated_mlp",
                                                "num_experts",
                                                "experts_per_token",
                                                "moe_intermediate_size",
                                                "shared_experts",
                                                "first_dense_layers",
                                                "attention",
                                                "kv_lora_rank",
                                                "qk_rope_head_dim",
                                                "qk_nope_head_dim",
                                                "v_head_dim",
                                                "q_lora_rank",
                                                "sliding_window",
                                                "notes"};

std::int64_t integer_or(const std::string& field, std::int64_t otherwise) {
    return parse_integer(field).value_or(otherwise);
}

double number_or_zero(const std::string& field) {
    return parse_number(field).value_or(0);
}

// "Server; SLO p99 TTFT 2000 ms TPOT 200 ms" -> 2 behind "TTFT"; 0 without the word.
double seconds_behind(const std::string& notes, const char* word) {
    const std::string wanted = std::string{word} + " ";
    const std::size_t at = notes.find(wanted);
    if (at == std::string::npos || notes.find("SLO p99") == std::string::npos) {
        return 0;
    }
    const std::size_t begin = at + wanted.size();
    return number_or_zero(notes.substr(begin, notes.find(' ', begin) - begin)) * 1e-3;
}

// What the words of a row say about its split and its product, beside the columns.
void apply_words(const std::string& notes, ServingCase& row) {
    row.ttft_objective_s = seconds_behind(notes, "TTFT");
    row.tpot_objective_s = seconds_behind(notes, "TPOT");
    // Every rank holds attention whole, and the experts are spread over all.
    if (notes.ends_with("attention data parallel") && row.data_parallel == 1) {
        std::swap(row.data_parallel, row.tensor_parallel);
        // TensorRT-LLM's limits are then of a rank (documentation, "Attention data parallelism").
        row.max_num_seqs *= row.data_parallel;
        row.max_num_batched_tokens *= row.data_parallel;
    }
    // Red Hat's system has two GPUs and uses one (its description in the results, "hw_notes").
    if (row.name.find("redhat-ibm_cloud_gx3-48x240x2l40s") != std::string::npos) {
        row.replicas = 1;
        row.num_gpus = 1;
    }
    // Systems name the product that has 144 GB of HBM3e instead of 96 GB of HBM3.
    if (row.gpu == "gh200" && row.name.find("144gb") != std::string::npos) {
        row.gpu = "gh200-144gb";
    }
}

Transformer transformer_of(const std::vector<std::string>& f) {
    const auto integer = [&](std::size_t column) { return integer_or(f[column], 0); };
    const auto noted = [&](const char* words) { return f[21].find(words) != std::string::npos; };
    const bool gated = f[8] == "true";
    Transformer model{.name = f[0],
                      .num_layers = integer(1),
                      .hidden_size = integer(2),
                      .ffn_hidden_size = integer(6),
                      .num_attention_heads = integer(3),
                      .num_query_groups = integer(4),
                      .kv_channels = integer(5),
                      .vocab_size = integer(7),
                      .normalization = gated ? Normalization::rmsnorm : Normalization::layernorm,
                      .position_embedding = PositionEmbedding::rope,
                      .activation = gated ? Activation::swiglu : Activation::gelu,
                      .add_bias_linear = false,
                      .tied_embeddings = false,
                      .parallel_block = noted("parallel block"),
                      .sliding_window = integer(20),
                      .sliding_window_every = noted("every second layer has a window") ? 2 : 1};
    if (model.num_experts = integer(9); model.num_experts > 0) {
        model.moe_router_topk = integer(10);
        model.moe_ffn_hidden_size = integer(11);
        model.moe_shared_expert_intermediate_size = integer(12) * integer(11);
        model.first_k_dense_replace = integer(13);
        model.moe_layer_freq = noted("MoE in every second layer") ? 2 : 1;
    }
    if (f[14] == "mla") {
        model.multi_latent_attention = true;
        model.kv_lora_rank = integer(15);
        model.qk_pos_emb_head_dim = integer(16);
        model.qk_head_dim = integer(17);
        model.v_head_dim = integer(18);
        model.q_lora_rank = integer(19);
    }
    return model;
}

}  // namespace

bool is_serving_table(const std::string& file) {
    const std::string line = csv_header(file);
    return line.starts_with("case,family,source,engine,");
}

ResultOrErrors<std::vector<ServingCase>> read_serving_cases(const std::string& file) {
    const auto rows = read_csv(file, kColumns, true);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    std::vector<ServingCase> cases;
    for (const CsvRow& row : *rows) {
        const auto& f = row.fields;
        const auto workers = [&](std::size_t column) {
            return ServingCase::Workers{.workers = integer_or(f[column], 0),
                                        .tensor_parallel = integer_or(f[column + 1], 1),
                                        .data_parallel = integer_or(f[column + 2], 1),
                                        .expert_parallel = integer_or(f[column + 3], 1)};
        };
        const auto first_of = [&](std::size_t mean, std::size_t other) {
            const double value = number_or_zero(f[mean]);
            return (value > 0 ? value : number_or_zero(f[other])) * 1e-3;
        };
        cases.push_back({.name = f[0],
                         .family = f[1],
                         .source = f[40],
                         .engine = f[2],
                         .gpu = f[3],
                         .model = f[4],
                         .weight_precision = f[5],
                         .key_value_precision = f[6],
                         .mode = f[7],
                         .load = f[8],
                         .num_gpus = integer_or(f[9], 1),
                         .tensor_parallel = integer_or(f[10], 1),
                         .pipeline_parallel = integer_or(f[11], 1),
                         .data_parallel = integer_or(f[12], 1),
                         .expert_parallel = integer_or(f[13], 1),
                         .replicas = std::max<std::int64_t>(1, integer_or(f[14], 1)),
                         .gpus_per_node = integer_or(f[31], 8),
                         .prefill = workers(32),
                         .decode = workers(36),
                         .concurrency = integer_or(f[15], 0),
                         .request_rate = number_or_zero(f[16]),
                         .num_requests = integer_or(f[17], 0),
                         .input_tokens = number_or_zero(f[18]),
                         .output_tokens = number_or_zero(f[19]),
                         .length_spread = f[20],
                         .max_num_seqs = integer_or(f[21], 0),
                         .max_num_batched_tokens = integer_or(f[22], 0),
                         .memory_share = number_or_zero(f[23]),
                         .power_cap_w = number_or_zero(f[24]),
                         .ttft_s = first_of(25, 26),
                         .tpot_s = first_of(27, 28),
                         .e2e_s = number_or_zero(f[29]) * 1e-3,
                         .output_tokens_per_s = number_or_zero(f[30]),
                         .where = row.where});
        apply_words(f.back(), cases.back());
    }
    return cases;
}

ResultOrErrors<std::vector<Transformer>> read_served_models(const std::string& file) {
    const auto rows = read_csv(file, kModelColumns, true);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    std::vector<Transformer> models;
    for (const CsvRow& row : *rows) {
        models.push_back(transformer_of(row.fields));
    }
    return models;
}

const Transformer* served_model(const std::vector<Transformer>& models, const std::string& name) {
    std::string known = name;
    for (const char* release : {"llama-3.1-", "llama-3.3-"}) {
        if (name.starts_with(release) && name != "llama-3.1-405b") {
            known = "llama-3-" + name.substr(10);
        }
    }
    if (name == "deepseek-v3") {
        known = "deepseek-r1";
    }
    const auto found = std::ranges::find(models, known, &Transformer::name);
    return found == models.end() ? nullptr : &*found;
}

// config.json of the checkpoints: quantization_config, "weight_block_size": [128, 128].
bool has_block_scales(const std::string& model) {
    constexpr std::string_view kModels[] = {"deepseek-r1", "deepseek-v3", "minimax-m2.5"};
    return std::ranges::find(kModels, model) != std::end(kModels);
}

}  // namespace orrery
