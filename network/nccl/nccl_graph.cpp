// SPDX-License-Identifier: Apache-2.0
#include "network/nccl/nccl_graph.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "engine/base/check.h"

namespace orrery {
namespace {

constexpr std::uint32_t kMaxChannels = 64;
constexpr std::uint32_t kMaxSearchChannels = kMaxChannels / 2;

// GB/s of one channel, in the order of the search.
constexpr double kIntraSm90[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr double kInterSm90[] = {
    48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12};
constexpr double kIntraSm100[] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18};
constexpr double kInterSm100[] = {
    96, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12};
constexpr double kIntraOlder[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr double kInterOlder[] = {
    48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24, .12};

std::span<const double> speeds_to_try(std::uint32_t compute_capability, bool network) {
    if (compute_capability >= 100) {
        return network ? std::span<const double>(kInterSm100)
                       : std::span<const double>(kIntraSm100);
    }
    if (compute_capability >= 90) {
        return network ? std::span<const double>(kInterSm90) : std::span<const double>(kIntraSm90);
    }
    return network ? std::span<const double>(kInterOlder) : std::span<const double>(kIntraOlder);
}

// The limits for channels of some speed.
struct Room {
    double lane = 0;          // most GB/s of one channel inside the node
    std::uint32_t lanes = 1;  // number of parallel lanes
    double nic = 0;           // GB/s of one NIC; 0: no network
    std::uint32_t nics = 0;
    double total = 0;  // the search may stop at this sum

    std::uint32_t channels(double speed) const {
        constexpr double kRounding = 1e-9;
        std::uint32_t n = kMaxSearchChannels;
        if (lanes > 0) {
            n = std::min(n, lanes * static_cast<std::uint32_t>(lane / speed + kRounding));
        }
        if (nics > 0) {
            n = std::min(n, nics * static_cast<std::uint32_t>(nic / speed + kRounding));
        }
        return n;
    }
};

struct Found {
    std::uint32_t channels = 0;
    double speed = 0;
};

// Devices without a compute capability are AMD's GPUs.
bool is_rccl(std::uint32_t compute_capability) {
    return compute_capability == 0;
}

// Tries speeds from the fastest down, and stops well below the first that fits.
Found search(std::span<const double> speeds, const Room& room) {
    constexpr double kLeastRatio = 0.49;
    Found best;
    for (const double speed : speeds) {
        if (best.channels > 0 && speed <= kLeastRatio * best.speed) {
            break;
        }
        const std::uint32_t channels = room.channels(speed);
        if (channels * speed > best.channels * best.speed) {
            best = {channels, speed};
        }
        if (best.channels > 0 && best.channels * best.speed >= room.total) {
            break;
        }
    }
    if (best.channels == 0) {
        // Slower than the slowest speed of the list: NCCL drops its requirements and uses the
        // available bandwidth.
        const double slowest = std::max(room.nics > 0 ? room.nic : room.lane, 1e-3);
        best = {1, slowest};
    }
    return best;
}

// Two channels with half the bandwidth each use more SMs.
Found duplicated(Found found, std::uint32_t compute_capability) {
    const bool already_many = compute_capability > 80 && found.speed < 50 && found.channels > 4;
    if (found.speed < 25 || already_many) {
        return found;
    }
    const std::uint32_t twice = std::min(2 * found.channels, kMaxSearchChannels);
    const std::uint32_t parts = (twice + found.channels - 1) / found.channels;
    return {twice, found.speed / parts};
}

// A tree's bandwidth inside the node may exceed that of the network.
double raised_intra(std::span<const double> speeds, const Room& room, Found found) {
    double best = found.speed;
    for (const double speed : speeds) {
        const Room inside{.lane = room.lane, .lanes = room.lanes};
        if (speed > best && inside.channels(speed) >= found.channels) {
            best = speed;
        }
    }
    return best;
}

Room room_of(const NodeSpec& node,
             const FabricSpec& fabric,
             std::uint32_t compute_capability,
             const NcclGroupShape& shape) {
    const double intra = nccl_intra_bandwidth(node, compute_capability);
    Room room{.lane = intra, .lanes = 1, .total = intra};
    if (node.intra_node == IntraNodeKind::nvlink_mesh && shape.gpus_per_node > 1) {
        room.lane = intra / std::max(1u, node.gpus_per_node - 1);
        room.lanes = num_mesh_rings(shape.gpus_per_node);
        room.total = room.lane * room.lanes;
    }
    if (shape.num_nodes > 1) {
        room.nic = fabric.nic_bandwidth.gigabytes_per_second();
        room.nics = shape.nics_per_node;
        if (shape.gpus_per_node == 1) {
            room.lanes = 0;  // there is no other GPU inside the node
            room.total = room.nic * room.nics;
        }
    }
    return room;
}

NcclPath type_intra(const NodeSpec& node, const NcclGroupShape& shape) {
    if (shape.gpus_per_node == 1) {
        return NcclPath::loc;
    }
    return node.intra_node == IntraNodeKind::pcie ? NcclPath::phb : NcclPath::nvl;
}

// A channel leaves by the NIC through which it entered. The last GPU reaches that NIC over the
// first one (PXN) or, on the boards of that time, over a common PCIe switch (PXB).
NcclPath type_inter(const NodeSpec& node, std::uint32_t cc, const NcclGroupShape& shape) {
    if (shape.num_nodes > 1 && shape.tcp) {
        return NcclPath::phb;  // the host's adapter, without GPUDirect
    }
    if (shape.num_nodes == 1 || shape.gpus_per_node == 1) {
        return NcclPath::pix;
    }
    if (node.intra_node == IntraNodeKind::pcie) {
        return NcclPath::phb;
    }
    return cc >= 90 ? NcclPath::pxn : NcclPath::pxb;
}

void add_nvls(const NodeSpec& node, const NcclGroupShape& shape, NcclCommunicator& c) {
    constexpr std::uint32_t kLeastGpus = 3;
    c.nvswitch = node.intra_node == IntraNodeKind::nvswitch && node.nvls &&
                 c.compute_capability >= 90 && shape.gpus_per_node >= kLeastGpus;
    if (!c.nvswitch) {
        return;
    }
    const bool one_node = shape.num_nodes == 1;
    c.nvls_channels = c.compute_capability < 100 ? 16 : one_node ? 24 : 32;
    const NcclGraph ring = c.graph(NcclAlgorithm::ring);
    if (one_node) {
        // The same bytes a second as the rings, over all heads: derived for 8 GPUs of sm90, where
        // only the product of channels and bandwidth matters.
        NcclGraph nvls = ring;
        nvls.channels = 16;
        nvls.bw_intra = nvls.bw_inter = ring.channels * ring.bw_intra / nvls.channels;
        c.graph(NcclAlgorithm::nvls) = nvls;
    } else {
        c.graph(NcclAlgorithm::nvls_tree) = ring;
    }
}

}  // namespace

double nccl_intra_bandwidth(const NodeSpec& node, std::uint32_t compute_capability) {
    if (node.intra_node == IntraNodeKind::pcie) {
        // NCCL counts 12 GB/s for 16 lanes of 8 GT/s; Intel hosts forward between GPUs at 5/6 of
        // it.
        const double pcie = 0.75 * node.pcie_bandwidth.gigabytes_per_second();
        return node.amd_cpu ? pcie : pcie / 1.2;
    }
    if (is_rccl(compute_capability)) {
        return 0.75 * node.nvlink_bandwidth.gigabytes_per_second();  // 48 of 64 (RCCL, topo.h)
    }
    // NCCL's value for one link in GB/s: 18.0 of 20, 20.0 of 25, 20.6 of 25, 40.1 of 50.
    const double share = compute_capability >= 100  ? 40.1 / 50
                         : compute_capability >= 90 ? 20.6 / 25
                         : compute_capability >= 70 ? 20.0 / 25
                                                    : 18.0 / 20;
    return share * node.nvlink_bandwidth.gigabytes_per_second();
}

// The rings of eight GPUs use all links, like the fourteen in RCCL's list
// (src/graph/rome_models.cc: each link twice). Other sizes use both directions of Walecki's cycles.
std::uint32_t num_mesh_rings(std::uint32_t gpus) {
    return gpus == 8 ? 7 : gpus <= 2 ? 1 : 2 * ((gpus - 1) / 2);
}

NcclCommunicator search_nccl_graphs(const NodeSpec& node,
                                    const FabricSpec& fabric,
                                    std::uint32_t compute_capability,
                                    const NcclGroupShape& shape) {
    ORRERY_CHECK(shape.num_nodes >= 1 && shape.num_ranks >= shape.num_nodes);
    ORRERY_CHECK(shape.gpus_per_node >= 1 && shape.nics_per_node >= 1);
    NcclCommunicator c{.compute_capability = compute_capability,
                       .num_nodes = shape.num_nodes,
                       .num_ranks = shape.num_ranks,
                       .cpu = node.amd_cpu ? NcclCpu::amd : NcclCpu::intel,
                       .message_us = fabric.message_latency.microseconds(),
                       .eager_bytes = fabric.eager_size.count(),
                       .nvls_tree_chunk = fabric.nvls_tree_chunk.count(),
                       .choices = fabric.nccl_choices};
    const bool network = shape.num_nodes > 1;
    const auto speeds = speeds_to_try(compute_capability, network);
    const Room room = room_of(node, fabric, compute_capability, shape);
    // RCCL lists the rings of a mesh and counts the rate of all links for them (parseGraph).
    const bool listed = is_rccl(compute_capability) && room.lanes > 1 && !network;
    const Found once = listed ? Found{room.lanes, room.lane} : search(speeds, room);
    const Found found = duplicated(once, compute_capability);

    NcclGraph ring{.channels = found.channels,
                   .bw_intra = found.speed,
                   .bw_inter = found.speed,
                   .type_intra = type_intra(node, shape),
                   .type_inter = type_inter(node, compute_capability, shape),
                   .latency_inter = network ? fabric.reported_latency.microseconds() : 0.0};
    // Channels that enter by different NICs begin at different GPUs: the search relaxes
    // sameChannels first.
    ring.same_channels = !network || shape.nics_per_node == 1 || shape.gpus_per_node == 1;
    c.graph(NcclAlgorithm::ring) = ring;
    NcclGraph tree = ring;
    if (network && shape.gpus_per_node > 1) {
        tree.bw_intra = raised_intra(speeds, room, found);
    }
    c.graph(NcclAlgorithm::tree) = tree;
    if (network && shape.num_nodes == shape.num_ranks) {
        c.graph(NcclAlgorithm::pat) = ring;
    }

    c.channels = 2 * found.channels;
    if (compute_capability >= 90 && network && ring.bw_intra > 45 && c.channels < 16) {
        c.channels *= 2;
    }
    c.channels = std::min(c.channels, kMaxChannels);
    add_nvls(node, shape, c);
    return c;
}

NcclCommunicator common_graphs(const NcclCommunicator& a, const NcclCommunicator& b) {
    NcclCommunicator c = a;
    c.compute_capability = std::min(a.compute_capability, b.compute_capability);
    c.ll128 = a.ll128 && b.ll128 && a.compute_capability == b.compute_capability;
    // AMD hosts have the larger overhead per message.
    c.cpu = b.cpu == NcclCpu::amd ? b.cpu : a.cpu;
    c.channels = std::min(a.channels, b.channels);
    c.nvls_channels = std::min(a.nvls_channels, b.nvls_channels);
    c.nvswitch = a.nvswitch && b.nvswitch;
    c.message_us = std::max(a.message_us, b.message_us);
    c.eager_bytes = std::min(a.eager_bytes, b.eager_bytes);
    for (std::size_t i = 0; i < c.graphs.size(); ++i) {
        const NcclGraph& other = b.graphs[i];
        NcclGraph& graph = c.graphs[i];
        graph.channels = std::min(graph.channels, other.channels);
        graph.bw_intra = std::min(graph.bw_intra, other.bw_intra);
        graph.bw_inter = std::min(graph.bw_inter, other.bw_inter);
        graph.type_intra = std::max(graph.type_intra, other.type_intra);
        graph.type_inter = std::max(graph.type_inter, other.type_inter);
        graph.latency_inter = std::max(graph.latency_inter, other.latency_inter);
        graph.same_channels = graph.same_channels && other.same_channels;
    }
    return c;
}

}  // namespace orrery
