// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/layer_cases.h"

#include <fmt/format.h>

#include <memory>

#include "engine/rate_alone.h"
#include "kernels/cost_model.h"
#include "kernels/csv_rows.h"
#include "kernels/gemm/grouped_gemm.h"
#include "network/exchange.h"
#include "network/nccl_network.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/csv_header.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/validate/collective_cases.h"
#include "scenarios/studies/validate/moe_layer.h"

namespace orrery {
namespace {

const std::vector<std::string> kLayerColumns = {"case",
                                                "family",
                                                "gpu",
                                                "kernel",
                                                "pass",
                                                "dtype",
                                                "m",
                                                "n",
                                                "k",
                                                "time_us",
                                                "groups",
                                                "num_experts",
                                                "moe_router_topk",
                                                "expert_model_parallel_size",
                                                "dispatcher"};

LayerCase layer_case_of(const CsvRow& row, Errors& errors) {
    const auto count = [&](std::size_t column, bool needed) {
        const std::string& text = row.fields[column];
        if (text.empty() && !needed) {
            return std::int64_t{1};
        }
        const auto value = parse_integer(text);
        if (!value || *value < 1 || *value > 1'000'000'000) {
            errors.push_back(
                {row.where,
                 fmt::format("{} can't be '{}'", kLayerColumns[column], text.substr(0, 40)),
                 "a whole number above zero"});
            return std::int64_t{1};
        }
        return *value;
    };
    LayerCase c{.name = row.fields[0],
                .family = row.fields[1],
                .gpu = row.fields[2],
                .kernel = row.fields[3],
                .pass = row.fields[4],
                .dtype = row.fields[5],
                .m = count(6, true),
                .n = count(7, true),
                .k = count(8, true),
                .groups = count(10, false),
                .experts = count(11, false),
                .topk = count(12, false),
                .expert_parallel = count(13, false),
                .dispatcher = row.fields[14],
                .where = row.where};
    const auto time = parse_number(row.fields[9]);
    if (!time || *time <= 0) {
        errors.push_back({row.where, "time_us must be a number above zero", ""});
    }
    c.time_us = time.value_or(1);
    if (c.experts % c.expert_parallel != 0 || c.m % c.groups != 0) {
        errors.push_back({row.where, "groups and ranks must divide rows and experts", ""});
        c.experts = c.expert_parallel = c.groups = 1;
    }
    return c;
}

// A row's server, its prices and its network.
struct LayerBench {
    Scenario scenario;
    CostModel costs;
    std::unique_ptr<NcclNetwork> network;
};

Result<LayerBench> bench_of(const LayerCase& row,
                            const EfficiencyTable& table,
                            const std::filesystem::path& catalogue) {
    auto scenario = scenario_of(CollectiveCase{.collective = "all_to_all",
                                               .gpu = row.gpu,
                                               .num_gpus = 1,
                                               .num_nodes = 1,
                                               .fabric = "",
                                               .bytes = Bytes{1},
                                               .measured_us = 1,
                                               .source = "",
                                               .where = row.where},
                                catalogue);
    if (!scenario) {
        return unexpected<Error>(scenario.error());
    }
    auto fabric = build_fabric(scenario->cluster);
    if (!fabric) {
        return unexpected<Error>(fabric.error());
    }
    auto network = std::make_unique<NcclNetwork>(std::move(*fabric), nccl_options(*scenario));
    CostModel costs(scenario->device, table);
    return LayerBench{std::move(*scenario), std::move(costs), std::move(network)};
}

double microseconds_of(const CostModel& costs, const std::vector<KernelCall>& calls) {
    double us = 0;
    for (const KernelCall& call : calls) {
        us += costs.time(call).duration.microseconds();
    }
    return us;
}

// Dispatch and combine of BF16 rows, and the host's wait for the counts in a forward pass: the lead
// of its launches is gone then.
double exchanges_us(const MoeLayer& layer,
                    const RoutedRows& rows,
                    const LayerBench& bench,
                    bool forward) {
    std::vector<RankId> members;
    for (std::uint32_t rank = 0; rank < rows.ranks; ++rank) {
        members.push_back(to_id<RankId>(rank));
    }
    double us = forward && layer.dispatcher->host_sync ? kEagerLaunch_us : 0.0;
    for (const bool combine : {false, true}) {
        const Exchange exchange{.dispatcher = layer.dispatcher,
                                .combine = combine,
                                .rows = rows,
                                .row = Bytes{layer.hidden * size_bytes(layer.compute)}};
        const TransferPlan plan = bench.network->plan_exchange(exchange, members);
        us += time_without_contention(plan, bench.network->links()).microseconds();
    }
    return us;
}

Result<double> layer_us(const LayerCase& row, const LayerBench& bench) {
    const bool fp8 = row.dtype == "fp8";
    MoeLayer layer{.tokens = row.m,
                   .hidden = row.k,
                   .width = row.n,
                   .experts = row.experts,
                   .topk = row.topk,
                   .ranks = row.expert_parallel,
                   .compute = row.dtype == "fp32"   ? Dtype::fp32
                              : row.dtype == "fp16" ? Dtype::fp16
                                                    : Dtype::bf16,
                   .block_fp8 = fp8};
    if (row.dispatcher.empty() || row.dispatcher == "none") {
        layer.dispatcher = find_dispatcher("alltoall");
        return microseconds_of(bench.costs, tutel_step(layer));
    }
    layer.dispatcher = find_dispatcher(row.dispatcher);
    if (layer.dispatcher == nullptr) {
        return fail(row.where, fmt::format("no dispatcher is '{}'", row.dispatcher));
    }
    const RoutedRows rows = expected_rows({.ranks = static_cast<std::uint32_t>(row.expert_parallel),
                                           .servers = 1,
                                           .experts = static_cast<std::uint32_t>(row.experts),
                                           .choices = static_cast<std::uint32_t>(row.topk),
                                           .tokens = static_cast<double>(row.m)});
    for (std::size_t from = 0; from < rows.ranks; ++from) {
        layer.distinct += rows.distinct[from * rows.ranks];
    }
    const bool forward = row.pass == "forward";
    return microseconds_of(bench.costs,
                           forward ? megatron_forward(layer) : megatron_backward(layer)) +
           exchanges_us(layer, rows, bench, forward);
}

Result<TimedRow> validate_layer(const LayerCase& row,
                                const EfficiencyTable& table,
                                const std::filesystem::path& catalogue) {
    const auto bench = bench_of(row, table, catalogue);
    if (!bench) {
        return unexpected<Error>(bench.error());
    }
    TimedRow timed{.name = row.name, .family = row.family, .measured_us = row.time_us};
    if (row.kernel == "moe_layer") {
        const auto us = layer_us(row, *bench);
        if (!us) {
            return unexpected<Error>(us.error());
        }
        timed.predicted_us = *us;
        timed.as = row.dispatcher;
        return timed;
    }
    if (!row.kernel.ends_with("gemm_fp8_block")) {
        return fail(row.where, fmt::format("kernel '{}' is not known", row.kernel));
    }
    const KernelCall call =
        grouped_gemm(row.groups, row.m / row.groups, row.n, row.k, Dtype::fp8, Dtype::bf16, true);
    timed.predicted_us = bench->costs.time(call).duration.microseconds();
    timed.as = fmt::format("{} x {} x {} x {}", row.groups, row.m / row.groups, row.n, row.k);
    return timed;
}

}  // namespace

bool is_layer_table(const std::string& file) {
    const std::string line = csv_header(file);
    return line.starts_with("case,family,gpu,kernel,") &&
           line.find(",expert_model_parallel_size,") != std::string::npos;
}

ResultOrErrors<std::vector<LayerCase>> read_layer_cases(const std::string& file) {
    return read_cases<LayerCase>(file, kLayerColumns, layer_case_of);
}

Result<TimedValidation> validate_layers(const std::vector<LayerCase>& cases,
                                        const std::filesystem::path& catalogue) {
    const auto table = read_efficiency_table((catalogue / "kernel_efficiency.csv").string());
    if (!table) {
        return unexpected<Error>(table.error().front());
    }
    TimedValidation validation;
    for (const LayerCase& row : cases) {
        Result<TimedRow> timed = validate_layer(row, *table, catalogue);
        if (timed) {
            validation.rows.push_back(std::move(*timed));
        } else {
            validation.skipped.push_back({row.name, row.family, timed.error().what});
        }
    }
    summarise(validation);
    return validation;
}

}  // namespace orrery
