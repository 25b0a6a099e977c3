// SPDX-License-Identifier: Apache-2.0
// A small two-tier network for tests: an NVLink-like port per rank, a NIC per rank, leaf switches
// with a few uplinks each. A path between leaves takes one of the uplinks, by a hash of (source,
// destination, label) as ECMP does, or by the source's place under its leaf, the same under every
// leaf. Copies to and from the host's memory share the NIC's ports, those to and from the drive of
// a node share that. Collectives are rings, in-node exchanges, hierarchies of rings, or one part
// per distance.
#pragma once

#include "engine/program/network_model.h"

namespace orrery::reference {

struct TableNetworkShape {
    std::uint32_t num_ranks = 8;
    std::uint32_t ranks_per_node = 4;
    std::uint32_t nodes_per_leaf = 2;
    std::uint32_t uplinks_per_leaf = 2;
    Bandwidth nvlink;
    Bandwidth nic;
    Bandwidth uplink;
    Bandwidth drive;
    bool hashed = true;  // false: uplinks by the source's place under its leaf
    bool contention = true;
    std::uint32_t channels = 2;        // parts of a ring, each with a label of its own
    std::uint32_t collective_sms = 8;  // per channel
    std::uint32_t send_sms = 2;
    Time hop_latency;           // a ring of n ranks starts up in n hops
    Bandwidth rate_max;         // of a part; zero: no cap
    bool hierarchical = false;  // all-reduces over several nodes run in three phases
    std::uint64_t salt = 0;     // of the hash
};

class TableNetwork final : public NetworkModel {
public:
    explicit TableNetwork(const TableNetworkShape& shape);

    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override;
    std::span<const LinkInfo> links() const override { return links_; }
    std::span<const std::string> link_class_names() const override { return class_names_; }
    bool has_contention() const override { return shape_.contention; }

private:
    using Ranks = std::span<const RankId>;

    TransferPlan plan_collective(const CollectiveCall& call, Ranks members) const;
    TransferPlan plan_send(RankId from, RankId to, Bytes bytes) const;
    TransferPlan plan_copy(const CopyCall& call, RankId rank) const;

    std::uint32_t node_of(RankId rank) const;
    std::uint32_t leaf_of(RankId rank) const;
    LinkId port(std::uint32_t kind, RankId rank) const;
    LinkId uplink(std::uint32_t leaf, std::uint32_t which, bool up) const;
    // The links from one rank to another, appended.
    void add_path(RankId from, RankId to, std::uint64_t label, std::vector<LinkId>& links) const;
    TransferPart part(std::vector<LinkId> links, Bytes bytes) const;
    // One part per channel, round the members in their order.
    TransferPhase rings(Ranks members, Bytes bytes, std::uint32_t channels) const;
    // One part per distance between the members: all send that far at the same time.
    TransferPhase exchange(Ranks members, Bytes bytes) const;
    // Rings within the nodes, then between ranks of equal place in their nodes, then within again.
    std::vector<TransferPhase> hierarchy(const std::vector<std::vector<RankId>>& by_node,
                                         Bytes bytes) const;

    TableNetworkShape shape_;
    std::vector<LinkInfo> links_;
    std::size_t first_drive_ = 0;  // of node 0, reading; then writing
    std::vector<std::string> class_names_{"nvlink", "nic", "uplink", "drive"};
};

}  // namespace orrery::reference
