// SPDX-License-Identifier: Apache-2.0
// The links between the memory tiers of a node's ranks, which a CopyCall loads besides the PCIe
// links (network/fabric/node_wiring.h). Each server (tray) has, per socket, one link for the
// channels of its memory, whose bandwidth reads and writes share, and one link per direction for
// its drives. Each GPU has a C2C link per direction if the node has C2C.
//
// A rank's DRAM is at its GPU's socket. Files are striped over all drives of the server (RAID 0, as
// DGX OS configures its data drives), and drives are spread evenly over the sockets, in order. The
// part of a stripe at the other socket crosses the link between the sockets. The latency of flash
// is not modelled.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/network_model.h"
#include "network/fabric/node_wiring.h"

namespace orrery {

// Every node has HBM. It has DRAM if its size is given. It has NVMe if it has drives and DRAM,
// because the bytes pass through DRAM.
bool has_tier(const NodeSpec& node, MemoryTier tier);

class TierWiring {
public:
    TierWiring() = default;
    explicit TierWiring(const NodeSpec& node);

    std::uint32_t num_links() const { return num_links_; }
    // The number of memories in a node: one for each socket of each server.
    std::uint32_t num_memories() const { return servers_ * sockets_; }
    std::uint32_t memory_of_gpu(std::uint32_t gpu) const { return gpu * num_memories() / gpus_; }

    // The links in the order of their offsets, and the vertices that they connect. `root` is the
    // vertex of each memory's socket. The node's memories, and the drives of each, have consecutive
    // numbers from `first_memory` and `first_drives`.
    void append_links(std::vector<LinkInfo>& links) const;
    void append_ends(std::uint32_t first_gpu,
                     const std::vector<std::uint32_t>& root,
                     std::uint32_t first_memory,
                     std::uint32_t first_drives,
                     std::vector<LinkEnds>& ends) const;

    // The load of a copy, and the latency of its first byte. `base` is the first of the node's
    // links between tiers, `node_base` its first link of `wiring`. The node must have both tiers.
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
    // The number of drives at a server's `socket`.
    std::uint32_t drives_at(std::uint32_t socket) const;
    TransferPart stripe(std::uint32_t base,
                        const NodeWiring& wiring,
                        std::uint32_t node_base,
                        std::uint32_t gpu,
                        const CopyCall& call) const;

    NodeSpec node_;
    std::uint32_t gpus_ = 1;
    std::uint32_t servers_ = 1;
    std::uint32_t sockets_ = 1;  // per server
    std::uint32_t first_memory_ = 0;
    std::uint32_t first_drives_ = 0;
    std::uint32_t num_links_ = 0;
};

}  // namespace orrery
