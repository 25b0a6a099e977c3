// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/operations/layer_cases.h"

#include <fmt/format.h>

#include <memory>

#include "engine/world/rate_alone.h"
#include "kernels/cost_model.h"
#include "kernels/gemm/grouped_gemm.h"
#include "network/exchange.h"
#include "network/nccl_network.h"
#include "scenarios/format/document/csv_header.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/validate/case_fields.h"
#include "scenarios/studies/validate/operations/collective_cases.h"
#include "scenarios/studies/validate/operations/moe_layer.h"

namespace orrery {
namespace {

const CaseColumns kLayerColumns{
    "case,family,gpu,kernel,pass,dtype,m,n,k,time_us,groups,num_experts,moe_router_topk,"
    "expert_model_parallel_size,dispatcher"};

LayerCase layer_case_of(CaseFields& fields) {
    LayerCase c{.name = fields.text("case"),
                .family = fields.text("family"),
                .gpu = fields.text("gpu"),
                .kernel = fields.text("kernel"),
                .pass = fields.text("pass"),
                .dtype = fields.text("dtype"),
                .m = fields.count("m"),
                .n = fields.count("n"),
                .k = fields.count("k"),
                .groups = fields.count_or("groups", 1),
                .experts = fields.count_or("num_experts", 1),
                .topk = fields.count_or("moe_router_topk", 1),
                .expert_parallel = fields.count_or("expert_model_parallel_size", 1),
                .dispatcher = fields.text("dispatcher"),
                .time_us = fields.positive("time_us"),
                .where = fields.where()};
    if (c.experts % c.expert_parallel != 0 || c.m % c.groups != 0) {
        fields.complain_of_row("groups and ranks must divide rows and experts");
        c.experts = c.expert_parallel = c.groups = 1;
    }
    return c;
}

// Server, kernel costs and network of a row.
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

// Time of dispatch and combine of BF16 rows. In a forward pass the host waits for the counts, so
// the next launch is no longer hidden.
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
    return read_cases(file, kLayerColumns, layer_case_of);
}

Result<TimedValidation> validate_layers(const std::vector<LayerCase>& cases,
                                        const std::filesystem::path& catalogue) {
    const auto table = read_efficiency_table((catalogue / "kernel_efficiency.csv").string());
    if (!table) {
        return unexpected<Error>(table.error().front());
    }
    return validate_timed(
        cases, [&](const LayerCase& row) { return validate_layer(row, *table, catalogue); });
}

}  // namespace orrery
