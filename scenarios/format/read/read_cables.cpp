// SPDX-License-Identifier: Apache-2.0
// cluster.fabric of kind file: a table of cables, one a row, whose place is relative to the file
// that names it, or which stands there itself. Columns
//   from, to     "node 3 nic 0", or any other name: a switch
//   bandwidth    400 Gbps, per direction
//   latency      500 ns; without the column: the fabric's link_latency
//   cables       parallel ones; without the column: 1
#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "kernels/csv_rows.h"
#include "network/cable_list.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/effective_scenario.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

constexpr std::int64_t kParallelMax = 1'024;
constexpr std::size_t kCablesMax = 4'000'000;

// Appends the row's cables; what cannot be is added to the errors.
void read_row(const CsvRow& row, Time latency, std::vector<NamedCable>& cables, Errors& errors) {
    const auto bandwidth = parse_bandwidth(row.fields[2]);
    if (!bandwidth) {
        errors.push_back({row.where, "bandwidth: " + bandwidth.error().what, "400 Gbps"});
        return;
    }
    if (!row.fields[3].empty()) {
        const auto own = parse_time(row.fields[3]);
        if (!own) {
            errors.push_back({row.where, "latency: " + own.error().what, "500 ns"});
            return;
        }
        latency = *own;
    }
    const auto parallel = parse_integer(row.fields[4]);
    if (!parallel || *parallel < 1 || *parallel > kParallelMax) {
        errors.push_back({row.where,
                          fmt::format("{} parallel cables can't be", row.fields[4]),
                          fmt::format("1 to {}", kParallelMax)});
        return;
    }
    for (std::int64_t i = 0; i < *parallel; ++i) {
        cables.push_back({row.fields[0], row.fields[1], *bandwidth, latency, row.where});
    }
}

}  // namespace

void read_cables(const DocumentNode& file,
                 const std::filesystem::path& folder,
                 ClusterSpec& cluster,
                 Errors& errors) {
    if (!file.is_scalar() || file.text.empty()) {
        errors.push_back({file.where(),
                          "cluster.fabric.file must be a file's name",
                          "a table with the columns from, to, bandwidth"});
        return;
    }
    const bool inlined = is_table_text(file.text);
    const std::string name =
        inlined ? "cluster.fabric.file" : (file.folder(folder) / file.text).string();
    const auto text = inlined ? Result<std::string>{file.text} : read_text_file(name);
    if (!text) {
        errors.push_back(
            {file.where(), text.error().where + ": " + text.error().what, text.error().hint});
        return;
    }
    std::istringstream table(*text);
    const auto rows = read_csv(table, name, {"from", "to", "bandwidth", "latency=", "cables=1"});
    if (!rows) {
        errors.insert(errors.end(), rows.error().begin(), rows.error().end());
        return;
    }
    std::vector<NamedCable> cables;
    const std::size_t errors_before = errors.size();
    for (const CsvRow& row : *rows) {
        read_row(row, cluster.fabric.link_latency, cables, errors);
        if (cables.size() > kCablesMax) {
            errors.push_back({row.where, "too many cables", fmt::format("at most {}", kCablesMax)});
            break;
        }
    }
    if (errors.size() > errors_before) {
        return;
    }
    const auto list =
        CableList::make(cables, name, cluster.num_nodes, cluster.fabric.nics_per_node);
    if (!list) {
        errors.insert(errors.end(), list.error().begin(), list.error().end());
        return;
    }
    cluster.fabric.cables = *list;
    if (cluster.fabric.nic_bandwidth == Bandwidth{}) {
        cluster.fabric.nic_bandwidth = (*list)->slowest_nic();
    }
}

}  // namespace orrery
