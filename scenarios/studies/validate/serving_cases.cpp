// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/serving_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <span>

#include "engine/statistics.h"
#include "kernels/csv_rows.h"
#include "scenarios/format/read/read_serving.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/serve/serving_study.h"

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
                                           "output_tokens_per_s"};

struct Node {
    std::string_view gpu;
    std::string_view node;  // of the catalogue
};
constexpr Node kNodes[] = {{"a100-40g", "dgx-a100-40g"},
                           {"a100-80g", "dgx-a100-80g"},
                           {"h100-80g", "dgx-h100"},
                           {"h200", "hgx-h200"},
                           {"b200", "hgx-b200"}};

// Entries of the catalogue's engines, by the beginning of a row's word: the first that fits.
struct EngineWord {
    std::string_view begins;
    std::string_view engine;
};
constexpr EngineWord kEngines[] = {{"trtllm", "tensorrt-llm"},
                                   {"vllm-2024", "vllm-v0"},
                                   {"vllm-2023", "vllm-v0"},
                                   {"vllm", "vllm-v1"}};

Result<ServingEngine> engine_of(const ServingCase& row, const std::filesystem::path& catalogue) {
    const auto word = std::find_if(std::begin(kEngines), std::end(kEngines), [&](const auto& each) {
        return row.engine.starts_with(each.begins);
    });
    if (word == std::end(kEngines)) {
        return fail(row.where, fmt::format("no facts about the engine {}", row.engine));
    }
    return read_engine(word->engine, catalogue);
}

// "fp8" -> 8 bits in products of fp8; int4 weights are unpacked for products in 16 bits.
Result<void> set_precision(const ServingCase& row, ServingPlan& plan) {
    struct Word {
        std::string_view word;
        Dtype products;
        std::int64_t bits;
    };
    constexpr Word kWords[] = {{"bf16", Dtype::bf16, 16},
                               {"fp16", Dtype::bf16, 16},
                               {"fp8", Dtype::fp8, 8},
                               {"int8", Dtype::bf16, 8},
                               {"int4", Dtype::bf16, 4}};
    const auto find = [&](const std::string& word) {
        return std::find_if(std::begin(kWords), std::end(kWords), [&](const Word& each) {
            return each.word == word;
        });
    };
    const auto* weights = find(row.weight_precision);
    const auto* cache = find(row.key_value_precision);
    if (weights == std::end(kWords)) {
        return fail(row.where, fmt::format("products in {} have no curve", row.weight_precision));
    }
    if (cache == std::end(kWords)) {
        return fail(row.where, fmt::format("a cache in '{}'", row.key_value_precision));
    }
    plan.precision = weights->products;
    plan.weight_bits = weights->bits;
    plan.key_value_precision = cache->bits == 8 ? Dtype::fp8 : Dtype::bf16;
    return {};
}

struct ServingSetUp {
    ServingSpec spec;
    WorkloadSpec workload;
};

// What a load means for one of the row's replicas.
Result<WorkloadSpec> workload_of(const ServingCase& row) {
    constexpr std::int64_t kMost = 2000;
    const std::int64_t stated = row.num_requests / row.replicas;
    WorkloadSpec workload{.num_requests = std::max<std::int64_t>(1, row.concurrency / row.replicas),
                          .input_tokens = row.input_tokens,
                          .output_tokens = std::max(row.output_tokens, 1.0)};
    if (const auto spread = parse_number(row.length_spread); spread && *spread > 0) {
        workload.length_spread = *spread;
    }
    if (row.load == "single") {
        workload.num_requests = 1;
    } else if (row.load == "closed") {
        workload.users = workload.num_requests;
        const std::int64_t all = stated > 0 ? stated : 10 * workload.users;
        workload.num_requests = std::min(all, std::max(kMost, 4 * workload.users));
    } else if (row.load == "offline") {
        workload.num_requests = stated > 0 ? std::min(stated, 2 * kMost) : 2 * kMost;
    } else if (row.load == "poisson") {
        workload.request_rate = row.request_rate / static_cast<double>(row.replicas);
        workload.num_requests = stated > 0 ? std::min(stated, 2 * kMost) : 2 * kMost;
    } else if (row.load != "static") {
        return fail(row.where, fmt::format("a load from a {}", row.load));
    }
    return workload;
}

Result<ServingSetUp> set_up_of(const ServingCase& row, const std::filesystem::path& catalogue) {
    const Result<ServingEngine> engine = engine_of(row, catalogue);
    if (!engine) {
        return tl::unexpected(engine.error());
    }
    if (row.mode == "disaggregated") {
        return fail(row.where, "prefill and decode on instances of their own");
    }
    if (row.data_parallel > 1 || row.expert_parallel > 1) {
        return fail(row.where, "data-parallel attention or expert parallelism");
    }
    if (row.power_cap_w > 0) {
        return fail(row.where, "a power cap");
    }
    auto workload = workload_of(row);
    if (!workload) {
        return tl::unexpected(workload.error());
    }
    ServingSetUp set_up{.workload = *workload};
    ServingSpec& spec = set_up.spec;
    ServingPoolSpec& pool = spec.pools.front();
    pool.plan.tensor_model_parallel_size = row.tensor_parallel;
    pool.plan.pipeline_model_parallel_size = row.pipeline_parallel;
    if (const auto set = set_precision(row, pool.plan); !set) {
        return tl::unexpected(set.error());
    }
    if (!row.gpu.starts_with("a100")) {
        pool.plan.attention = AttentionGeneration::flash_3_or_cudnn;
    }
    spec.engine = *engine;
    if (row.load == "static" || row.load == "single") {
        spec.engine.scheduler = "static";
    }
    if (row.memory_share > 0) {
        spec.engine.memory_share = row.memory_share;
    }
    const auto stated = [](std::int64_t value, std::int64_t otherwise) {
        return value > 0 ? value : otherwise;
    };
    pool.limits.max_num_seqs = stated(row.max_num_seqs, engine->max_num_seqs);
    pool.limits.max_num_batched_tokens =
        stated(row.max_num_batched_tokens, engine->max_num_batched_tokens);
    if (spec.engine.scheduler == "static") {
        pool.limits.max_num_batched_tokens =
            std::max<std::int64_t>(1, std::llround(row.input_tokens)) *
            set_up.workload.num_requests;
    }
    return set_up;
}

// Of the middle of a run in which all requests come at once: the first requests fill the cache and
// the last ones leave it empty, which a long run does not notice.
double steady_output_rate(const ServingResult& result) {
    std::vector<std::pair<Time, std::int64_t>> ends;
    for (const RequestRecord& record : result.records) {
        if (record.finished()) {
            ends.emplace_back(record.last_token, record.output_tokens);
        }
    }
    std::sort(ends.begin(), ends.end());
    const std::size_t first = ends.size() / 4;
    const std::size_t last = ends.size() * 3 / 4;
    std::int64_t tokens = 0;
    for (std::size_t i = first + 1; i <= last && i < ends.size(); ++i) {
        tokens += ends[i].second;
    }
    const Time lasted = last < ends.size() ? ends[last].first - ends[first].first : Time{};
    return lasted > Time{} ? static_cast<double>(tokens) / lasted.seconds() : 0;
}

Result<Scenario> cluster_of(const ServingCase& row, const std::filesystem::path& catalogue) {
    const auto node = std::find_if(std::begin(kNodes), std::end(kNodes), [&](const Node& each) {
        return each.gpu == row.gpu;
    });
    if (node == std::end(kNodes)) {
        return fail(row.where, fmt::format("the catalogue has no server of {}", row.gpu));
    }
    ReadOptions options;
    options.network_only = true;
    options.catalogue = catalogue;
    auto scenario = read_scenario_text(
        fmt::format("cluster: {{nodes: 1, node: {}}}\n", node->node), row.where, ".", options);
    if (!scenario) {
        return tl::unexpected(scenario.error().front());
    }
    return std::move(*scenario);
}

Result<void> predict_served(const ServingCase& row,
                            const ServedModel& model,
                            const std::filesystem::path& catalogue,
                            ServingValidation& validation) {
    if (!model.unsupported.empty()) {
        return fail(row.where, model.unsupported);
    }
    auto set_up = set_up_of(row, catalogue);
    auto scenario = cluster_of(row, catalogue);
    if (!set_up || !scenario) {
        return tl::unexpected(!set_up ? set_up.error() : scenario.error());
    }
    scenario->model = model.model;
    ServingResult result;
    const auto answer = serve_scenario(*scenario,
                                       set_up->spec,
                                       synthetic_requests(set_up->workload),
                                       {.users = set_up->workload.users},
                                       &result);
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    if (answer->requests == 0) {
        return fail(row.where, "no request fits into the cache");
    }
    const auto add = [&](const char* metric, double measured, double predicted) {
        if (measured > 0 && predicted > 0) {
            validation.rows.push_back({.case_name = row.name,
                                       .family = row.family,
                                       .metric = metric,
                                       .measured = measured,
                                       .predicted = predicted});
        }
    };
    add("ttft_s", row.ttft_s, answer->ttft_s.mean);
    add("tpot_s", row.tpot_s, answer->tpot_s.mean);
    // A load that exceeds what the server takes has no end-to-end time of its own.
    if (row.load != "offline") {
        add("e2e_s", row.e2e_s, answer->e2e_s.mean);
    }
    const double rate =
        row.load == "offline" ? steady_output_rate(result) : answer->output_tokens_per_s;
    add("output_tokens_per_s", row.output_tokens_per_s, rate * static_cast<double>(row.replicas));
    return {};
}

void add_families(ServingValidation& validation) {
    std::map<std::pair<std::string, std::string>, std::vector<double>> errors;
    for (const ServingMetric& row : validation.rows) {
        errors[{row.metric, row.family}].push_back(row.error());
    }
    std::map<std::string, std::vector<ServingFamilyError>> by_metric;
    for (auto& [key, signed_errors] : errors) {
        std::vector<double> absolute;
        for (const double error : signed_errors) {
            absolute.push_back(std::abs(error));
        }
        validation.families.push_back({.family = key.second,
                                       .metric = key.first,
                                       .rows = signed_errors.size(),
                                       .median = median(absolute),
                                       .bias = median(signed_errors)});
        by_metric[key.first].push_back(validation.families.back());
    }
    for (const auto& [metric, families] : by_metric) {
        ServingFamilyError all{.metric = metric};
        for (const ServingFamilyError& family : families) {
            all.rows += family.rows;
            all.median += family.median / static_cast<double>(families.size());
            all.bias += family.bias / static_cast<double>(families.size());
        }
        validation.balanced.push_back(all);
    }
}

std::int64_t integer_or(const std::string& field, std::int64_t otherwise) {
    return parse_integer(field).value_or(otherwise);
}

double number_or_zero(const std::string& field) {
    return parse_number(field).value_or(0);
}

}  // namespace

bool is_serving_table(const std::string& file) {
    std::ifstream in(file);
    std::string line;
    while (std::getline(in, line) && line.starts_with('#')) {
    }
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
        const auto first_of = [&](std::size_t mean, std::size_t other) {
            const double value = number_or_zero(f[mean]);
            return (value > 0 ? value : number_or_zero(f[other])) * 1e-3;
        };
        cases.push_back({.name = f[0],
                         .family = f[1],
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
    }
    return cases;
}

ResultOrErrors<std::vector<ServedModel>> read_served_models(const std::string& file) {
    const auto rows = read_csv(file,
                               {"model",
                                "num_layers",
                                "hidden_size",
                                "num_attention_heads",
                                "num_key_value_heads",
                                "head_dim",
                                "intermediate_size",
                                "vocab_size",
                                "gated_mlp",
                                "num_experts",
                                "attention",
                                "sliding_window",
                                "notes"},
                               true);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    std::vector<ServedModel> models;
    for (const CsvRow& row : *rows) {
        const auto& f = row.fields;
        ServedModel served{.name = f[0]};
        Transformer& model = served.model;
        model.name = f[0];
        model.num_layers = integer_or(f[1], 0);
        model.hidden_size = integer_or(f[2], 0);
        model.num_attention_heads = integer_or(f[3], 0);
        model.num_query_groups = integer_or(f[4], 0);
        model.kv_channels = integer_or(f[5], 0);
        model.ffn_hidden_size = integer_or(f[6], 0);
        model.vocab_size = integer_or(f[7], 0);
        const bool gated = f[8] == "true";
        model.activation = gated ? Activation::swiglu : Activation::gelu;
        model.normalization = gated ? Normalization::rmsnorm : Normalization::layernorm;
        model.position_embedding = PositionEmbedding::rope;
        model.tied_embeddings = false;
        model.add_bias_linear = false;
        model.parallel_block = f[12].find("parallel block") != std::string::npos;
        model.sliding_window = integer_or(f[11], 0);
        if (integer_or(f[9], 0) > 0) {
            served.unsupported = "a model with experts";
        } else if (f[10] == "mla") {
            served.unsupported = "latent attention";
        }
        models.push_back(std::move(served));
    }
    return models;
}

ServingValidation validate_serving(const std::vector<ServingCase>& cases,
                                   const std::vector<ServedModel>& models,
                                   const std::filesystem::path& catalogue) {
    ServingValidation validation;
    for (const ServingCase& row : cases) {
        std::string name = row.model;
        // Releases 3.1 and 3.3 of Llama have the dimensions of 3.
        for (const char* release : {"llama-3.1-", "llama-3.3-"}) {
            if (name.starts_with(release) && name != "llama-3.1-405b") {
                name = "llama-3-" + name.substr(10);
            }
        }
        const auto model = std::find_if(
            models.begin(), models.end(), [&](const ServedModel& one) { return one.name == name; });
        if (model == models.end()) {
            validation.skipped.push_back({row.name, fmt::format("no model {}", row.model)});
            continue;
        }
        if (const auto done = predict_served(row, *model, catalogue, validation); !done) {
            validation.skipped.push_back({row.name, done.error().what});
        }
    }
    add_families(validation);
    return validation;
}

}  // namespace orrery
