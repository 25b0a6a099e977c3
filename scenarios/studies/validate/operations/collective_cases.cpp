// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/operations/collective_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "engine/base/statistics.h"
#include "scenarios/format/document/csv_header.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/network/network_study.h"
#include "scenarios/studies/validate/case_fields.h"
#include "scenarios/studies/validate/published_servers.h"

namespace orrery {
namespace {

constexpr std::int64_t kSmall = 1 << 20;

const CaseColumns kCollectiveColumns{
    "collective,gpu,num_gpus,num_nodes,fabric,size_bytes,time_us,busbw_GBps,source"};

CollectiveCase collective_case_of(CaseFields& fields) {
    CollectiveCase c{.collective = fields.text("collective"),
                     .gpu = fields.text("gpu"),
                     .num_gpus = static_cast<std::uint32_t>(fields.count("num_gpus", 1'000'000)),
                     .num_nodes = static_cast<std::uint32_t>(fields.count("num_nodes", 1'000'000)),
                     .fabric = fields.text("fabric"),
                     .bytes = Bytes{fields.count("size_bytes", std::int64_t{1} << 50)},
                     .measured_us = fields.positive("time_us"),
                     .source = fields.text("source"),
                     .where = fields.where()};
    if (c.num_gpus % c.num_nodes != 0) {
        fields.complain_of_row("num_nodes does not divide num_gpus");
    }
    return c;
}

struct Word {
    std::string_view word;
    std::string_view name;  // catalogue entry, with changed keys
};
// Fabric by the word after '+'. A few servers always fit under one set of leaves. Some fabrics
// differ from a catalogue entry only in their adapters.
constexpr Word kFabrics[] = {
    {"ib-hdr200", "dgx-superpod-hdr200"},
    {"ib-ndr400", "ndr400-rail"},
    {"ib-xdr800", "{base: ndr400-rail, nic_bandwidth: 800 Gbps, uplink_bandwidth: 800 Gbps}"},
    {"eth400-roce", "eth400-clos"},
    {"eth400", "eth400-clos"},
    {"eth200", "eth200-clos"},
    {"eth16x200", "{base: eth400-clos, nics_per_node: 16, nic_bandwidth: 200 Gbps}"},
    {"eth16x100", "{base: eth200-clos, nics_per_node: 16, nic_bandwidth: 100 Gbps}"},
    {"tcpxo-8x200", "eth200-clos"},  // modelled as RDMA
    {"slingshot-2x200", "{base: eth200-clos, nics_per_node: 2}"},
    {"efa-400", "efa-400"},
    {"efa-32x100", "efa-400"},
    {"efa-p6", "efa-400-p6"}};

std::string_view known(std::span<const Word> words, std::string_view word) {
    const auto found = std::find_if(
        words.begin(), words.end(), [&](const Word& each) { return each.word == word; });
    return found == words.end() ? std::string_view{} : found->name;
}

// The measured servers of RTX 4090 have EPYC hosts. NCCL assumes 16 GB/s between two EPYC sockets
// (src/graph/topo.h).
std::string keys_of_host(const CollectiveCase& row) {
    return row.gpu == "rtx4090" ? ", amd_cpu: true, socket_bandwidth: 16 GB/s" : "";
}

// The cluster's nodes have as many GPUs as the row used of each.
std::string gpus_of_node(const CollectiveCase& row) {
    constexpr std::uint32_t kGpusOfTray = 4;
    const std::uint32_t gpus = row.num_gpus / row.num_nodes;
    std::string text = fmt::format(", gpus_per_node: {}", gpus);
    if (row.gpu.ends_with("-nvl72")) {
        text += fmt::format(", trays: {}", std::max(1U, gpus / kGpusOfTray));
    }
    return text;
}

bool timed_call_by_call(const CollectiveCase& row) {
    return row.source.find("torch") != std::string::npos;
}

CollectiveFamily summary(std::string name, const std::vector<const ValidatedCollective*>& rows) {
    std::vector<double> small;
    std::vector<double> large;
    for (const ValidatedCollective* row : rows) {
        (row->of.bytes.count() < kSmall ? small : large).push_back(std::abs(row->error()));
    }
    return {.name = std::move(name),
            .rows_small = small.size(),
            .rows_large = large.size(),
            .median_small = median(small),
            .median_large = median(large),
            .max_large = large.empty() ? 0 : *std::max_element(large.begin(), large.end())};
}

Result<void> validate_family(const std::vector<const CollectiveCase*>& rows,
                             const std::filesystem::path& catalogue,
                             CollectiveValidation& validation) {
    const CollectiveCase& first = *rows.front();
    const auto scenario = scenario_of(first, catalogue);
    if (!scenario) {
        return unexpected<Error>(scenario.error());
    }
    NetworkRequest request{.pattern = first.collective, .sizes = {}, .ranks = first.num_gpus};
    for (const CollectiveCase* row : rows) {
        request.sizes.push_back(row->bytes);
    }
    NetworkTrace none;
    const auto answer = study_network(*scenario, request, none);
    if (!answer) {
        return unexpected<Error>(answer.error());
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const NetworkRow& predicted = answer->rows[i];
        validation.rows.push_back({.of = *rows[i],
                                   .predicted_us = predicted.time.microseconds(),
                                   .algorithm = predicted.algorithm,
                                   .protocol = predicted.protocol});
    }
    return {};
}

// Adds the host's launch time to the rows of each table that timed call by call. The time comes
// from the other such tables (leave one out).
void add_launches(CollectiveValidation& validation) {
    std::vector<std::pair<std::string, double>> beyond;
    for (const ValidatedCollective& row : validation.rows) {
        const bool small = row.of.num_nodes == 1 && row.of.bytes.count() < kSmall;
        if (timed_call_by_call(row.of) && small) {
            beyond.emplace_back(row.of.family(), row.of.measured_us - row.predicted_us);
        }
    }
    for (ValidatedCollective& row : validation.rows) {
        if (!timed_call_by_call(row.of)) {
            continue;
        }
        std::vector<double> others;
        for (const auto& [family, us] : beyond) {
            if (family != row.of.family()) {
                others.push_back(us);
            }
        }
        row.launch_us = others.empty() ? kEagerLaunch_us : std::max(0.0, median(others));
        row.predicted_us += row.launch_us;
    }
}

void summarise_collectives(CollectiveValidation& validation) {
    std::vector<std::string> names;
    std::map<std::string, std::vector<const ValidatedCollective*>> by_family;
    std::vector<const ValidatedCollective*> all;
    for (const ValidatedCollective& row : validation.rows) {
        auto& family = by_family[row.of.family()];
        if (family.empty()) {
            names.push_back(row.of.family());
        }
        family.push_back(&row);
        all.push_back(&row);
    }
    for (const std::string& name : names) {
        validation.families.push_back(summary(name, by_family[name]));
    }
    validation.all = summary("all", all);
}

}  // namespace

std::string CollectiveCase::family() const {
    return fmt::format(
        "{} {} {}x{} {}", collective, gpu, num_nodes, num_gpus / std::max(1U, num_nodes), fabric);
}

bool is_collective_table(const std::string& file) {
    const std::string line = csv_header(file);
    return line.starts_with("collective,");
}

ResultOrErrors<std::vector<CollectiveCase>> read_collective_cases(const std::string& file) {
    return read_cases(file, kCollectiveColumns, collective_case_of);
}

Result<Scenario> scenario_of(const CollectiveCase& row, const std::filesystem::path& catalogue) {
    const Result<PublishedServer> server = server_of_gpu(row.gpu, catalogue);
    if (!server) {
        return fail(row.where, server.error().what, server.error().hint);
    }
    const std::size_t plus = row.fabric.find('+');
    std::string fabric;
    if (row.num_nodes > 1) {
        const std::string_view word =
            plus == std::string::npos ? row.fabric : std::string_view{row.fabric}.substr(plus + 1);
        const std::string_view name = known(kFabrics, word);
        if (name.empty()) {
            return fail(row.where, fmt::format("its network is '{}'", word));
        }
        fabric = fmt::format(", fabric: {}", name);
    }
    const bool ring = row.fabric.find("-ring") != std::string::npos;
    const std::string text = fmt::format("cluster: {{nodes: {}, node: {{base: {}{}{}}}{}}}\n",
                                         row.num_nodes,
                                         server->node + keys_of_host(row),
                                         row.num_nodes > 1 ? gpus_of_node(row) : "",
                                         ring ? ", nvls: false" : "",
                                         fabric);
    auto scenario =
        read_scenario_text(text, row.where, ".", {.catalogue = catalogue, .network_only = true});
    if (!scenario) {
        return unexpected<Error>(scenario.error().front());
    }
    return std::move(*scenario);
}

Result<CollectiveValidation> validate_collectives(const std::vector<CollectiveCase>& cases,
                                                  const std::filesystem::path& catalogue) {
    std::vector<std::pair<std::string, std::vector<const CollectiveCase*>>> families;
    for (const CollectiveCase& row : cases) {
        const auto known_family =
            std::find_if(families.begin(), families.end(), [&](const auto& f) {
                return f.first == row.family();
            });
        if (known_family == families.end()) {
            families.push_back({row.family(), {&row}});
        } else {
            known_family->second.push_back(&row);
        }
    }
    CollectiveValidation validation;
    for (const auto& [name, rows] : families) {
        if (const auto done = validate_family(rows, catalogue, validation); !done) {
            validation.skipped.push_back({name, done.error().what});
        }
    }
    add_launches(validation);
    summarise_collectives(validation);
    return validation;
}

}  // namespace orrery
