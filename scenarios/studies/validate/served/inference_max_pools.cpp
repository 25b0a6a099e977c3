// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/inference_max_pools.h"

#include <algorithm>
#include <cmath>

#include "kernels/csv_rows.h"
#include "scenarios/studies/validate/served/inference_max.h"

namespace orrery {

namespace {

constexpr std::size_t kUsers = 8;
constexpr std::size_t kMaxBatchSize = 9;

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

Result<std::int64_t> inference_max_decode_sequences(const ServingCase& row,
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
                                "max_batch_size"},
                               true);
    if (!rows) {
        return tl::unexpected(rows.error().front());
    }
    const auto found = std::ranges::find_if(
        *rows, [&](const CsvRow& line) { return holds_for(line.fields, row); });
    return found == rows->end()
               ? 0
               : std::llround(parse_number(found->fields[kMaxBatchSize]).value_or(0)) *
                     row.decode.data_parallel;
}

Result<void> set_inference_max_pools(const ServingCase& row,
                                     const std::filesystem::path& table,
                                     ServingSpec& spec) {
    if (!is_inference_max(row) || row.mode != "disaggregated") {
        return {};
    }
    const auto sequences = inference_max_decode_sequences(row, table);
    if (!sequences) {
        return tl::unexpected(sequences.error());
    }
    if (*sequences > 0) {
        spec.pools.back().limits.max_num_seqs = *sequences;
    }
    // chunked-prefill-size of SGLang's recipes is 131,072 for eight ranks and 65,536 for four
    // (NVIDIA/srt-slurm, recipes/gb200-fp*/1k1k/mid-curve.yaml).
    constexpr std::int64_t kTokensOfRank = 16'384;
    if (row.engine.starts_with("sglang") && row.prefill.data_parallel > 1) {
        spec.pools.front().limits.max_num_batched_tokens =
            kTokensOfRank * row.prefill.data_parallel;
    }
    // Dynamo's front end chooses instances in turn (documentation, "Router": --router-mode).
    for (ServingPoolSpec& pool : spec.pools) {
        pool.router = "round_robin";
    }
    return {};
}

}  // namespace orrery
