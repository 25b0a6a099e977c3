// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/tier_loads.h"

#include <map>
#include <vector>

#include "engine/base/check.h"

namespace orrery {

namespace {

TransferPhase copy_phase(
    const NcclNetwork& network, RankId rank, MemoryTier from, MemoryTier to, Bytes bytes) {
    const std::vector<RankId> members{rank};
    TransferPlan plan = network.plan(CopyCall{.from = from, .to = to, .bytes = bytes}, members);
    ORRERY_CHECK(plan.phases.size() == 1 && plan.phases.front().parts.size() == 1);
    return std::move(plan.phases.front());
}

std::vector<LinkShare> footprint_of(const std::map<LinkId, std::uint32_t>& counts) {
    std::vector<LinkShare> footprint;
    for (const auto& [link, count] : counts) {
        footprint.push_back({.link = link, .count = count});
    }
    return footprint;
}

// Two pipelined copies, which progress at one rate. The copy from the disks counts by its share of
// the bytes.
TransferPhase from_disks(const NcclNetwork& network, RankId rank, Bytes bytes) {
    TransferPhase disks =
        copy_phase(network, rank, MemoryTier::nvme, MemoryTier::dram, bytes);
    const TransferPhase memory =
        copy_phase(network, rank, MemoryTier::dram, MemoryTier::hbm, bytes);
    TransferPart& part = disks.parts.front();
    const auto shares = static_cast<std::uint32_t>(
        (bytes.count() + part.bytes.count() / 2) / part.bytes.count());
    std::map<LinkId, std::uint32_t> counts;
    for (const LinkShare& share : part.footprint) {
        counts[share.link] += share.count;
    }
    for (const LinkShare& share : memory.parts.front().footprint) {
        counts[share.link] += share.count * shares;
    }
    part.footprint = footprint_of(counts);
    disks.latency += memory.latency;
    return disks;
}

// A message from the holder's GPU without that GPU's own link.
TransferPhase from_other_server(const NcclNetwork& network,
                                RankId rank,
                                RankId holder,
                                Bytes bytes) {
    const std::vector<RankId> members{holder, rank};
    TransferPlan plan = network.plan(SendCall{bytes}, members);
    ORRERY_CHECK(plan.phases.size() == 1);
    TransferPhase phase = std::move(plan.phases.front());
    const TransferPhase read =
        copy_phase(network, holder, MemoryTier::hbm, MemoryTier::dram, bytes);
    const LinkId of_gpu = network.fabric().pcie_out(holder);
    for (TransferPart& part : phase.parts) {
        std::map<LinkId, std::uint32_t> counts;
        for (const LinkShare& share : part.footprint) {
            if (share.link != of_gpu) {
                counts[share.link] += share.count;
            }
        }
        for (const LinkShare& share : read.parts.front().footprint) {
            if (share.link != of_gpu) {
                counts[share.link] += share.count;
            }
        }
        part.footprint = footprint_of(counts);
    }
    return phase;
}

}  // namespace

TransferPhase load_phase(
    const NcclNetwork& network, RankId rank, TierKind kind, RankId holder, Bytes bytes) {
    if (kind == TierKind::nvme) {
        return from_disks(network, rank, bytes);
    }
    const Fabric& fabric = network.fabric();
    if (kind == TierKind::dram || fabric.node_of(rank) == fabric.node_of(holder)) {
        return copy_phase(network, rank, MemoryTier::dram, MemoryTier::hbm, bytes);
    }
    return from_other_server(network, rank, holder, bytes);
}

}  // namespace orrery
