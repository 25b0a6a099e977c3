// SPDX-License-Identifier: Apache-2.0
// cluster.fabric of kind file: a table of cables, one per row, in a file relative to the file that
// names it, or inline. Columns
//   from, to     "node 3 nic 0", or any other name: a switch
//   bandwidth    400 Gbps, per direction
//   latency      500 ns; without the column: the fabric's link_latency
//   cables       number of parallel cables; without the column: 1
// Or cluster.fabric.link_matrix: measurements between two nodes, one pair per row. Columns
//   from, to     numbers of the nodes; a pair may have both directions
//   bandwidth    that a program gets over all NICs of the two together
//   latency      without the column: the fabric's link_latency
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "kernels/csv_rows.h"
#include "network/fabric/cable_list.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/fabric_table.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

constexpr std::int64_t kParallelMax = 1'024;
constexpr std::size_t kCablesMax = 4'000'000;
constexpr std::uint32_t kMatrixNodesMax = 2'000;  // two million pairs

struct RowLink {
    Bandwidth bandwidth;
    Time latency;
};

// Bandwidth and latency: the third and fourth field. Invalid ones are errors.
std::optional<RowLink> link_of(const CsvRow& row, Time latency, Errors& errors) {
    const auto bandwidth = parse_bandwidth(row.fields[2]);
    if (!bandwidth) {
        errors.push_back({row.where, "bandwidth: " + bandwidth.error().what, "400 Gbps"});
        return std::nullopt;
    }
    if (row.fields[3].empty()) {
        return RowLink{*bandwidth, latency};
    }
    const auto own = parse_time(row.fields[3]);
    if (!own) {
        errors.push_back({row.where, "latency: " + own.error().what, "500 ns"});
        return std::nullopt;
    }
    return RowLink{*bandwidth, *own};
}

// Appends the row's cables. Invalid ones are errors.
void read_row(const CsvRow& row, Time latency, std::vector<NamedCable>& cables, Errors& errors) {
    const std::optional<RowLink> link = link_of(row, latency, errors);
    if (!link) {
        return;
    }
    const auto parallel = parse_integer(row.fields[4]);
    if (!parallel || *parallel < 1 || *parallel > kParallelMax) {
        errors.push_back({row.where,
                          fmt::format("{} parallel cables can't be", row.fields[4]),
                          fmt::format("1 to {}", kParallelMax)});
        return;
    }
    for (std::int64_t i = 0; i < *parallel; ++i) {
        cables.push_back({row.fields[0], row.fields[1], link->bandwidth, link->latency, row.where});
    }
}

void use_cables(const std::vector<NamedCable>& cables,
                const std::string& name,
                ClusterSpec& cluster,
                Errors& errors) {
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

using NodePair = std::pair<std::int64_t, std::int64_t>;  // the smaller number first

struct MeasuredPair {
    RowLink link;
    std::string where;
    bool both = false;  // both directions are listed
    std::int64_t from = 0;
};

// Adds a row to its pair. Of two directions the slower one counts.
void read_pair(const CsvRow& row,
               const ClusterSpec& cluster,
               std::map<NodePair, MeasuredPair>& pairs,
               Errors& errors) {
    const auto from = parse_integer(row.fields[0]);
    const auto to = parse_integer(row.fields[1]);
    const std::int64_t nodes = cluster.num_nodes;
    if (!from || !to || *from < 0 || *to < 0 || *from >= nodes || *to >= nodes || *from == *to) {
        errors.push_back(
            {row.where,
             fmt::format("'{}' and '{}' are no two nodes", row.fields[0], row.fields[1]),
             fmt::format("numbers from 0 to {}", nodes - 1)});
        return;
    }
    const std::optional<RowLink> link = link_of(row, cluster.fabric.link_latency, errors);
    if (!link) {
        return;
    }
    if (link->bandwidth <= Bandwidth{}) {
        errors.push_back({row.where, "a pair's bandwidth must not be zero", "80 Gbps"});
        return;
    }
    const auto [at, added] =
        pairs.try_emplace(NodePair{std::min(*from, *to), std::max(*from, *to)},
                          MeasuredPair{.link = *link, .where = row.where, .from = *from});
    MeasuredPair& known = at->second;
    if (!added && (known.both || known.from == *from)) {
        errors.push_back({row.where,
                          fmt::format("the pair {} to {} is listed already", *from, *to),
                          "each direction of a pair has one row at most"});
        return;
    }
    known.both = !added;
    known.link.bandwidth = std::min(known.link.bandwidth, link->bandwidth);
    known.link.latency = std::max(known.link.latency, link->latency);
}

// A switch for each node, to which its NICs lead, and a cable between each two of these. A program
// gets a link's raw rate times the fabric's efficiency, and a measured rate is what a program got.
std::vector<NamedCable> cables_of(const std::map<NodePair, MeasuredPair>& pairs,
                                  const ClusterSpec& cluster,
                                  const std::string& name) {
    const auto switch_of = [](std::int64_t node) {
        return fmt::format("network of node {}", node);
    };
    std::vector<NamedCable> cables;
    for (std::int64_t node = 0; node < cluster.num_nodes; ++node) {
        for (std::uint32_t nic = 0; nic < cluster.fabric.nics_per_node; ++nic) {
            cables.push_back({fmt::format("node {} nic {}", node, nic),
                              switch_of(node),
                              cluster.fabric.nic_bandwidth,
                              Time{},
                              name});
        }
    }
    for (const auto& [pair, measured] : pairs) {
        const double raw = static_cast<double>(measured.link.bandwidth.bits_per_second()) /
                           cluster.fabric.efficiency;
        cables.push_back({switch_of(pair.first),
                          switch_of(pair.second),
                          Bandwidth::bits_per_second(static_cast<std::int64_t>(raw)),
                          measured.link.latency,
                          measured.where});
    }
    return cables;
}

void read_list(const DocumentNode& file,
               const std::filesystem::path& folder,
               ClusterSpec& cluster,
               Errors& errors) {
    const auto table = open_fabric_table(file,
                                         folder,
                                         "cluster.fabric.file",
                                         {"from", "to", "bandwidth", "latency=", "cables=1"},
                                         errors);
    if (!table) {
        return;
    }
    std::vector<NamedCable> cables;
    const std::size_t errors_before = errors.size();
    for (const CsvRow& row : table->rows) {
        read_row(row, cluster.fabric.link_latency, cables, errors);
        if (cables.size() > kCablesMax) {
            errors.push_back({row.where, "too many cables", fmt::format("at most {}", kCablesMax)});
            break;
        }
    }
    if (errors.size() == errors_before) {
        use_cables(cables, table->name, cluster, errors);
    }
}

void read_matrix(const DocumentNode& file,
                 const std::filesystem::path& folder,
                 ClusterSpec& cluster,
                 Errors& errors) {
    const auto table = open_fabric_table(file,
                                         folder,
                                         "cluster.fabric.link_matrix",
                                         {"from", "to", "bandwidth", "latency="},
                                         errors);
    if (!table) {
        return;
    }
    if (cluster.num_nodes > kMatrixNodesMax) {
        errors.push_back({file.where(),
                          fmt::format("{} nodes are too many for a matrix", cluster.num_nodes),
                          fmt::format("at most {}", kMatrixNodesMax)});
        return;
    }
    std::map<NodePair, MeasuredPair> pairs;
    const std::size_t errors_before = errors.size();
    for (const CsvRow& row : table->rows) {
        read_pair(row, cluster, pairs, errors);
    }
    for (std::int64_t a = 0; a < cluster.num_nodes && errors.size() == errors_before; ++a) {
        for (std::int64_t b = a + 1; b < cluster.num_nodes; ++b) {
            if (!pairs.contains({a, b})) {
                errors.push_back({table->name,
                                  fmt::format("the pair {} to {} has no row", a, b),
                                  "one row for each two nodes"});
                break;
            }
        }
    }
    if (errors.size() == errors_before) {
        use_cables(cables_of(pairs, cluster, table->name), table->name, cluster, errors);
    }
}

}  // namespace

void read_cables(const DocumentNode& fabric,
                 const std::filesystem::path& folder,
                 ClusterSpec& cluster,
                 Errors& errors) {
    if (const DocumentNode* file = fabric.find("file")) {
        read_list(*file, folder, cluster, errors);
    } else if (const DocumentNode* matrix = fabric.find("link_matrix")) {
        read_matrix(*matrix, folder, cluster, errors);
    }
}

}  // namespace orrery
