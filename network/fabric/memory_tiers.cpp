// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/memory_tiers.h"

#include <algorithm>
#include <numeric>

#include "engine/base/check.h"
#include "network/fabric/footprint.h"
#include "network/fabric/link_class.h"

namespace orrery {
namespace {

// Large enough to limit nothing, and small enough that sums do not overflow.
constexpr Bandwidth kNoMemoryLimit = Bandwidth::bits_per_second(std::int64_t{1} << 56);

}  // namespace

bool has_tier(const NodeSpec& node, MemoryTier tier) {
    const bool dram = node.host_memory > Bytes{};
    return tier == MemoryTier::hbm ||
           (tier == MemoryTier::dram ? dram : dram && node.nvme_drives > 0);
}

TierWiring::TierWiring(const NodeSpec& node)
    : node_(node),
      gpus_(node.gpus_per_node),
      servers_(node.trays),
      sockets_(std::min(node.num_sockets, node.gpus_per_node / node.trays)) {
    first_memory_ = node.c2c_bandwidth > Bandwidth{} ? 2 * gpus_ : 0;
    first_drives_ = first_memory_ + num_memories();
    num_links_ = first_drives_ + (has_tier(node, MemoryTier::nvme) ? 2 * num_memories() : 0);
    if (!has_tier(node, MemoryTier::dram)) {
        num_links_ = 0;
    }
}

std::uint32_t TierWiring::drives_at(std::uint32_t socket) const {
    const auto before = [&](std::uint32_t s) {
        return (node_.nvme_drives * s + sockets_ - 1) / sockets_;
    };
    return before(socket + 1) - before(socket);
}

void TierWiring::append_links(std::vector<LinkInfo>& links) const {
    if (num_links_ == 0) {
        return;
    }
    const auto link = [&](Bandwidth capacity, LinkClass link_class) {
        links.push_back({capacity, static_cast<std::uint16_t>(link_class)});
    };
    for (std::uint32_t i = 0; i < first_memory_; ++i) {
        link(node_.c2c_bandwidth, LinkClass::c2c);
    }
    const Bandwidth whole = node_.host_memory_bandwidth;
    for (std::uint32_t m = 0; m < num_memories(); ++m) {
        link(whole == Bandwidth{} ? kNoMemoryLimit
                                  : Bandwidth::bits_per_second(whole.bits_per_second() / sockets_),
             LinkClass::memory);
    }
    for (std::uint32_t i = first_drives_; i < num_links_; i += 2) {
        const std::int64_t drives = drives_at((i - first_drives_) / 2 % sockets_);
        link(node_.nvme_read_bandwidth * drives, LinkClass::nvme);
        link(node_.nvme_write_bandwidth * drives, LinkClass::nvme);
    }
}

void TierWiring::append_ends(std::uint32_t first_gpu,
                             const std::vector<std::uint32_t>& root,
                             std::uint32_t first_memory,
                             std::uint32_t first_drives,
                             std::vector<LinkEnds>& ends) const {
    if (num_links_ == 0) {
        return;
    }
    for (std::uint32_t gpu = 0; gpu < first_memory_ / 2; ++gpu) {
        const std::uint32_t memory_vertex = first_memory + memory_of_gpu(gpu);
        ends.push_back({first_gpu + gpu, memory_vertex});
        ends.push_back({memory_vertex, first_gpu + gpu});
    }
    for (std::uint32_t m = 0; m < num_memories(); ++m) {
        ends.push_back({root[m], first_memory + m});
    }
    for (std::uint32_t m = 0; m < (num_links_ - first_drives_) / 2; ++m) {
        ends.push_back({first_drives + m, root[m]});
        ends.push_back({root[m], first_drives + m});
    }
}

// The unit of progress is the part on the number of drives that makes all counts whole.
TransferPart TierWiring::stripe(std::uint32_t base,
                                const NodeWiring& wiring,
                                std::uint32_t node_base,
                                std::uint32_t gpu,
                                const CopyCall& call) const {
    const bool writes = call.to == MemoryTier::nvme;
    const std::uint32_t own = memory_of_gpu(gpu);
    const std::uint32_t first = own / sockets_ * sockets_;  // first memory of the server
    std::uint32_t divisor = 0;
    for (std::uint32_t s = 0; s < sockets_; ++s) {
        divisor = std::gcd(divisor, drives_at(s));
    }
    const std::uint32_t shares = node_.nvme_drives / divisor;
    FootprintBuilder builder;
    builder.add(to_id<LinkId>(base + memory(own)), shares);
    for (std::uint32_t s = 0; s < sockets_; ++s) {
        const std::uint32_t count = drives_at(s) / divisor;
        if (count == 0) {
            continue;
        }
        const std::uint32_t link = writes ? drives_write(first + s) : drives_read(first + s);
        builder.add(to_id<LinkId>(base + link), count);
        if (first + s != own && wiring.has_socket_links()) {
            const std::uint32_t from = writes ? own - first : s;
            builder.add(to_id<LinkId>(node_base + wiring.socket_out(from)), count);
        }
    }
    return {.footprint = builder.take(),
            .bytes = Bytes{(call.bytes.count() + shares - 1) / shares},
            .rate_max = {}};
}

TransferPhase TierWiring::copy(std::uint32_t base,
                               const NodeWiring& wiring,
                               std::uint32_t node_base,
                               std::uint32_t gpu,
                               const CopyCall& call) const {
    ORRERY_CHECK(has_tier(node_, call.from) && has_tier(node_, call.to));
    if (call.from == MemoryTier::nvme || call.to == MemoryTier::nvme) {
        return {.latency = node_.pcie_latency,
                .parts = {stripe(base, wiring, node_base, gpu, call)}};
    }
    const bool out = call.from == MemoryTier::hbm;
    const bool c2c = first_memory_ > 0;
    FootprintBuilder builder;
    if (c2c) {
        builder.add(to_id<LinkId>(base + (out ? c2c_out(gpu) : c2c_in(gpu))), 1);
    } else {
        builder.add(to_id<LinkId>(node_base + (out ? wiring.pcie_out(gpu) : wiring.pcie_in(gpu))),
                    1);
    }
    builder.add(to_id<LinkId>(base + memory(memory_of_gpu(gpu))), 1);
    return {.latency = c2c ? node_.nvlink_latency : node_.pcie_latency,
            .parts = {{.footprint = builder.take(), .bytes = call.bytes, .rate_max = {}}}};
}

}  // namespace orrery
