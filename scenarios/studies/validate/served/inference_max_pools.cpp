// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/inference_max_pools.h"

#include <algorithm>
#include <cmath>

#include "kernels/csv_rows.h"
#include "scenarios/studies/validate/served/engine_release.h"
#include "scenarios/studies/validate/served/inference_max.h"

namespace orrery {

namespace {

constexpr std::size_t kUsers = 8;
constexpr std::size_t kMaxBatchSize = 9;
constexpr std::size_t kAttentionDp = 10;
constexpr std::size_t kPrefillPrompts = 11;
constexpr std::size_t kPrefillTokens = 12;

bool holds_for(const std::vector<std::string>& fields, const ServingCase& row) {
    const std::int64_t integers[] = {std::llround(row.input_tokens),
                                     std::llround(row.output_tokens),
                                     row.decode.workers,
                                     row.decode.tensor_parallel,
                                     row.decode.data_parallel};
    constexpr std::size_t kFirst = 3;
    for (std::size_t i = 0; i < std::size(integers); ++i) {
        if (parse_number(fields[kFirst + i]) != static_cast<double>(integers[i])) {
            return false;
        }
    }
    const bool users = fields[kUsers].empty() ||
                       parse_number(fields[kUsers]) == static_cast<double>(row.concurrency);
    return row.engine.starts_with(fields[0]) && row.gpu == fields[1] &&
           row.weight_precision == fields[2] && users;
}

}  // namespace

Result<std::optional<InferenceMaxRecipe>> inference_max_recipe(const ServingCase& row,
                                                               const std::filesystem::path& table) {
    const auto rows = read_csv(table.string(),
                               {"release",
                                "gpu",
                                "weights",
                                "input_tokens",
                                "output_tokens",
                                "decode_workers",
                                "decode_tp",
                                "decode_dp",
                                "users",
                                "max_batch_size",
                                "prefill_attention_dp",
                                "prefill_batch_size",
                                "prefill_tokens"},
                               true);
    if (!rows) {
        return tl::unexpected(rows.error().front());
    }
    const auto found = std::ranges::find_if(
        *rows, [&](const CsvRow& line) { return holds_for(line.fields, row); });
    if (found == rows->end()) {
        return std::optional<InferenceMaxRecipe>{};
    }
    const auto number = [&](std::size_t column, double otherwise) {
        return std::llround(parse_number(found->fields[column]).value_or(otherwise));
    };
    const double as_stated = row.prefill.data_parallel > 1 ? 1 : 0;
    return InferenceMaxRecipe{
        .decode_sequences = number(kMaxBatchSize, 0) * row.decode.data_parallel,
        .attention_dp = number(kAttentionDp, as_stated) > 0,
        .prompts = number(kPrefillPrompts, 0),
        .tokens = number(kPrefillTokens, 0)};
}

namespace {

// NVIDIA/srt-slurm starts nginx on one node and a front end of Dynamo on each of ten others
// (src/srtctl/cli/mixins/frontend_stage.py; num_additional_frontends is 9), or on all if there are
// fewer. Before, InferenceMAX's own configurations had 8 or 9 of them beside the first
// (N_ADDITIONAL_FRONTENDS). Recipes for H200 and Dynamo's sweeps of release 0.5.1 with TensorRT-LLM
// (components/backends/trtllm/performance_sweeps) have one.
std::int64_t front_ends(const ServingCase& row) {
    constexpr std::int64_t kMost = 10;
    if (row.gpu != "gb200" || row.engine.starts_with("trtllm-0.5.1")) {
        return 1;
    }
    return std::clamp<std::int64_t>(row.num_gpus / row.gpus_per_node - 1, 1, kMost);
}

// Whether decode instances choose the prefill instance, in turn, as Dynamo's handlers for SGLang
// did before its PrefillRouter (components/src/dynamo/sglang/request_handlers/decode_handler.py:
// prefill_client).
bool decode_instances_route(const ServingCase& row) {
    constexpr EngineRelease kRelease{.major = 0, .minor = 5, .patch = 5};
    return row.engine.starts_with("sglang") && release_of(row.engine) == kRelease;
}

void use_recipe(const InferenceMaxRecipe& recipe, ServingSpec& spec) {
    spec.pools.back().limits.max_num_seqs = recipe.decode_sequences;
    ServingPoolSpec& prompts = spec.pools.front();
    const std::int64_t ranks = prompts.plan.ranks_of_stage();
    prompts.plan.data_parallel_size = recipe.attention_dp ? ranks : 1;
    prompts.plan.tensor_model_parallel_size = recipe.attention_dp ? 1 : ranks;
    prompts.limits.max_num_seqs = recipe.prompts * prompts.plan.data_parallel_size;
    prompts.limits.max_num_batched_tokens = recipe.tokens * prompts.plan.data_parallel_size;
}

}  // namespace

Result<void> set_inference_max_pools(const ServingCase& row,
                                     const std::filesystem::path& table,
                                     ServingSpec& spec) {
    if (!is_inference_max(row) || row.mode != "disaggregated") {
        return {};
    }
    const auto recipe = inference_max_recipe(row, table);
    if (!recipe) {
        return tl::unexpected(recipe.error());
    }
    if (recipe->has_value()) {
        use_recipe(**recipe, spec);
    }
    // chunked-prefill-size of SGLang's recipes is 131,072 for eight ranks and 65,536 for four
    // (NVIDIA/srt-slurm, recipes/gb200-fp*/1k1k/mid-curve.yaml).
    constexpr std::int64_t kTokensOfRank = 16'384;
    if (row.engine.starts_with("sglang") && row.prefill.data_parallel > 1) {
        spec.pools.front().limits.max_num_batched_tokens =
            kTokensOfRank * row.prefill.data_parallel;
    }
    // Each of Dynamo's front ends chooses instances in turn (documentation, "Router":
    // --router-mode).
    for (ServingPoolSpec& pool : spec.pools) {
        pool.router = "round_robin";
        pool.num_routers = front_ends(row);
    }
    if (decode_instances_route(row)) {
        spec.pools.front().num_routers = row.decode.workers;
    }
    return {};
}

}  // namespace orrery
