// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_kinds.h"

#include <fmt/format.h>

#include <utility>

#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/read/topology_keys.h"
#include "scenarios/format/specs/network_words.h"

namespace orrery {
namespace {

constexpr std::int64_t kNodesOfKindMax = 1'000'000;
constexpr const char* kKindExample =
    "{nodes: 4, node: dgx-h100}, with nic_class, nics_per_node and nic_bandwidth where they differ";

constexpr Key kKindRows[] = {
    key<&NodeKind::num_nodes>("nodes", "Number of nodes of the kind.")
        .range(1, kNodesOfKindMax)
        .of("nodes")
        .required(),
    entry("node", "nodes", kNodeKeys, "A node of the kind.").required(),
    choice<kNicClasses, &NodeKind::nic_class>(
        "nic_class", "What the adapters speak: RDMA reaches adapters of the same class.")
        .by("that of all nodes"),
    key<&NodeKind::nics_per_node>("nics_per_node", "NICs of a node.")
        .range(1, 1024)
        .by("the fabric's"),
    key<&NodeKind::nic_bandwidth>("nic_bandwidth", "Line rate of a NIC and direction.")
        .above_zero("400 Gbps")
        .by("the fabric's"),
};

void read_kind(DocumentNode& item,
               const std::string& path,
               NodeKind& kind,
               DeviceSpec& device,
               const NodeSources& sources) {
    if (!item.is_map()) {
        sources.errors.push_back(
            {item.where(), path + " must be a map, not " + item.describe(), kKindExample});
        return;
    }
    MapReader reader{item, path, sources.errors};
    const auto topology = read_node_of(item, path + ".node", kind.node, device, sources);
    if (topology && topology->nics_per_node > 0) {
        kind.nics_per_node = topology->nics_per_node;
        kind.nic_bandwidth = topology->nic_bandwidth;
    }
    read_keys(reader, kKindKeys, kind);
    const bool rdma = kind.nic_class != NicClass::ethernet;
    for (const char* key : {"nics_per_node", "nic_bandwidth"}) {
        if (!rdma && item.find(key) != nullptr) {
            reader.refuse(key,
                          "nodes of nic_class ethernet have the adapter of cluster.ethernet",
                          "cluster.ethernet.nic_bandwidth changes it");
        }
    }
    reader.finish();
}

}  // namespace

const KeyTable<NodeKind> kKindKeys = key_table<NodeKind>("kind", kKindRows);

// Replaces the catalogue name under `key` by its entry. Null on an error.
const DocumentNode* resolved(DocumentNode& parent,
                             std::string_view key,
                             std::string_view section,
                             const std::string& path,
                             const Catalogue& catalogue,
                             Errors& errors) {
    DocumentNode* value = parent.find(key);
    if (value == nullptr) {
        return nullptr;
    }
    DocumentNode map = catalogue.resolve(*value, section, path, errors);
    if (!map.is_map()) {
        return nullptr;
    }
    *value = std::move(map);
    return value;
}

std::optional<NcclTopology> read_node_of(DocumentNode& parent,
                                         const std::string& path,
                                         NodeSpec& node,
                                         DeviceSpec& device,
                                         const NodeSources& sources) {
    Errors& errors = sources.errors;
    DocumentNode* map = parent.find("node");
    if (map == nullptr ||
        resolved(parent, "node", "nodes", path, sources.catalogue, errors) == nullptr) {
        return std::nullopt;
    }
    auto topology = fill_from_nccl_topology(*map, sources.folder, errors);
    const DocumentNode* named = map->find("device");
    node.device = named != nullptr && named->is_scalar() ? named->text : "";
    const std::string of_device = path + ".device";
    if (const auto* found =
            resolved(*map, "device", "devices", of_device, sources.catalogue, errors)) {
        read_device(*found, of_device, device, errors);
        node.device = device.name.empty() ? "inline" : device.name;
    }
    read_node(*map, path, node, errors);
    const std::uint32_t sharing = std::max(1U, node.gpus_per_node / std::max(1U, node.trays));
    device.host_memory_bandwidth = Bandwidth::bits_per_second(
        node.host_memory_bandwidth.bits_per_second() / std::int64_t{sharing});
    return topology;
}

std::vector<DeviceSpec> read_kinds(DocumentNode& section,
                                   MapReader& reader,
                                   ClusterSpec& cluster,
                                   const NodeSources& sources) {
    for (const char* key : {"nodes", "node"}) {
        if (section.find(key) != nullptr) {
            reader.refuse(key, "cluster.kinds lists the nodes", "leave one of them out");
        }
    }
    DocumentNode& list = *section.find("kinds");
    if (!list.is_sequence() || list.items.empty()) {
        const std::string found = list.is_sequence() ? "an empty list" : list.describe();
        sources.errors.push_back(
            {list.where(), "cluster.kinds must be a list of nodes, not " + found, kKindExample});
        return {};
    }
    std::vector<DeviceSpec> devices(list.items.size());
    cluster.kinds.assign(list.items.size(), {});
    cluster.num_nodes = 0;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
        const std::string path = fmt::format("cluster.kinds[{}]", i);
        read_kind(list.items[i], path, cluster.kinds[i], devices[i], sources);
        cluster.num_nodes += cluster.kinds[i].num_nodes;
    }
    cluster.node = cluster.kinds.front().node;
    return devices;
}

}  // namespace orrery
