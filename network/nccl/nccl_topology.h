// SPDX-License-Identifier: Apache-2.0
// Servers in NCCL's XML format, which NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads (NCCL
// 2.28, src/graph/xml.cc): <system> with <cpu>s, nested <pci> devices, <gpu>s with <nvlink>s, and
// <nic>s with <net>s. Not represented in a NodeSpec: the PCIe switch of a device, more than two
// sockets (they count as two), and links of unequal GPUs (the narrowest counts).
#pragma once

#include <string>

#include "engine/base/result.h"
#include "network/fabric/cluster_spec.h"

namespace orrery {

struct NcclTopology {
    NodeSpec node;
    // False for files of clouds whose GPUs and NICs are <pci> without <gpu> and <net>, so that NCCL
    // detects their links and speeds at run time. node.intra_node, compute_capability and
    // nic_bandwidth are then undefined.
    bool links_known = true;
    std::uint32_t compute_capability = 0;  // 90
    // PCI device number of the GPUs, 0x2330; 0 if the file does not have it
    std::uint32_t pci_device = 0;
    std::uint32_t nics_per_node = 0;
    Bandwidth nic_bandwidth;  // of the slowest NIC
};

// Messages call the file `source`, and name line and attribute.
ResultOrErrors<NcclTopology> parse_nccl_topology(const std::string& xml, const std::string& source);

// Writes a node and its share of the fabric, for NCCL's search and for parse_nccl_topology().
std::string write_nccl_topology(const NodeSpec& node,
                                const FabricSpec& fabric,
                                std::uint32_t compute_capability,
                                std::uint32_t pci_device);

// The catalogue's name of a GPU's PCI device number, and the reverse; empty or 0 if unknown.
std::string device_of_pci(std::uint32_t pci_device);
std::uint32_t pci_of_device(const std::string& device);

}  // namespace orrery
