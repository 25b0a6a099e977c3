// SPDX-License-Identifier: Apache-2.0
// The cluster section: nodes, node and fabric.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "network/fabric/fabric.h"
#include "network/fabric/node_order.h"
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/old_keys.h"
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

// Places consecutive servers under different leaf sets, as a scheduler without knowledge of the
// network may: the opposite of MegaScale's placement, in which consecutive numbers share a leaf
// set.
void place_across_leaf_sets(ClusterSpec& cluster) {
    const std::uint32_t per_set =
        std::max(1U, cluster.fabric.nodes_per_leaf_set / cluster.node.trays);
    std::vector<std::uint32_t> order;
    for (std::uint32_t first = 0; first < per_set; ++first) {
        for (std::uint32_t node = first; node < cluster.num_nodes; node += per_set) {
            order.push_back(node);
        }
    }
    cluster.gpu_of_rank = gpus_of_nodes(order, cluster.node.gpus_per_node);
}

// cluster.node_order: the order in which ranks take the nodes.
void read_node_order(const DocumentNode& section,
                     MapReader& reader,
                     NodePlacement placement,
                     ClusterSpec& cluster) {
    std::vector<std::int64_t> order;
    const IntegerRange& range = row_of(kClusterKeys, "node_order").integers;
    if (!reader.integers("node_order", order, range) || section.find("node_order") == nullptr) {
        return;
    }
    if (placement != NodePlacement::packed) {
        reader.complain("node_order", "placement says already how ranks take nodes", "one of both");
        return;
    }
    if (!cluster.kinds.empty()) {
        reader.complain("node_order",
                        "nodes of several kinds are taken in the order of the kinds",
                        "list the kinds in another order");
        return;
    }
    std::vector<std::int64_t> sorted = order;
    std::ranges::sort(sorted);
    std::vector<std::int64_t> all(cluster.num_nodes);
    std::iota(all.begin(), all.end(), 0);
    if (sorted != all) {
        reader.complain(
            "node_order",
            fmt::format("cluster.node_order must name each of the {} nodes once", all.size()),
            fmt::format("the numbers from 0 to {}, in any order", all.size() - 1));
        return;
    }
    cluster.gpu_of_rank = gpus_of_nodes(std::vector<std::uint32_t>(order.begin(), order.end()),
                                        cluster.node.gpus_per_node);
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

// The NICs of a node's trays also count for the fabric, because entries of the catalogue count the
// NICs of a server of eight GPUs. A number in the scenario itself must agree.
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

void read_slow_nodes(const DocumentNode& section, MapReader& reader, ClusterSpec& cluster) {
    double factor = 1;
    reader.real("slow_node_factor", factor, 1, 11);
    // The written decimal minus 1: 0.1 for 1.1.
    cluster.slow_node_slowdown = std::round((factor - 1) * 1e12) / 1e12;
    if (cluster.slow_node_share > 0 && section.find("slow_node_factor") == nullptr) {
        reader.complain("slow_node_share",
                        "slow nodes without slow_node_factor are as fast as the others",
                        "slow_node_factor: 1.1");
    }
}

// cluster.gpus: the job leaves a part of its last node empty.
void read_job_size(MapReader& reader, ClusterSpec& cluster) {
    const std::uint32_t per_node = cluster.node.gpus_per_node;
    std::uint32_t gpus = 0;
    if (!reader.integer("gpus", gpus, row_of(kClusterKeys, "gpus").integers)) {
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
    // A scheduler gives whole trays to a job, but not always whole servers.
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
        // For every placement the job leaves out the end of the last node.
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

// Checks that the requested switches can be built.
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

constexpr Key kNodeRows[] = {
    key<&NodeSpec::name>("name", "What reports call the node.").by("the entry's name"),
    plain("nccl_topology",
          KeyShape::path,
          "File of NCCL_TOPO_DUMP_FILE that the other keys' defaults come from."),
    entry("device", "devices", kDeviceKeys, "GPU of the node.").required(),
    key<&NodeSpec::gpus_per_node>("gpus_per_node", "GPUs of a node.").range(1, 1024).required(),
    key<&NodeSpec::trays>("trays", "Servers that share one NVLink domain, which is the node.")
        .range(1, 1024),
    key<&NodeSpec::nics_per_tray>("nics_per_tray", "NICs of a tray.")
        .range(1, 1024)
        .by("the fabric's"),
    choice<kIntraNodeKinds, &NodeSpec::intra_node>("intra_node", "Links between the node's GPUs.")
        .required(),
    key<&NodeSpec::nvlink_bandwidth>("nvlink_bandwidth", "NVLink bandwidth of a GPU and direction.")
        .by("required with NVLink"),
    key<&NodeSpec::nvlink_efficiency>("nvlink_efficiency", "Usable share of nvlink_bandwidth.")
        .range(0.01, 1),
    key<&NodeSpec::nvls>("nvls", "The NVSwitch reduces (NVLink SHARP)."),
    key<&NodeSpec::pcie_bandwidth>("pcie_bandwidth", "PCIe bandwidth of a GPU and direction.")
        .required(),
    key<&NodeSpec::pcie_efficiency>("pcie_efficiency", "Usable share of pcie_bandwidth.")
        .range(0.01, 1),
    key<&NodeSpec::nvlink_latency>("nvlink_latency", "Latency of one NVLink."),
    key<&NodeSpec::pcie_latency>("pcie_latency",
                                 "Latency of the link from GPU or NIC to the host."),
    key<&NodeSpec::num_sockets>("num_sockets", "CPU sockets.").range(1, 2),
    key<&NodeSpec::socket_bandwidth>(
        "socket_bandwidth", "Bandwidth between the sockets and direction; 0 Gbps: no limit."),
    key<&NodeSpec::c2c_bandwidth>(
        "c2c_bandwidth", "Chip-to-chip bandwidth of GPU and CPU; 0 Gbps: copies take PCIe."),
    key<&NodeSpec::host_memory>("host_memory", "Memory of a server."),
    key<&NodeSpec::host_memory_bandwidth>("host_memory_bandwidth",
                                          "Bandwidth of host_memory, reads and writes together."),
    key<&NodeSpec::nvme_drives>("nvme_drives", "NVMe drives of a server.").range(0, 1024),
    key<&NodeSpec::nvme_read_bandwidth>("nvme_read_bandwidth", "Read bandwidth of a drive."),
    key<&NodeSpec::nvme_write_bandwidth>("nvme_write_bandwidth", "Write bandwidth of a drive."),
    key<&NodeSpec::nvme_size>("nvme_size", "Size of a drive; 0 GB: files always fit."),
    key<&NodeSpec::amd_cpu>("amd_cpu", "The CPUs are AMD's: NCCL's tuning differs."),
    key<&NodeSpec::host_speed>("host_speed",
                               "Speed of its hosts beside those of the device's launch_cost.")
        .range(0.01, 100.0),
};

void check_bandwidths(MapReader& reader, NodeSpec& node) {
    const bool links = node.intra_node != IntraNodeKind::pcie && node.gpus_per_node > 1;
    const std::string path = reader.full_name("");
    if (links && reader.good("intra_node") && node.nvlink_bandwidth == Bandwidth{}) {
        reader.errors().push_back(
            {reader.map().where(),
             path.substr(0, path.size() - 1) + " has NVLink but no nvlink_bandwidth",
             "add 'nvlink_bandwidth: 300 GB/s' (per GPU and direction)"});
    }
    if (reader.good("pcie_bandwidth") && node.pcie_bandwidth == Bandwidth{}) {
        reader.errors().push_back({reader.map().where(),
                                   path + "pcie_bandwidth must not be zero",
                                   "add 'pcie_bandwidth: 32 GB/s' (per GPU and direction)"});
    }
}

constexpr Key kFabricRows[] = {
    key<&FabricSpec::name>("name", "What reports call the fabric.").by("the entry's name"),
    choice<kFabricKinds, &FabricSpec::kind>("kind", "Topology.").required(),
    plain("file", KeyShape::path, "kind file: table of the cables: from, to, bandwidth."),
    plain("link_matrix",
          KeyShape::path,
          "kind file, in place of file: what was measured between two nodes: from, to, bandwidth."),
    key<&FabricSpec::nics_per_node>("nics_per_node", "NICs of a node.").range(1, 1024),
    key<&FabricSpec::nic_bandwidth>("nic_bandwidth", "Line rate of a NIC and direction.")
        .above_zero("400 Gbps")
        .by("required but of kind file"),
    key<&FabricSpec::efficiency>("efficiency", "Usable share of every cable.").range(0.01, 1),
    key<&FabricSpec::nic_latency>("nic_latency", "Latency of NIC and host software at each end."),
    key<&FabricSpec::message_latency>(
        "message_latency", "Latency of NCCL's messages, where it is above NCCL's constants."),
    key<&FabricSpec::reported_latency>(
        "reported_latency", "Latency that the network's plugin reports to NCCL, which adds it."),
    key<&FabricSpec::eager_size>("eager_size", "Messages up to it don't take reported_latency."),
    key<&FabricSpec::nvls_tree_chunk>(
        "nvls_tree_chunk", "Largest chunk of NVLSTree that the plugin sets; 0 B: NCCL's.")
        .range(0, 1 << 20),
    plain("nccl_choices",
          KeyShape::path,
          "Table of the algorithms and protocols that the plugin's tuner chooses."),
    key<&FabricSpec::link_latency>("link_latency", "Latency of a cable and the switch at its end."),
    key<&FabricSpec::tiers>("tiers", "Tiers of switches.").range(2, 3),
    key<&FabricSpec::nodes_per_leaf_set>("nodes_per_leaf_set",
                                         "Servers that share one set of leaf switches.")
        .range(1, kNodesMax),
    key<&FabricSpec::multi_rail>("multi_rail",
                                 "NIC i of a server goes to leaf switch i of its set."),
    key<&FabricSpec::uplink_bandwidth>("uplink_bandwidth", "Bandwidth of a leaf switch's uplink.")
        .by("nic_bandwidth"),
    key<&FabricSpec::oversubscription>("oversubscription", "Bandwidth below a leaf / above it.")
        .range(0.01, 1000),
    key<&FabricSpec::uplink_cables>("uplink_cables",
                                    "Cables between a leaf and each switch above it.")
        .range(1, 1024),
    key<&FabricSpec::leaf_sets_per_pod>("leaf_sets_per_pod", "Leaf sets of a pod; 3 tiers.")
        .range(1, kNodesMax),
    key<&FabricSpec::core_bandwidth>("core_bandwidth", "Bandwidth of a spine switch's uplink.")
        .by("uplink_bandwidth"),
    key<&FabricSpec::spine_oversubscription>("spine_oversubscription", "Bandwidth below / above.")
        .range(0.01, 1000),
    key<&FabricSpec::core_cables>("core_cables", "Cables between a spine and each core switch.")
        .range(1, 1024),
    key<&FabricSpec::switch_radix>("switch_radix", "Ports of a switch; 0: any number.")
        .range(0, 100'000),
    choice<kRoutingKinds, &FabricSpec::routing>("routing", "Choice among equal paths."),
    key<&FabricSpec::qps_per_connection>("qps_per_connection", "Queue pairs of a connection.")
        .range(1, 1024),
    key<&FabricSpec::hash_seed>("hash_seed", "Seed of ECMP's hash.").range(0, kLongMost),
    choice<kHashSeeds, &FabricSpec::hash_seeds>(
        "hash_seeds", "Switches hash differently, or all alike (polarisation)."),
};

void check_fabric(MapReader& reader, FabricSpec& fabric) {
    const bool listed = fabric.kind == FabricKind::file;
    const bool measured = listed && reader.has("link_matrix");
    reader.find(listed && !measured ? "file" : "nic_bandwidth", Presence::required);
    if (measured && reader.has("file")) {
        reader.complain("link_matrix",
                        reader.full_name("file") + " says already what joins the nodes",
                        "file or link_matrix");
    }
    for (const char* key : {"nodes_per_leaf_set", "leaf_sets_per_pod", "tiers", "multi_rail"}) {
        if (listed && reader.has(key)) {
            reader.refuse(key, "a fabric of kind file has the switches that its file lists", "");
        }
    }
    check_network_plugin(reader, fabric);
    for (const char* key : {"file", "link_matrix"}) {
        if (!listed && reader.has(key)) {
            reader.complain(key,
                            reader.full_name(key) + " is for kind: file",
                            fmt::format("kind: file, or no {}", key));
        }
    }
}

constexpr Key kClusterRows[] = {
    plain("nodes", KeyShape::integer, "Number of nodes; required without kinds.")
        .range(1, kNodesMax)
        .of("nodes"),
    entry("node", "nodes", kNodeKeys, "A node; required without kinds."),
    nested("kinds", KeyShape::map_list, kKindKeys, "Nodes of several kinds."),
    entry("fabric", "fabrics", kFabricKeys, "Network between the nodes; required with several."),
    entry("ethernet",
          "fabrics",
          kFabricKeys,
          "Network of nodes whose adapters cannot reach each other otherwise."),
    key<&ClusterSpec::slow_node_share>("slow_node_share", "Share of nodes that compute slower.")
        .range(0, 1),
    plain("slow_node_factor", KeyShape::real, "How many times as long a kernel takes there.")
        .range(1, 11)
        .by("1"),
    plain_choice<kPlacements>("placement", "Order in which ranks take nodes.").by("packed"),
    plain("node_order", KeyShape::integer, "Nodes in the order in which ranks take them.")
        .range(0, kNodesMax - 1)
        .or_list()
        .by("their numbers"),
    plain("gpus", KeyShape::integer, "GPUs of the job, which may leave some of the last node out.")
        .range(1, kGpusMax)
        .of("GPUs")
        .by("all"),
};

}  // namespace

const KeyTable<NodeSpec> kNodeKeys = key_table<NodeSpec, check_bandwidths>("node", kNodeRows);
const KeyTable<FabricSpec> kFabricKeys = key_table<FabricSpec, check_fabric>("fabric", kFabricRows);
const KeyTable<ClusterSpec> kClusterKeys = key_table<ClusterSpec>("cluster", kClusterRows);

void read_node(const DocumentNode& map, const std::string& path, NodeSpec& node, Errors& errors) {
    read_map(map, path, kNodeKeys, node, errors);
}

void read_fabric(const DocumentNode& map,
                 const std::string& path,
                 FabricSpec& fabric,
                 Errors& errors) {
    read_map(map, path, kFabricKeys, fabric, errors);
}

namespace {

// Whether there are several nodes and some of them use RDMA. Otherwise a fabric has no effect, and
// is refused if the cluster's nodes are known.
bool needs_fabric(const ClusterSpec& cluster) {
    const bool rdma =
        cluster.kinds.empty() || std::ranges::any_of(cluster.kinds, [](const NodeKind& kind) {
            return kind.nic_class != NicClass::ethernet;
        });
    return cluster.num_nodes > 1 && rdma;
}

// Reads the networks between the nodes.
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
        read_nccl_choices(*map, sources.folder, cluster.fabric, sources.errors);
        if (cluster.fabric.kind == FabricKind::file && sources.errors.size() == errors_before) {
            read_cables(*map, sources.folder, cluster, sources.errors);
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
        read_nccl_choices(*map, sources.folder, cluster.ethernet, sources.errors);
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
    rename_old_keys(section, "cluster");
    const std::size_t errors_before = errors.size();
    const NodeSources sources{catalogue, folder, errors};
    MapReader reader{section, "cluster", errors};
    read_keys(reader, kClusterKeys, cluster);
    std::optional<NcclTopology> topology;
    bool sized = false;
    if (section.find("kinds") != nullptr) {
        devices = read_kinds(section, reader, cluster, sources);
        sized = errors.size() == errors_before;
        device = devices.empty() ? device : devices.front();
    } else {
        const IntegerRange& range = row_of(kClusterKeys, "nodes").integers;
        sized = reader.integer("nodes", cluster.num_nodes, range, Presence::required);
        reader.find("node", Presence::required);
        topology = read_node_of(section, "cluster.node", cluster.node, device, sources);
    }
    // A single server has no network. A wrong number leaves the number of servers unknown.
    const bool mistaken =
        !sized && section.find("kinds") == nullptr && section.find("nodes") != nullptr;
    const bool needed = !mistaken && (!sized || needs_fabric(cluster));
    read_networks(section, reader, topology, needed, cluster, sources);
    NodePlacement placement = NodePlacement::packed;
    reader.choice("placement", placement, kPlacements);
    read_slow_nodes(section, reader, cluster);
    reader.finish();
    check_size(section, cluster, errors);
    if (errors.size() == errors_before) {
        check_fits(section, cluster, errors);
    }
    if (placement == NodePlacement::across_leaf_sets && errors.size() == errors_before) {
        place_across_leaf_sets(cluster);
    }
    if (errors.size() == errors_before) {
        read_node_order(section, reader, placement, cluster);
    }
    if (errors.size() == errors_before) {
        read_job_size(reader, cluster);
    }
    return devices;
}

}  // namespace orrery
