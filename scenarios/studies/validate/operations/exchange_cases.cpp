// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/operations/exchange_cases.h"

#include <fmt/format.h>

#include "engine/world/rate_alone.h"
#include "kernels/csv_rows.h"
#include "kernels/efficiency_table.h"
#include "network/exchange.h"
#include "network/nccl_network.h"
#include "scenarios/format/document/csv_header.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/validate/case_fields.h"
#include "scenarios/studies/validate/operations/collective_cases.h"

namespace orrery {
namespace {

// Size of the "large messages" on a slide that gives no sizes.
constexpr std::int64_t kLargeMessage = std::int64_t{4} << 30;

const CaseColumns kExchangeColumns{
    "case,family,collective,implementation,gpu,num_gpus,num_nodes,fabric,tokens_per_gpu,hidden_"
    "size,"
    "moe_router_topk,num_experts,router,dtype,sms,bandwidth_GBps,bandwidth_kind,time_us,notes"};

std::uint32_t server_limit_of(const std::string& router) {
    const std::size_t colon = router.find(':');
    const auto limit = colon == std::string::npos
                           ? std::nullopt
                           : parse_integer(std::string_view{router}.substr(colon + 1));
    return limit && *limit > 0 ? static_cast<std::uint32_t>(*limit) : 0;
}

ExchangeCase exchange_case_of(CaseFields& fields) {
    const auto small = [&](std::string_view column) {
        return static_cast<std::uint32_t>(fields.count_or(column, 0));
    };
    const auto stated = [&](std::string_view column) {
        return fields.text(column).empty() ? 0 : fields.positive(column);
    };
    ExchangeCase c{.name = fields.text("case"),
                   .family = fields.text("family"),
                   .collective = fields.text("collective"),
                   .implementation = fields.text("implementation"),
                   .gpu = fields.text("gpu"),
                   .num_gpus = small("num_gpus"),
                   .num_nodes = small("num_nodes"),
                   .fabric = fields.text("fabric"),
                   .tokens = fields.count_or("tokens_per_gpu", 0),
                   .hidden_size = fields.count_or("hidden_size", 0),
                   .topk = small("moe_router_topk"),
                   .num_experts = small("num_experts"),
                   .server_limit = server_limit_of(fields.text("router")),
                   .fp8 = fields.text("dtype") == "fp8",
                   .sms = small("sms"),
                   .bandwidth = stated("bandwidth_GBps"),
                   .bandwidth_kind = fields.text("bandwidth_kind"),
                   .time_us = stated("time_us"),
                   .kernel_only = fields.text("notes").starts_with("kernel only"),
                   .where = fields.where()};
    if (c.num_gpus < 2 || c.num_nodes == 0 || c.num_gpus % c.num_nodes != 0) {
        fields.complain_of_row("num_nodes does not divide num_gpus");
        c.num_gpus = c.num_nodes = 2;
    }
    const bool of_tokens = c.collective.starts_with("ep_");
    if (of_tokens && (c.tokens == 0 || c.hidden_size == 0 || c.topk == 0 || c.num_experts == 0 ||
                      c.num_experts % c.num_gpus != 0 || c.topk > c.num_experts)) {
        fields.complain_of_row("a dispatch needs tokens, hidden size, choices and experts",
                               "num_gpus divides num_experts");
    }
    if (c.bandwidth == 0 && c.time_us == 0) {
        fields.complain_of_row("neither bandwidth_GBps nor time_us");
    }
    return c;
}

// Servers of the group in the network: an NVLink domain counts as one.
std::uint32_t servers_of(const ExchangeCase& row) {
    return row.fabric == "nvl72" ? 1 : row.num_nodes;
}

RoutedRows rows_of(const ExchangeCase& row) {
    return expected_rows({.ranks = row.num_gpus,
                          .servers = servers_of(row),
                          .experts = row.num_experts,
                          .choices = row.topk,
                          .server_limit = row.server_limit,
                          .tokens = static_cast<double>(row.tokens)});
}

double sum_of_row(const std::vector<double>& matrix, std::size_t columns) {
    double sum = 0;
    for (std::size_t i = 0; i < columns; ++i) {
        sum += matrix[i];
    }
    return sum;
}

Result<std::string> dispatcher_of(const ExchangeCase& row) {
    const std::string& by = row.implementation;
    if (by.starts_with("deepep")) {
        return std::string{by.find("low-latency") != std::string::npos ? "deepep_low_latency"
                                                                       : "deepep"};
    }
    if (find_dispatcher(by) != nullptr) {
        return by;
    }
    return fail(row.where, fmt::format("no dispatcher is '{}'", by));
}

// Memory bandwidth that kernels of the device reach, in GB/s: the rate of a copy of rows.
Result<double> memory_bandwidth(const Scenario& scenario, const std::filesystem::path& catalogue) {
    const auto table = read_efficiency_table((catalogue / "kernel_efficiency.csv").string());
    if (!table) {
        return unexpected<Error>(table.error().front());
    }
    return scenario.device.memory_bandwidth.gigabytes_per_second() *
           table->value_or("memory.fraction", scenario.device.generation, "*", 1);
}

Result<Scenario> cluster_of_case(const ExchangeCase& row, const std::filesystem::path& catalogue) {
    const std::uint32_t nodes = servers_of(row);
    return scenario_of(CollectiveCase{.collective = row.collective,
                                      .gpu = row.fabric == "nvl72" ? row.gpu + "-nvl72" : row.gpu,
                                      .num_gpus = row.num_gpus,
                                      .num_nodes = nodes,
                                      .fabric = row.fabric,
                                      .bytes = Bytes{1},
                                      .measured_us = 1,
                                      .source = "",
                                      .where = row.where},
                       catalogue);
}

Result<TimedRow> validate_exchange(const ExchangeCase& row,
                                   const std::filesystem::path& catalogue) {
    const auto measured = measured_us(row);
    const auto scenario = cluster_of_case(row, catalogue);
    if (!measured || !scenario) {
        return unexpected<Error>(!measured ? measured.error() : scenario.error());
    }
    auto fabric = build_fabric(scenario->cluster);
    if (!fabric) {
        return unexpected<Error>(fabric.error());
    }
    const NcclNetwork network(std::move(*fabric), nccl_options(*scenario));
    std::vector<RankId> members;
    for (std::uint32_t rank = 0; rank < row.num_gpus; ++rank) {
        members.push_back(to_id<RankId>(rank));
    }
    TimedRow timed{.name = row.name, .family = row.family, .measured_us = *measured};
    if (row.collective == "all_to_all") {
        CollectiveCall call;
        call.kind = CollectiveKind::all_to_all;
        call.bytes = Bytes{kLargeMessage};
        const TransferPlan plan = network.plan(call, members);
        timed.predicted_us = time_without_contention(plan, network.links()).microseconds();
        timed.as = fmt::format("{} {}, {} SMs", plan.algorithm, plan.protocol, plan.sms);
        return timed;
    }
    const auto dispatcher = dispatcher_of(row);
    const auto memory = memory_bandwidth(*scenario, catalogue);
    if (!dispatcher || !memory) {
        return unexpected<Error>(!dispatcher ? dispatcher.error() : memory.error());
    }
    const Exchange exchange{.dispatcher = find_dispatcher(*dispatcher),
                            .combine = row.collective == "ep_combine",
                            .rows = rows_of(row),
                            .row = Bytes{row_bytes(row)},
                            .sm_limit = row.sms};
    const TransferPlan plan = network.plan_exchange(exchange, members);
    timed.predicted_us = time_without_contention(plan, network.links()).microseconds();
    timed.as = fmt::format("{}, {} SMs", plan.algorithm, plan.sms);
    if (!row.kernel_only) {
        const Dispatcher& by = *exchange.dispatcher;
        timed.predicted_us +=
            kEagerLaunch_us * (exchange.combine ? by.combine_calls : by.dispatch_calls);
        const double rows = sum_of_row(exchange.rows.distinct, row.num_gpus);
        timed.predicted_us +=
            by.copies_out ? 2 * rows * static_cast<double>(row_bytes(row)) / *memory * 1e-3 : 0.0;
    }
    return timed;
}

}  // namespace

bool is_exchange_table(const std::string& file) {
    const std::string line = csv_header(file);
    return line.starts_with("case,family,collective,implementation,");
}

ResultOrErrors<std::vector<ExchangeCase>> read_exchange_cases(const std::string& file) {
    return read_cases(file, kExchangeColumns, exchange_case_of);
}

std::int64_t row_bytes(const ExchangeCase& row) {
    return row.fp8 ? row.hidden_size + row.hidden_size / 128 * 4 : row.hidden_size * 2;
}

Result<double> measured_us(const ExchangeCase& row) {
    if (row.time_us > 0) {
        return row.time_us;
    }
    const double n = row.num_gpus;
    const double us_of_bytes = 1e-3 / row.bandwidth;
    if (row.bandwidth_kind == "busbw") {
        return static_cast<double>(kLargeMessage) * (n - 1) / n * us_of_bytes;
    }
    const RoutedRows rows = rows_of(row);
    const double bytes = static_cast<double>(row_bytes(row));
    if (row.bandwidth_kind == "algorithm") {
        return sum_of_row(rows.distinct, row.num_gpus) * bytes * us_of_bytes;
    }
    if (row.bandwidth_kind == "nvlink") {
        return sum_of_row(rows.distinct, row.num_gpus) * (n - 1) / n * bytes * us_of_bytes;
    }
    if (row.bandwidth_kind == "rdma-logical") {
        return sum_of_row(rows.crossing, servers_of(row)) * bytes * us_of_bytes;
    }
    return fail(row.where, fmt::format("bandwidth_kind is '{}'", row.bandwidth_kind));
}

Result<TimedValidation> validate_exchanges(const std::vector<ExchangeCase>& cases,
                                           const std::filesystem::path& catalogue) {
    return validate_timed(
        cases, [&](const ExchangeCase& row) { return validate_exchange(row, catalogue); });
}

}  // namespace orrery
