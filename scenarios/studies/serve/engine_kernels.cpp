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
        double* share = row.fields[1] == "expert_weights"   ? &kernels.expert_weights
                        : row.fields[1] == "expert_rows"    ? &kernels.expert_rows
                        : row.fields[1] == "scaled_casts"   ? &kernels.scaled_casts
                        : row.fields[1] == "vector_weights" ? &kernels.vector_weights
                                                            : nullptr;
        const auto of_bits = parse_integer(row.fields[2]);
        const auto value = parse_number(row.fields[3]);
        if (share == nullptr || !of_bits || !value || *value <= 0 || *value > 1) {
            return fail(
                row.where,
                fmt::format(
                    "{} of {} bits at a share of {}", row.fields[1], row.fields[2], row.fields[3]),
                "expert_weights, expert_rows, scaled_casts or vector_weights; above 0 and at "
                "most 1");
        }
        const std::string& generation = row.fields[4];
        if (row.fields[0] == key.engine && *of_bits == key.bits &&
            (generation.empty() || generation == key.generation)) {
            *share = *value;
        }
    }
    return kernels;
}

std::optional<Time> vector_product_time(const EngineKernels& kernels,
                                        const KernelCall& call,
                                        const DeviceSpec& device) {
    if (kernels.vector_weights <= 0 || call.kind != KernelKind::gemm ||
        call.dims[0] > kVectorRows) {
        return std::nullopt;
    }
    const double bandwidth = device.memory_bandwidth.gigabytes_per_second() * 1e9;
    const double reading = static_cast<double>(call.bytes) / (kernels.vector_weights * bandwidth);
    const double computing = call.flop / device.peak(Dtype::fp32).per_second();
    return Time::seconds(std::max(reading, computing)) + device.kernel_latency;
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
