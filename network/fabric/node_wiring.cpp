// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/node_wiring.h"

#include "engine/base/check.h"
#include "network/fabric/link_class.h"

namespace orrery {

NodeWiring::NodeWiring(const NodeSpec& node, std::uint32_t nics_per_node)
    : kind_(node.intra_node),
      gpus_(node.gpus_per_node),
      nics_(nics_per_node),
      sockets_(node.socket_bandwidth > Bandwidth{} ? node.num_sockets : 1),
      nvlink_(usable(node.nvlink_bandwidth, node.nvlink_efficiency)),
      pcie_(usable(node.pcie_bandwidth, node.pcie_efficiency)),
      socket_(node.socket_bandwidth),
      nvlink_latency_(node.nvlink_latency),
      pcie_latency_(node.pcie_latency) {
    ORRERY_CHECK(gpus_ > 0 && nics_ > 0 && sockets_ > 0);
    if (kind_ == IntraNodeKind::nvswitch) {
        first_pcie_ = 2 * gpus_;
    } else if (kind_ == IntraNodeKind::nvlink_mesh) {
        first_pcie_ = gpus_ * (gpus_ - 1);
    }
    first_socket_ = first_pcie_ + 2 * gpus_;
    num_links_ = first_socket_ + (sockets_ > 1 ? sockets_ : 0);
}

void NodeWiring::cross_sockets(std::uint32_t base,
                               std::uint32_t from,
                               std::uint32_t to,
                               Path& path) const {
    if (from != to && has_socket_links()) {
        path.add(to_id<LinkId>(base + socket_out(from)), Time{});
    }
}

void NodeWiring::gpu_to_gpu(std::uint32_t base,
                            std::uint32_t from,
                            std::uint32_t to,
                            Path& path) const {
    ORRERY_CHECK(from < gpus_ && to < gpus_);
    if (from == to) {
        return;
    }
    switch (kind_) {
        case IntraNodeKind::nvswitch:
            path.add(to_id<LinkId>(base + nvlink_out(from)), nvlink_latency_);
            path.add(to_id<LinkId>(base + nvlink_in(to)), nvlink_latency_);
            return;
        case IntraNodeKind::nvlink_mesh:
            path.add(to_id<LinkId>(base + nvlink_between(from, to)), nvlink_latency_);
            return;
        case IntraNodeKind::pcie:
            path.add(to_id<LinkId>(base + pcie_out(from)), pcie_latency_);
            cross_sockets(base, socket_of_gpu(from), socket_of_gpu(to), path);
            path.add(to_id<LinkId>(base + pcie_in(to)), pcie_latency_);
            return;
    }
}

void NodeWiring::gpu_to_nic(std::uint32_t base,
                            std::uint32_t gpu,
                            std::uint32_t nic,
                            Path& path) const {
    ORRERY_CHECK(gpu < gpus_ && nic < nics_);
    path.add(to_id<LinkId>(base + pcie_out(gpu)), pcie_latency_);
    cross_sockets(base, socket_of_gpu(gpu), socket_of_nic(nic), path);
}

void NodeWiring::nic_to_gpu(std::uint32_t base,
                            std::uint32_t nic,
                            std::uint32_t gpu,
                            Path& path) const {
    ORRERY_CHECK(gpu < gpus_ && nic < nics_);
    cross_sockets(base, socket_of_nic(nic), socket_of_gpu(gpu), path);
    path.add(to_id<LinkId>(base + pcie_in(gpu)), pcie_latency_);
}

void NodeWiring::append_links(std::vector<LinkInfo>& links) const {
    const auto link = [&](Bandwidth capacity, LinkClass link_class) {
        links.push_back({capacity, static_cast<std::uint16_t>(link_class)});
    };
    const std::uint32_t peers = gpus_ > 1 ? gpus_ - 1 : 1;
    const Bandwidth nvlink = kind_ == IntraNodeKind::nvlink_mesh
                                 ? Bandwidth::bits_per_second(nvlink_.bits_per_second() / peers)
                                 : nvlink_;
    for (std::uint32_t i = 0; i < first_pcie_; ++i) {
        link(nvlink, LinkClass::nvlink);
    }
    for (std::uint32_t i = first_pcie_; i < first_socket_; ++i) {
        link(pcie_, LinkClass::pcie);
    }
    for (std::uint32_t i = first_socket_; i < num_links_; ++i) {
        link(socket_, LinkClass::socket);
    }
}

void NodeWiring::append_ends(std::uint32_t first_gpu,
                             std::uint32_t nvswitch,
                             std::uint32_t first_root,
                             std::vector<LinkEnds>& ends) const {
    for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) {
        if (kind_ == IntraNodeKind::nvswitch) {
            ends.push_back({first_gpu + gpu, nvswitch});
            ends.push_back({nvswitch, first_gpu + gpu});
        } else if (kind_ == IntraNodeKind::nvlink_mesh) {
            for (std::uint32_t peer = 0; peer < gpus_; ++peer) {
                if (peer != gpu) {
                    ends.push_back({first_gpu + gpu, first_gpu + peer});
                }
            }
        }
    }
    for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) {
        const std::uint32_t root = first_root + socket_of_gpu(gpu);
        ends.push_back({first_gpu + gpu, root});
        ends.push_back({root, first_gpu + gpu});
    }
    if (has_socket_links()) {
        for (std::uint32_t socket = 0; socket < sockets_; ++socket) {
            ends.push_back({first_root + socket, first_root + (socket + 1) % sockets_});
        }
    }
}

}  // namespace orrery
