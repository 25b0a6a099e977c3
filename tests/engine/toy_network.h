// SPDX-License-Identifier: Apache-2.0
// A network small enough to reason about: each rank has a port out and a port in, each node of
// `ranks_per_node` has `uplinks` up and down; inside a node only the ports count. Collectives are
// rings. A copy to or from the host's memory takes the rank's port; one to or from the drive of a
// node takes that. Whether a pair's uplink follows from a hash or from the sender's place is a
// choice, so that tests can have symmetric and asymmetric clusters.
#pragma once

#include <string>
#include <vector>

#include "engine/program/network_model.h"

namespace orrery {

struct ToyNetworkSpec {
    std::uint32_t num_ranks = 8;
    std::uint32_t ranks_per_node = 4;
    std::uint32_t uplinks = 2;
    bool hashed = false;  // ECMP-like: unequal paths
    std::int64_t port_bps = 800'000'000'000;
    std::int64_t uplink_bps = 300'000'000'000;
    std::int64_t drive_bps = 40'000'000'000;
    std::int64_t rate_max_bps = 0;  // 0: no cap
    std::uint32_t channels = 1;     // parts of a collective's phase, in alternating directions
    std::uint32_t phases = 1;
    std::uint32_t collective_sms = 0;
    std::uint32_t send_sms = 0;
    Time latency = Time::picoseconds(1'000'000);
    bool contention = true;
};

class ToyNetwork final : public NetworkModel {
public:
    explicit ToyNetwork(const ToyNetworkSpec& spec);

    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override;
    std::span<const LinkInfo> links() const override { return links_; }
    std::span<const std::string> link_class_names() const override { return names_; }
    bool has_contention() const override { return spec_.contention; }

    LinkId port_out(RankId rank) const { return to_id<LinkId>(index(rank)); }
    LinkId drive(RankId rank, bool writes) const;
    LinkId port_in(RankId rank) const { return to_id<LinkId>(spec_.num_ranks + index(rank)); }

private:
    TransferPlan plan_collective(const CollectiveCall& call, std::span<const RankId> members) const;
    TransferPlan plan_send(RankId from, RankId to, Bytes bytes) const;
    TransferPlan plan_copy(const CopyCall& call, RankId rank) const;
    std::vector<LinkId> path(RankId from, RankId to) const;

    ToyNetworkSpec spec_;
    std::vector<LinkInfo> links_;
    std::vector<std::string> names_{"port", "uplink", "drive"};
};

}  // namespace orrery
