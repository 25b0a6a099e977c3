// SPDX-License-Identifier: Apache-2.0
// The links between the memory tiers of a node's ranks: what a CopyCall loads beside the PCIe links
// (network/fabric/node_wiring.h). Of each server (tray) these are, per socket, the channels of its
// memory, whose bandwidth reads and writes share, and the drives that hang on it, one link for all
// of them and direction; per GPU and direction a C2C link where the node has those.
//
// A rank's DRAM is that of its GPU's socket. Files are striped over all drives of the server
// (RAID 0, as DGX OS sets up its data drives), and drives are spread evenly, in order, over the
// sockets: what a stripe moves to or from the other socket crosses the link between them. The
// latency of flash is not modelled.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/network_model.h"
#include "network/fabric/node_wiring.h"

namespace orrery {

// Every node has HBM. It has DRAM if it says how much, and NVMe if it has drives and DRAM, through
// which their bytes go.
bool has_tier(const NodeSpec& node, MemoryTier tier);

class TierWiring {
public:
    TierWiring() = default;
    explicit TierWiring(const NodeSpec& node);

    std::uint32_t num_links() const { return num_links_; }
    // Memories of a node: one for each socket of each server.
    std::uint32_t num_memories() const { return servers_ * sockets_; }
    std::uint32_t memory_of_gpu(std::uint32_t gpu) const { return gpu * num_memories() / gpus_; }

    // The links in the order of their offsets, and the vertices that they join: `root` gives that
    // of a memory's socket; the node's memories, and the drives of each, are numbered from
    // `first_memory` and `first_drives`.
    void append_links(std::vector<LinkInfo>& links) const;
    void append_ends(std::uint32_t first_gpu,
                     const std::vector<std::uint32_t>& root,
                     std::uint32_t first_memory,
                     std::uint32_t first_drives,
                     std::vector<LinkEnds>& ends) const;

    // What a copy loads, and how long its first byte takes. `base` is the node's first link here,
    // `node_base` its first link of `wiring`. The node has both tiers.
    TransferPhase copy(std::uint32_t base,
                       const NodeWiring& wiring,
                       std::uint32_t node_base,
                       std::uint32_t gpu,
                       const CopyCall& call) const;

private:
    std::uint32_t c2c_out(std::uint32_t gpu) const { return 2 * gpu; }
    std::uint32_t c2c_in(std::uint32_t gpu) const { return 2 * gpu + 1; }
    std::uint32_t memory(std::uint32_t m) const { return first_memory_ + m; }
    std::uint32_t drives_read(std::uint32_t m) const { return first_drives_ + 2 * m; }
    std::uint32_t drives_write(std::uint32_t m) const { return first_drives_ + 2 * m + 1; }
    // Drives of a server that hang on its `socket`.
    std::uint32_t drives_at(std::uint32_t socket) const;
    TransferPart stripe(std::uint32_t base,
                        const NodeWiring& wiring,
                        std::uint32_t node_base,
                        std::uint32_t gpu,
                        const CopyCall& call) const;

    NodeSpec node_;
    std::uint32_t gpus_ = 1;
    std::uint32_t servers_ = 1;
    std::uint32_t sockets_ = 1;  // of a server
    std::uint32_t first_memory_ = 0;
    std::uint32_t first_drives_ = 0;
    std::uint32_t num_links_ = 0;
};

}  // namespace orrery
