// SPDX-License-Identifier: Apache-2.0
// A collective as NCCL would run it, or messages between ranks, as coupled flows: one for each
// channel, or one for all channels that load the same links. If links change during the run, every
// channel is a flow of its own. After the switches have learnt of a dead link, the flow gets a new
// path for its remaining bytes.
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
    // `links_change`: whether each channel is a flow of its own. `network` and `members` must
    // outlive the object.
    CollectiveFlows(const NcclNetwork& network, std::span<const RankId> members, bool links_change)
        : network_(network), members_(members), links_change_(links_change) {}

    // Both set the fields of the row that NCCL's choice determines.
    std::vector<FlowEnd> run_collective(FlowRunner& runner,
                                        const CollectiveCall& call,
                                        NetworkRow& row);
    // Every rank sends to the next one.
    std::vector<FlowEnd> run_messages(FlowRunner& runner, Bytes size, NetworkRow& row);

    // The name of each flow of the last run, for messages and tracks.
    const std::vector<std::string>& names() const { return names_; }
    // Draws a track for each flow.
    void draw(const FlowRunner& runner, NetworkTrace& trace) const;

private:
    using ChannelsOf = std::function<std::vector<NcclNetwork::Channel>(const LinkState&)>;
    std::vector<FlowEnd> run_parts(FlowRunner& runner,
                                   const std::vector<TransferPart>& parts,
                                   const std::vector<Time>& starts);
    // `channels` must return one channel for each start.
    std::vector<FlowEnd> run_channels(FlowRunner& runner,
                                      const ChannelsOf& channels,
                                      const std::vector<Time>& starts);
    std::vector<NcclNetwork::Channel> channels_of_messages(Bytes size,
                                                           const LinkState& state) const;
    RankId next(std::size_t r) const { return members_[(r + 1) % members_.size()]; }
    SendCall message(Bytes size) const;
    std::array<RankId, 2> to_next(std::size_t r) const { return {members_[r], next(r)}; }

    const NcclNetwork& network_;
    std::span<const RankId> members_;
    bool links_change_;
    std::vector<std::string> names_;
};

// "channel 3 waits for 'leaf 0 -> spine 1', which is down", for the first few flows that gave up.
std::vector<std::string> wait_notes(const Fabric& fabric,
                                    std::span<const std::string> names,
                                    std::span<const FlowEnd> ends);

}  // namespace orrery
