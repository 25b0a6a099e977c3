// SPDX-License-Identifier: Apache-2.0
// A collective as NCCL would run it, or messages between ranks, as coupled flows: one a channel,
// or one for channels that load the same links. Where links change meanwhile every channel is a
// flow of its own, and is laid anew when the switches have learnt of a dead link: what is left of
// its bytes goes on over other links.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "network/fluid/flow_runner.h"
#include "network/nccl_network.h"
#include "scenarios/studies/network/network_answer.h"
#include "scenarios/studies/network/network_trace.h"

namespace orrery {

class CollectiveFlows {
public:
    // `links_change`: whether channels stay apart. Both outlive this.
    CollectiveFlows(const NcclNetwork& network, std::span<const RankId> members, bool links_change)
        : network_(network), members_(members), links_change_(links_change) {}

    // Each fills in what NCCL chose.
    std::vector<FlowEnd> run_collective(FlowRunner& runner,
                                        const CollectiveCall& call,
                                        NetworkRow& row);
    // Every rank sends to the next one.
    std::vector<FlowEnd> run_messages(FlowRunner& runner, Bytes size, NetworkRow& row);

    // A name for each of the last run's flows, for messages and tracks.
    const std::vector<std::string>& names() const { return names_; }
    // A track a flow.
    void draw(const FlowRunner& runner, NetworkTrace& trace) const;

private:
    using ChannelsOf = std::function<std::vector<NcclNetwork::Channel>(const LinkState&)>;
    std::vector<FlowEnd> run_parts(FlowRunner& runner,
                                   const std::vector<TransferPart>& parts,
                                   const std::vector<Time>& starts);
    // `channels` gives as many as there are starts.
    std::vector<FlowEnd> run_channels(FlowRunner& runner,
                                      const ChannelsOf& channels,
                                      const std::vector<Time>& starts);
    std::vector<NcclNetwork::Channel> channels_of_messages(Bytes size,
                                                           const LinkState& state) const;
    RankId next(std::size_t r) const { return members_[(r + 1) % members_.size()]; }
    std::array<RankId, 2> to_next(std::size_t r) const { return {members_[r], next(r)}; }

    const NcclNetwork& network_;
    std::span<const RankId> members_;
    bool links_change_;
    std::vector<std::string> names_;
};

// "channel 3 waits for 'leaf 0 -> spine 1', which is down": of the first few that gave up.
std::vector<std::string> wait_notes(const Fabric& fabric,
                                    std::span<const std::string> names,
                                    std::span<const FlowEnd> ends);

}  // namespace orrery
