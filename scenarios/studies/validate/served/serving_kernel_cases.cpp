// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/serving_kernel_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>

#include "kernels/attention/attention.h"
#include "kernels/csv_rows.h"
#include "kernels/gemm/gemm.h"
#include "models/serving/serving_kernels.h"
#include "models/serving/serving_step.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/csv_header.h"
#include "scenarios/format/read/read_serving.h"
#include "scenarios/studies/serve/serving_prices.h"
#include "scenarios/studies/validate/case_fields.h"
#include "scenarios/studies/validate/served/serving_set_up.h"

namespace orrery {
namespace {

const CaseColumns kServingKernelColumns{
    "case,family,gpu,kernel,variant,dtype,kv_dtype,distribution,m,n,k,batch,seq,kv_len,heads,"
    "kv_heads,head_dim,num_experts,topk,moe_tp,ep,num_gpus,size_bytes,time_us"};

ServingKernelCase kernel_case_of(CaseFields& fields) {
    ServingKernelCase c{.name = fields.text("case"),
                        .family = fields.text("family"),
                        .gpu = fields.text("gpu"),
                        .kernel = fields.text("kernel"),
                        .variant = fields.text("variant"),
                        .dtype = fields.text("dtype"),
                        .cache_dtype = fields.text("kv_dtype"),
                        .distribution = fields.text("distribution"),
                        .m = fields.stated("m", 0),
                        .n = fields.stated("n", 0),
                        .k = fields.stated("k", 0),
                        .batch = fields.stated("batch", 1),
                        .seq = fields.stated("seq", 1),
                        .context = fields.stated("kv_len", 0),
                        .heads = fields.stated("heads", 1),
                        .kv_heads = fields.stated("kv_heads", 1),
                        .head_dim = fields.stated("head_dim", 1),
                        .experts = fields.stated("num_experts", 1),
                        .topk = fields.stated("topk", 1),
                        .expert_tensor = fields.stated("moe_tp", 1),
                        .expert_parallel = fields.stated("ep", 1),
                        .gpus = fields.stated("num_gpus", 1),
                        .bytes = fields.stated("size_bytes", 0),
                        .time_us = fields.stated("time_us"),
                        .where = fields.where()};
    const auto positive = [](std::initializer_list<std::int64_t> values) {
        return std::ranges::all_of(values, [](std::int64_t v) { return v >= 1 && v < 1 << 30; });
    };
    if (c.time_us <= 0 || !positive({c.batch,
                                     c.seq,
                                     c.heads,
                                     c.kv_heads,
                                     c.head_dim,
                                     c.experts,
                                     c.topk,
                                     c.expert_tensor,
                                     c.expert_parallel,
                                     c.gpus})) {
        fields.complain_of_row("sizes and time_us must be numbers above zero");
    }
    return c;
}

Dtype dtype_of_word(const std::string& word) {
    return word == "fp8" ? Dtype::fp8 : Dtype::bf16;
}

// A layer with the row's experts.
Transformer layer_of_experts(const ServingKernelCase& row) {
    return {.num_layers = 1,
            .hidden_size = row.k,
            .ffn_hidden_size = row.n,
            .num_attention_heads = 1,
            .num_query_groups = 1,
            .kv_channels = row.k,
            .vocab_size = 1,
            .activation = Activation::swiglu,
            .num_experts = row.experts,
            .moe_router_topk = row.topk,
            .moe_ffn_hidden_size = row.n};
}

// Exponent of the distribution: "zipf-1.2" gives 1.2.
double skew_of(const ServingKernelCase& row) {
    constexpr std::string_view kLaw = "zipf-";
    const std::string_view word = row.distribution;
    return word.starts_with(kLaw) ? parse_number(word.substr(kLaw.size())).value_or(0) : 0;
}

// DeepSeek-V3's attention.
Transformer latent_layer(const ServingKernelCase& row) {
    return {.num_layers = 1,
            .hidden_size = 7168,
            .ffn_hidden_size = 1,
            .num_attention_heads = row.heads,
            .num_query_groups = row.heads,
            .kv_channels = 128,
            .vocab_size = 1,
            .position_embedding = PositionEmbedding::rope,
            .activation = Activation::swiglu,
            .multi_latent_attention = true,
            .q_lora_rank = 1536};
}

// Whether all FP8 checkpoints of the model with the row's experts have block scales.
bool of_block_scales(const ServingKernelCase& row, const std::vector<PublishedModel>& models) {
    return std::ranges::any_of(models, [&](const PublishedModel& model) {
        return model.fp8_block_scales == BlockScales::all && model.hidden_size == row.k &&
               model.moe_ffn_hidden_size == row.n && model.num_experts == row.experts;
    });
}

constexpr std::array<std::string_view, 6> kExpertOps = {
    "expert order", "permute", "expert fc1", "expert activation", "expert fc2", "unpermute"};
constexpr std::array<std::string_view, 10> kLatentOps = {"latent down",
                                                        "latent norm",
                                                        "query up",
                                                        "rotary embedding",
                                                        "cache write",
                                                        "head order",
                                                        "query absorption",
                                                        "decode attention",
                                                        "value absorption",
                                                        "projection"};

struct PricedRow {
    double us = 0;
    std::string as;
};

// Sum of the named kernels' times. A cast counts if it precedes one of them.
template <std::size_t N>
double sum_of(const ServingPrices& prices,
              const std::vector<ServingOp>& ops,
              const std::array<std::string_view, N>& names) {
    double us = 0;
    double cast = 0;
    for (const ServingOp& op : ops) {
        if (!std::holds_alternative<KernelCall>(op.work)) {
            continue;
        }
        const double time = prices.time_of(op, 0).microseconds();
        if (std::ranges::find(names, op.name) != names.end()) {
            us += cast + time;
        }
        cast = op.name == kQuantise ? time : 0;
    }
    return us;
}

KernelCall attention_of(const ServingKernelCase& row) {
    const bool ampere = row.gpu.starts_with("a100");
    const AttentionShape shape{.batch = row.batch,
                               .seq_q = row.seq,
                               .seq_kv = std::max(row.context, row.seq),
                               .heads = row.heads,
                               .kv_heads = row.kv_heads,
                               .head_dim = row.head_dim,
                               .generation = ampere ? AttentionGeneration::flash_2
                                                    : AttentionGeneration::flash_3_or_cudnn};
    KernelCall call = attention_forward(shape, Dtype::bf16);
    call.bytes += 2 * row.batch * row.kv_heads * row.head_dim * shape.seq_kv *
                  (size_bytes(dtype_of_word(row.cache_dtype)) - size_bytes(Dtype::bf16));
    return call;
}

Result<PricedRow> price_row(const ServingKernelCase& row,
                            const ServingPrices& prices,
                            const std::vector<PublishedModel>& models,
                            bool masks_experts) {
    const auto priced = [&](const KernelCall& call, const char* as) {
        return PricedRow{prices.time_of({.name = as, .work = call}, 0).microseconds(), as};
    };
    if (row.kernel == "gemm") {
        const KernelCall call =
            gemm(row.m, row.n, row.k, 1, dtype_of_word(row.dtype), GemmEpilogue::none, Dtype::bf16);
        PricedRow row_price = priced(call, "product");
        // Rows are whole linear layers (vLLM's RowParallelLinear) with inputs of 16 bits.
        if (row.dtype == "fp8") {
            row_price.us +=
                priced(quantise_operand(row.m, row.k, ProductPrecision::fp8), "cast").us;
        }
        return row_price;
    }
    if (row.kernel == "decode_attention" || row.kernel == "prefill_attention") {
        const bool generates = row.kernel == "decode_attention";
        const ServingOp op{.name = generates ? kDecodeAttention : "attention",
                           .work = attention_of(row)};
        return PricedRow{prices.time_of(op, 0).microseconds(), "attention"};
    }
    const ProductPrecision products =
        row.dtype == "fp8" ? ProductPrecision::fp8 : ProductPrecision::bf16;
    const bool balanced = row.distribution == "balanced";
    const double skew = skew_of(row);
    if (row.kernel == "moe" && (balanced || skew > 0)) {
        const ServingPlan plan{
            .tensor_model_parallel_size = row.expert_tensor * row.expert_parallel,
            .expert_model_parallel_size = row.expert_parallel,
            .precision = products,
            .weight_bits = bits_of(products),
            .block_scaled = products == ProductPrecision::fp8 && of_block_scales(row, models),
            .masks_experts = masks_experts,
            .balanced_experts = balanced,
            .expert_skew = skew};
        const BatchShape shape{.tokens = row.m, .chunks = {}};
        const auto ops = serving_ops(layer_of_experts(row), plan, shape, 0);
        return PricedRow{sum_of(prices, ops, kExpertOps), "experts"};
    }
    if (row.kernel == "mla_decode") {
        const ServingPlan plan{.precision = products,
                               .weight_bits = bits_of(products),
                               .block_scaled = products == ProductPrecision::fp8,
                               .key_value_precision = dtype_of_word(row.cache_dtype),
                               .attention = AttentionGeneration::flash_3_or_cudnn};
        const BatchShape shape{.tokens = row.batch,
                               .generating = row.batch,
                               .generating_context = row.batch * row.context,
                               .chunks = {}};
        const auto ops = serving_ops(latent_layer(row), plan, shape, 0);
        return PricedRow{sum_of(prices, ops, kLatentOps), "latent attention"};
    }
    if (row.kernel == "all_reduce" && row.variant.find("graph") != std::string::npos) {
        const CollectiveCall call{
            .kind = CollectiveKind::all_reduce, .bytes = Bytes{row.bytes}, .wire = Dtype::bf16};
        return PricedRow{prices.time_of({.name = "sum", .work = call}, 0).microseconds(), "sum"};
    }
    return fail(row.where,
                row.kernel == "moe" ? fmt::format("tokens spread by {}", row.distribution)
                                    : fmt::format("{} ({})", row.kernel, row.variant));
}

// The engine whose attention kernel the row timed. Other kernels do not depend on the engine.
Result<ServingEngine> engine_of_kernel(const ServingKernelCase& row,
                                       const std::filesystem::path& catalogue) {
    return row.variant.starts_with("vllm") ? read_engine("vllm-v1", catalogue) : ServingEngine{};
}

}  // namespace

bool is_serving_kernel_table(const std::string& file) {
    const std::string line = csv_header(file);
    return line.starts_with("case,family,gpu,kernel,variant,dtype,kv_dtype,");
}

ResultOrErrors<std::vector<ServingKernelCase>> read_serving_kernel_cases(const std::string& file) {
    return read_cases(file, kServingKernelColumns, kernel_case_of);
}

Result<TimedValidation> validate_serving_kernels(const std::vector<ServingKernelCase>& cases,
                                                 const std::filesystem::path& catalogue) {
    const std::filesystem::path table = catalogue / "published" / "serving_models.csv";
    const auto models = read_served_models(table.string());
    if (!models) {
        return tl::unexpected(models.error().front());
    }
    TimedValidation validation;
    std::map<std::tuple<std::string, std::int64_t, std::string>, std::unique_ptr<ServingPrices>>
        prices;
    for (const ServingKernelCase& row : cases) {
        const auto engine = engine_of_kernel(row, catalogue);
        if (!engine) {
            return tl::unexpected(engine.error());
        }
        auto& of_gpu = prices[{row.gpu, row.gpus, engine->name + row.cache_dtype}];
        if (of_gpu == nullptr) {
            const auto cluster = serving_cluster(row.gpu, row.gpus, row.where, catalogue);
            if (!cluster) {
                validation.skipped.push_back({row.name, row.family, cluster.error().what});
                continue;
            }
            auto made = ServingPrices::make(*cluster,
                                            {},
                                            {.tensor_model_parallel_size = row.gpus,
                                             .key_value_precision = dtype_of_word(row.cache_dtype)},
                                            *engine);
            if (!made) {
                return tl::unexpected(made.error());
            }
            of_gpu = std::move(*made);
        }
        if (const auto priced = price_row(row, *of_gpu, *models, engine->masks_experts)) {
            validation.rows.push_back({.name = row.name,
                                       .family = row.family,
                                       .measured_us = row.time_us,
                                       .predicted_us = priced->us,
                                       .as = priced->as});
        } else {
            validation.skipped.push_back({row.name, row.family, priced.error().what});
        }
    }
    summarise(validation);
    return validation;
}

}  // namespace orrery
