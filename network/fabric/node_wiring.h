// SPDX-License-Identifier: Apache-2.0
// The inside of a server: NVLink ports to the NVSwitch (or a mesh of NVLinks), one PCIe link per
// GPU and direction, and the links between the sockets. Nodes of a kind are equal: the number of a
// link is its node's first link (network/fabric/node_kinds.h) plus the offset given here. A NIC's
// own PCIe slot is assumed to be at least as fast as its line rate, so that it is no link.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/network_model.h"
#include "network/fabric/cluster_spec.h"
#include "network/fabric/path.h"

namespace orrery {

// The vertices that a link leaves and enters, numbered as in network/fabric/fabric.h.
struct LinkEnds {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    bool operator==(const LinkEnds&) const = default;
};

class NodeWiring {
public:
    NodeWiring() = default;
    NodeWiring(const NodeSpec& node, std::uint32_t nics_per_node);

    std::uint32_t num_links() const { return num_links_; }
    std::uint32_t num_nics() const { return nics_; }
    // Sockets that a link of limited bandwidth connects; without a limit they count as one.
    std::uint32_t num_sockets() const { return sockets_; }
    // Offsets from the node's first link. NVLink ports exist only with an NVSwitch.
    std::uint32_t nvlink_out(std::uint32_t gpu) const { return 2 * gpu; }
    std::uint32_t nvlink_in(std::uint32_t gpu) const { return 2 * gpu + 1; }
    std::uint32_t nvlink_between(std::uint32_t from, std::uint32_t to) const {  // mesh only
        return from * (gpus_ - 1) + (to < from ? to : to - 1);
    }
    std::uint32_t pcie_out(std::uint32_t gpu) const { return first_pcie_ + 2 * gpu; }
    std::uint32_t pcie_in(std::uint32_t gpu) const { return first_pcie_ + 2 * gpu + 1; }
    // From this socket to the other one, if there are two.
    std::uint32_t socket_out(std::uint32_t socket) const { return first_socket_ + socket; }
    bool has_socket_links() const { return sockets_ > 1; }

    std::uint32_t socket_of_gpu(std::uint32_t gpu) const { return gpu * sockets_ / gpus_; }
    std::uint32_t socket_of_nic(std::uint32_t nic) const { return nic * sockets_ / nics_; }
    // The NIC that a GPU uses by default.
    std::uint32_t nic_of_gpu(std::uint32_t gpu) const { return gpu * nics_ / gpus_; }

    // Each appends to `path`. `base` is the node's first link.
    void gpu_to_gpu(std::uint32_t base, std::uint32_t from, std::uint32_t to, Path& path) const;
    void gpu_to_nic(std::uint32_t base, std::uint32_t gpu, std::uint32_t nic, Path& path) const;
    void nic_to_gpu(std::uint32_t base, std::uint32_t nic, std::uint32_t gpu, Path& path) const;

    // The links of one node in the order of their offsets. The vertices are numbered as in
    // network/fabric/fabric.h: `first_gpu`, the node's `nvswitch`, and the PCIe root of its first
    // socket.
    void append_links(std::vector<LinkInfo>& links) const;
    void append_ends(std::uint32_t first_gpu,
                     std::uint32_t nvswitch,
                     std::uint32_t first_root,
                     std::vector<LinkEnds>& ends) const;

private:
    void cross_sockets(std::uint32_t base, std::uint32_t from, std::uint32_t to, Path& path) const;

    IntraNodeKind kind_ = IntraNodeKind::nvswitch;
    std::uint32_t gpus_ = 1;
    std::uint32_t nics_ = 1;
    std::uint32_t sockets_ = 1;
    std::uint32_t first_pcie_ = 0;
    std::uint32_t first_socket_ = 0;
    std::uint32_t num_links_ = 0;
    Bandwidth nvlink_;
    Bandwidth pcie_;
    Bandwidth socket_;
    Time nvlink_latency_;
    Time pcie_latency_;
};

}  // namespace orrery
