// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/engine_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/serving/batching_rules.h"
#include "kernels/csv_rows.h"
#include "kernels/gemm/grouped_gemm.h"
#include "models/serving/cached_attention.h"
#include "scenarios/format/catalogue/catalogue.h"

namespace orrery {
namespace {

struct NamedShare {
    std::string_view name;
    double EngineKernels::*share;
};
constexpr std::array kShares{
    NamedShare{"expert_weights", &EngineKernels::expert_weights},
    NamedShare{"expert_rows", &EngineKernels::expert_rows},
    NamedShare{"expert_products", &EngineKernels::expert_products},
    NamedShare{"scaled_expert_products", &EngineKernels::scaled_expert_products},
    NamedShare{"scaled_casts", &EngineKernels::scaled_casts},
    NamedShare{"vector_weights", &EngineKernels::vector_weights}};

std::string names_of_shares() {
    std::string names;
    for (const NamedShare& known : kShares) {
        const bool last = &known == &kShares.back();
        names += fmt::format("{}{}", names.empty() ? "" : last ? " or " : ", ", known.name);
    }
    return names;
}

}  // namespace

Result<EngineKernels> read_engine_kernels(const std::string& file, const EngineKernelKey& key) {
    const auto rows = read_csv(file, {"engine", "kernels", "bits", "share", "generation"}, true);
    if (!rows) {
        return tl::unexpected(rows.error().front());
    }
    EngineKernels kernels;
    for (const CsvRow& row : *rows) {
        const auto known = std::ranges::find(kShares, row.fields[1], &NamedShare::name);
        const auto of_bits = parse_integer(row.fields[2]);
        const auto value = parse_number(row.fields[3]);
        if (known == kShares.end() || !of_bits || !value || *value <= 0 || *value > 1) {
            return fail(
                row.where,
                fmt::format(
                    "{} of {} bits at a share of {}", row.fields[1], row.fields[2], row.fields[3]),
                names_of_shares() + "; above 0 and at most 1");
        }
        const std::string& generation = row.fields[4];
        if (row.fields[0] == key.engine && *of_bits == key.bits &&
            (generation.empty() || generation == key.generation || generation == key.device)) {
            kernels.*known->share = *value;
        }
    }
    return kernels;
}

Result<EngineKernels> engine_kernels(std::string_view engine,
                                     ProductPrecision precision,
                                     std::string_view generation,
                                     std::string_view device) {
    return read_engine_kernels(
        (default_catalogue() / "engine_kernels.csv").string(),
        {.engine = engine, .generation = generation, .device = device, .bits = bits_of(precision)});
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

double filled_blocks(const KernelCall& product) {
    constexpr std::int64_t kSmallest = 16;
    constexpr std::int64_t kLargest = 64;
    const std::int64_t rows = std::max<std::int64_t>(1, product.dims[0]);
    std::int64_t block = kSmallest;
    while (block < std::min(rows, kLargest)) {
        block *= 2;
    }
    const std::int64_t tiles = (rows + kGroupTileRows - 1) / kGroupTileRows;
    const bool equal = product.dims[4] == product.dims[3] * tiles;
    const std::int64_t filled =
        equal ? (rows + block - 1) / block * block : std::max(block, rows + block / 2);
    return static_cast<double>(filled) / static_cast<double>(rows);
}

double expert_peak(const ServingEngine& engine,
                   const EngineKernels& kernels,
                   const KernelCall& product,
                   bool unpacks) {
    const bool scaled = is_block_scaled(product);
    if (unpacks && !scaled) {
        return engine.unpacked_expert_peak;
    }
    const double of_engine = scaled ? engine.scaled_expert_peak : engine.expert_peak;
    const double known = scaled ? kernels.scaled_expert_products : kernels.expert_products;
    return of_engine > 0 && known > 0 ? known : of_engine;
}

Time least_tile_time(const ServingEngine& engine,
                     const ServingPlan& plan,
                     const KernelCall& prompts,
                     const DeviceSpec& device) {
    if (engine.attention_tile_rows == 0) {
        return {};
    }
    const double of_byte = 2.0 * static_cast<double>(engine.attention_tile_rows) /
                           static_cast<double>(size_bytes(plan.key_value_precision));
    return Time::seconds(prompts.flop / (of_byte * kCachePerSm * device.num_sms));
}

bool reads_paged_cache(std::string_view scheduler, const AttentionShape& prompts) {
    const BatchingRules* rules = find_batching_rules(scheduler);
    return rules == nullptr || rules->chunks_prompts || prompts.seq_kv > prompts.seq_q;
}

double uneven_blocks(const AttentionShape& prompts, std::int64_t num_sms) {
    const auto blocks_of = [&](std::int64_t queries) {
        return static_cast<double>(prompts.batch * prompts.heads *
                                   ((prompts.seq_q + queries - 1) / queries));
    };
    constexpr std::int64_t kQueries = 64;
    constexpr std::int64_t kQueriesOfCurves = 128;  // which know of SMs without a block
    const auto sms = static_cast<double>(std::max<std::int64_t>(num_sms, 1));
    const double blocks = std::max(blocks_of(kQueries), 1.0);
    const double uneven = std::ceil(blocks / sms) * sms / blocks;
    const double known = sms / std::clamp(blocks_of(kQueriesOfCurves), 1.0, sms);
    const auto rows = static_cast<double>(std::max<std::int64_t>(prompts.seq_q, 1));
    const double cached = static_cast<double>(prompts.seq_kv) - rows;
    const double of_beginning = cached / (cached + (rows + 1) / 2);
    return 1 + of_beginning * (std::max(uneven / known, 1.0) - 1);
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
