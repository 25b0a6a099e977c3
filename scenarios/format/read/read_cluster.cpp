// SPDX-License-Identifier: Apache-2.0
// The cluster section: nodes, node and fabric. Their keys are the fields of NodeSpec and FabricSpec
// (network/cluster_spec.h) under their own names.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "network/fabric.h"
#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/read/read_kinds.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/read/topology_keys.h"
#include "scenarios/format/specs/network_words.h"

namespace orrery {
namespace {

constexpr std::int64_t kNodesMax = 1'000'000;
constexpr std::int64_t kGpusMax = 4'000'000;

constexpr Choice<IntraNodeKind> kIntraNodeKinds[] = {
    {"nvswitch", IntraNodeKind::nvswitch},
    {"nvlink_mesh", IntraNodeKind::nvlink_mesh},
    {"pcie", IntraNodeKind::pcie},
};
constexpr Choice<HashSeeds> kHashSeeds[] = {
    {"per_switch", HashSeeds::per_switch},
    {"one", HashSeeds::one},
};

enum class NodePlacement : std::uint8_t { packed, across_leaf_sets };
constexpr Choice<NodePlacement> kPlacements[] = {
    {"packed", NodePlacement::packed},
    {"across_leaf_sets", NodePlacement::across_leaf_sets},
};

// Consecutive servers of ranks under different leaf sets, as a scheduler that knows nothing of the
// network may place them: the opposite of MegaScale's placement, which is that of the numbers.
void place_across_leaf_sets(ClusterSpec& cluster) {
    const std::uint32_t per_set =
        std::max(1U, cluster.fabric.nodes_per_leaf_set / cluster.node.trays);
    for (std::uint32_t first = 0; first < per_set; ++first) {
        for (std::uint32_t node = first; node < cluster.num_nodes; node += per_set) {
            for (std::uint32_t gpu = 0; gpu < cluster.node.gpus_per_node; ++gpu) {
                cluster.gpu_of_rank.push_back(node * cluster.node.gpus_per_node + gpu);
            }
        }
    }
}

void check_bandwidths(const DocumentNode& map,
                      const std::string& path,
                      const NodeSpec& node,
                      Errors& errors) {
    const bool pcie = node.intra_node == IntraNodeKind::pcie;
    if (!pcie && node.gpus_per_node > 1 && node.nvlink_bandwidth.bits_per_second() == 0) {
        errors.push_back({map.where(),
                          path + " has NVLink but no nvlink_bandwidth",
                          "add 'nvlink_bandwidth: 300 GB/s' (per GPU and direction)"});
    }
    if (node.pcie_bandwidth.bits_per_second() == 0) {
        errors.push_back({map.where(),
                          path + ".pcie_bandwidth must not be zero",
                          "add 'pcie_bandwidth: 32 GB/s' (per GPU and direction)"});
    }
}

DocumentNode number_at(const DocumentNode& place, std::uint32_t number) {
    DocumentNode scalar = place;
    scalar.kind = DocumentNode::Kind::scalar;
    scalar.is_string = false;
    scalar.text = fmt::format("{}", number);
    scalar.keys.clear();
    scalar.items.clear();
    return scalar;
}

// A node that says how many NICs its trays have says it for the fabric, too: entries of the
// catalogue count those of a server of eight GPUs. A number in the scenario itself must agree.
void count_nics_of_trays(DocumentNode& section, ClusterSpec& cluster, Errors& errors) {
    const NodeSpec& node = cluster.node;
    if (node.nics_per_tray == 0) {
        return;
    }
    const std::uint32_t nics = node.trays * node.nics_per_tray;
    DocumentNode* fabric = section.find("fabric");
    if (fabric != nullptr && fabric->is_map()) {
        const DocumentNode* given = fabric->find("nics_per_node");
        const bool own = given != nullptr && (given->line == 0 || given->source == section.source);
        if (own && given->text != fmt::format("{}", nics)) {
            errors.push_back(
                {given->where(),
                 fmt::format("cluster.fabric.nics_per_node is {}, but {} of {} NICs have {}",
                             given->text,
                             node.trays == 1 ? "1 tray" : fmt::format("{} trays", node.trays),
                             node.nics_per_tray,
                             nics),
                 "leave it out; cluster.node.nics_per_tray changes it"});
        }
        DocumentNode key = number_at(*fabric, 0);
        key.text = "nics_per_node";
        fabric->set(std::move(key), number_at(*fabric, nics));
    }
    cluster.fabric.nics_per_node = nics;
}

// cluster.gpus: a job that leaves a part of its last node empty.
void read_job_size(MapReader& reader, ClusterSpec& cluster) {
    const std::uint32_t per_node = cluster.node.gpus_per_node;
    std::uint32_t gpus = 0;
    if (!reader.integer("gpus", gpus, {1, kGpusMax})) {
        return;
    }
    const std::uint32_t nodes = (gpus + per_node - 1) / per_node;
    if (nodes != cluster.num_nodes) {
        const std::string all =
            cluster.num_nodes == 1 ? "1 node" : fmt::format("{} nodes", cluster.num_nodes);
        reader.complain(
            "gpus",
            nodes > cluster.num_nodes
                ? fmt::format("cluster.gpus is {}: too many for {} of {} GPUs", gpus, all, per_node)
                : fmt::format("cluster.gpus is {}: {} of {} GPUs are more than it needs",
                              gpus,
                              all,
                              per_node),
            fmt::format("cluster.nodes: {}", nodes));
        return;
    }
    // A tray is what a scheduler gives to a job, as GPUs of a server are not always.
    const std::uint32_t per_tray = cluster.gpus_per_server();
    if (cluster.node.trays > 1 && gpus % per_tray != 0) {
        const std::uint32_t less = gpus / per_tray * per_tray;
        reader.complain("gpus",
                        fmt::format("cluster.gpus is {}: not whole trays of {}", gpus, per_tray),
                        less == 0 ? fmt::format("{}", per_tray)
                                  : fmt::format("{} or {}", less, less + per_tray));
        return;
    }
    if (cluster.gpu_of_rank.empty()) {
        cluster.use_gpus(gpus);
    } else {
        // However placed, the job leaves out the end of the last node.
        std::erase_if(cluster.gpu_of_rank, [&](std::uint32_t gpu) { return gpu >= gpus; });
    }
}

void check_size(const DocumentNode& section, const ClusterSpec& cluster, Errors& errors) {
    const std::int64_t gpus = std::int64_t{cluster.num_nodes} * cluster.node.gpus_per_node;
    if (gpus > kGpusMax) {
        errors.push_back({where_of_path(section, "nodes"),
                          fmt::format("{} GPUs are more than a simulation can hold", gpus),
                          fmt::format("at most {}", kGpusMax)});
    }
}

// Whether the switches that the numbers ask for can be built.
void check_fits(const DocumentNode& section, const ClusterSpec& cluster, Errors& errors) {
    constexpr std::string_view kSection = "cluster.";
    if (const auto checked = check_cluster(cluster); !checked) {
        Error error = checked.error();
        const std::string key =
            error.where.starts_with(kSection) ? error.where.substr(kSection.size()) : "";
        error.where = where_of_path(section, key);
        errors.push_back(std::move(error));
    }
}

}  // namespace

void read_node(const DocumentNode& map, const std::string& path, NodeSpec& node, Errors& errors) {
    const std::size_t errors_before = errors.size();
    MapReader reader{map, path, errors};
    reader.word("name", node.name);
    reader.find("nccl_topology");  // scenarios/format/read/topology_keys.h
    reader.find("device", Presence::required);
    reader.integer("gpus_per_node", node.gpus_per_node, {1, 1024}, Presence::required);
    reader.integer("trays", node.trays, {1, 1024});
    reader.integer("nics_per_tray", node.nics_per_tray, {1, 1024});
    reader.choice("intra_node", node.intra_node, kIntraNodeKinds, Presence::required);
    reader.quantity("nvlink_bandwidth", node.nvlink_bandwidth);
    reader.real("nvlink_efficiency", node.nvlink_efficiency, 0.01, 1);
    reader.boolean("nvls", node.nvls);
    reader.quantity("pcie_bandwidth", node.pcie_bandwidth, Presence::required);
    reader.real("pcie_efficiency", node.pcie_efficiency, 0.01, 1);
    reader.quantity("nvlink_latency", node.nvlink_latency);
    reader.quantity("pcie_latency", node.pcie_latency);
    reader.integer("num_sockets", node.num_sockets, {1, 2});
    reader.quantity("socket_bandwidth", node.socket_bandwidth);
    reader.quantity("c2c_bandwidth", node.c2c_bandwidth);
    reader.quantity("host_memory", node.host_memory);
    reader.quantity("host_memory_bandwidth", node.host_memory_bandwidth);
    reader.integer("nvme_drives", node.nvme_drives, {0, 1024});
    reader.quantity("nvme_read_bandwidth", node.nvme_read_bandwidth);
    reader.quantity("nvme_write_bandwidth", node.nvme_write_bandwidth);
    reader.boolean("amd_cpu", node.amd_cpu);
    reader.finish();
    if (errors.size() == errors_before) {
        check_bandwidths(map, path, node, errors);
    }
}

void read_fabric(const DocumentNode& map,
                 const std::string& path,
                 FabricSpec& fabric,
                 Errors& errors) {
    MapReader reader{map, path, errors};
    reader.word("name", fabric.name);
    reader.choice("kind", fabric.kind, kFabricKinds, Presence::required);
    const bool listed = fabric.kind == FabricKind::file;
    reader.find("file", listed ? Presence::required : Presence::optional);
    for (const char* key : {"nodes_per_leaf_set", "leaf_sets_per_pod", "tiers", "multi_rail"}) {
        if (listed && map.find(key) != nullptr) {
            reader.refuse(key, "a fabric of kind file has the switches that its file lists", "");
        }
    }
    if (!listed && map.find("file") != nullptr) {
        reader.complain("file", path + ".file is for kind: file", "kind: file, or no file");
    }
    reader.integer("nics_per_node", fabric.nics_per_node, {1, 1024});
    const Presence nic = listed ? Presence::optional : Presence::required;
    if (reader.quantity("nic_bandwidth", fabric.nic_bandwidth, nic) &&
        fabric.nic_bandwidth.bits_per_second() == 0) {
        reader.complain("nic_bandwidth", path + ".nic_bandwidth must not be zero");
    }
    reader.real("efficiency", fabric.efficiency, 0.01, 1);
    reader.quantity("nic_latency", fabric.nic_latency);
    reader.quantity("message_latency", fabric.message_latency);
    reader.quantity("link_latency", fabric.link_latency);
    reader.integer("tiers", fabric.tiers, {2, 3});
    reader.integer("nodes_per_leaf_set", fabric.nodes_per_leaf_set, {1, kNodesMax});
    reader.boolean("multi_rail", fabric.multi_rail);
    reader.quantity("uplink_bandwidth", fabric.uplink_bandwidth);
    reader.real("oversubscription", fabric.oversubscription, 0.01, 1000);
    reader.integer("uplink_cables", fabric.uplink_cables, {1, 1024});
    reader.integer("leaf_sets_per_pod", fabric.leaf_sets_per_pod, {1, kNodesMax});
    reader.quantity("core_bandwidth", fabric.core_bandwidth);
    reader.real("spine_oversubscription", fabric.spine_oversubscription, 0.01, 1000);
    reader.integer("core_cables", fabric.core_cables, {1, 1024});
    reader.integer("switch_radix", fabric.switch_radix, {0, 100'000});
    reader.choice("routing", fabric.routing, kRoutingKinds);
    reader.integer("qps_per_connection", fabric.qps_per_connection, {1, 1024});
    std::int64_t seed = 0;
    if (reader.integer("hash_seed", seed, {0, std::numeric_limits<std::int64_t>::max()})) {
        fabric.hash_seed = static_cast<std::uint64_t>(seed);
    }
    reader.choice("hash_seeds", fabric.hash_seeds, kHashSeeds);
    reader.finish();
}

namespace {

// Whether there is another node to talk to, and some node speaks RDMA. Without that a fabric says
// nothing, and is refused if the cluster's nodes are known.
bool needs_fabric(const ClusterSpec& cluster) {
    const bool rdma =
        cluster.kinds.empty() || std::ranges::any_of(cluster.kinds, [](const NodeKind& kind) {
            return kind.nic_class != NicClass::ethernet;
        });
    return cluster.num_nodes > 1 && rdma;
}

// The networks between the nodes.
void read_networks(DocumentNode& section,
                   MapReader& reader,
                   const std::optional<NcclTopology>& topology,
                   bool needed,
                   ClusterSpec& cluster,
                   const NodeSources& sources) {
    const std::size_t errors_before = sources.errors.size();
    reader.find("fabric", needed ? Presence::required : Presence::optional);
    if (!needed && cluster.num_nodes > 1 && section.find("fabric") != nullptr) {
        reader.complain("fabric",
                        "all nodes are of nic_class ethernet: nothing goes over a fabric",
                        "leave it out");
    }
    if (const auto* map = resolved(
            section, "fabric", "fabrics", "cluster.fabric", sources.catalogue, sources.errors)) {
        if (topology) {
            fill_fabric_from(*topology, *section.find("node"), *section.find("fabric"));
        }
        count_nics_of_trays(section, cluster, sources.errors);
        read_fabric(*map, "cluster.fabric", cluster.fabric, sources.errors);
        const DocumentNode* file = map->find("file");
        if (cluster.fabric.kind == FabricKind::file && file != nullptr &&
            sources.errors.size() == errors_before) {
            read_cables(*file, sources.folder, cluster, sources.errors);
        }
    } else if (!needed) {
        cluster.fabric.name = "none";
        cluster.fabric.kind = FabricKind::single_switch;
        cluster.fabric.nic_bandwidth = Bandwidth::bits_per_second(100'000'000'000);
        count_nics_of_trays(section, cluster, sources.errors);
    }
    reader.find("ethernet");
    if (cluster.kinds.empty() && section.find("ethernet") != nullptr) {
        reader.complain("ethernet",
                        "only kinds of nodes with a nic_class use it",
                        "leave it out, or list the nodes under cluster.kinds");
    } else if (const auto* map = resolved(section,
                                          "ethernet",
                                          "fabrics",
                                          "cluster.ethernet",
                                          sources.catalogue,
                                          sources.errors)) {
        read_fabric(*map, "cluster.ethernet", cluster.ethernet, sources.errors);
    }
}

}  // namespace

std::vector<DeviceSpec> read_cluster(DocumentNode& section,
                                     const Catalogue& catalogue,
                                     const std::filesystem::path& folder,
                                     ClusterSpec& cluster,
                                     DeviceSpec& device,
                                     Errors& errors) {
    std::vector<DeviceSpec> devices;
    if (!section.is_map()) {
        errors.push_back({section.where(), "cluster must be a map, not " + section.describe(), {}});
        return devices;
    }
    const std::size_t errors_before = errors.size();
    const NodeSources sources{catalogue, folder, errors};
    MapReader reader{section, "cluster", errors};
    std::optional<NcclTopology> topology;
    bool sized = false;
    if (section.find("kinds") != nullptr) {
        devices = read_kinds(section, reader, cluster, sources);
        sized = errors.size() == errors_before;
        device = devices.empty() ? device : devices.front();
    } else {
        sized = reader.integer("nodes", cluster.num_nodes, {1, kNodesMax}, Presence::required);
        reader.find("node", Presence::required);
        topology = read_node_of(section, "cluster.node", cluster.node, device, sources);
    }
    reader.find("kinds");
    // One server has no other to talk to.
    const bool needed = !sized || needs_fabric(cluster);
    read_networks(section, reader, topology, needed, cluster, sources);
    reader.real("slow_node_share", cluster.slow_node_share, 0, 1);
    reader.real("slow_node_slowdown", cluster.slow_node_slowdown, 0, 10);
    NodePlacement placement = NodePlacement::packed;
    reader.choice("placement", placement, kPlacements);
    reader.find("gpus");
    reader.finish();
    check_size(section, cluster, errors);
    if (errors.size() == errors_before) {
        check_fits(section, cluster, errors);
    }
    if (placement == NodePlacement::across_leaf_sets && errors.size() == errors_before) {
        place_across_leaf_sets(cluster);
    }
    if (errors.size() == errors_before) {
        read_job_size(reader, cluster);
    }
    return devices;
}

}  // namespace orrery
