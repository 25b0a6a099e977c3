// SPDX-License-Identifier: Apache-2.0
// Servers in NCCL's own words: the XML that NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads
// (NCCL 2.28, src/graph/xml.cc): <system> of <cpu>s, nested <pci> devices, <gpu>s with <nvlink>s,
// <nic>s with <net>s. What a NodeSpec cannot say is left out: which switch a device hangs on, more
// than two sockets (they count as two), links of unequal GPUs (the narrowest counts).
#pragma once

#include <string>

#include "engine/base/result.h"
#include "network/fabric/cluster_spec.h"

namespace orrery {

struct NcclTopology {
    NodeSpec node;
    // False for files that clouds ship: their GPUs and NICs are <pci> without <gpu> and <net>,
    // whose links and speeds NCCL finds out when it runs. Then node.intra_node, compute_capability
    // and nic_bandwidth mean nothing.
    bool links_known = true;
    std::uint32_t compute_capability = 0;  // 90
    std::uint32_t pci_device = 0;          // of the GPUs: 0x2330; 0 if the file does not say
    std::uint32_t nics_per_node = 0;
    Bandwidth nic_bandwidth;  // of the slowest
};

// `source` stands for the file in messages, which name line and attribute.
ResultOrErrors<NcclTopology> parse_nccl_topology(const std::string& xml, const std::string& source);

// A node and its share of the fabric, so that NCCL's search and parse_nccl_topology() see it.
std::string write_nccl_topology(const NodeSpec& node,
                                const FabricSpec& fabric,
                                std::uint32_t compute_capability,
                                std::uint32_t pci_device);

// The catalogue's name for a GPU's PCI device number, and back; empty and 0 if it is not known.
std::string device_of_pci(std::uint32_t pci_device);
std::uint32_t pci_of_device(const std::string& device);

}  // namespace orrery
