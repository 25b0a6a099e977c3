// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/engine_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/csv_rows.h"
#include "models/serving/cached_attention.h"

namespace orrery {

Result<EngineKernels> read_engine_kernels(const std::string& file, const EngineKernelKey& key) {
    const auto rows =
        read_csv(file, {"engine", "kernels", "bits", "bandwidth_share", "generation"}, true);
    if (!rows) {
        return tl::unexpected(rows.error().front());
    }
    EngineKernels kernels;
    for (const CsvRow& row : *rows) {
        double* share = row.fields[1] == "expert_weights" ? &kernels.expert_weights
                        : row.fields[1] == "expert_rows"  ? &kernels.expert_rows
                        : row.fields[1] == "scaled_casts" ? &kernels.scaled_casts
                                                          : nullptr;
        const auto of_bits = parse_integer(row.fields[2]);
        const auto value = parse_number(row.fields[3]);
        if (share == nullptr || !of_bits || !value || *value <= 0 || *value > 1) {
            return fail(
                row.where,
                fmt::format(
                    "{} of {} bits at a share of {}", row.fields[1], row.fields[2], row.fields[3]),
                "expert_weights, expert_rows or scaled_casts; above 0 and at most 1");
        }
        const std::string& generation = row.fields[4];
        if (row.fields[0] == key.engine && *of_bits == key.bits &&
            (generation.empty() || generation == key.generation)) {
            *share = *value;
        }
    }
    return kernels;
}

void join_attention(std::vector<ServingOp>& ops) {
    const auto first = std::ranges::find(ops, kDecodeAttention, &ServingOp::name);
    if (ops.end() - first < 2 || (first + 1)->name != kPromptAttention) {
        return;
    }
    (first + 1)->work =
        joint_attention(std::get<KernelCall>((first + 1)->work), std::get<KernelCall>(first->work));
    ops.erase(first);
}

}  // namespace orrery
