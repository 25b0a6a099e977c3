// SPDX-License-Identifier: Apache-2.0
// Plain flows between ranks, each a connection of as many queue pairs as the fabric gives it, each
// queue pair on a path of its own with its share of the bytes. A message is there when its last
// queue pair is.
#pragma once

#include <string>
#include <vector>

#include "network/fabric/fabric.h"
#include "network/fabric/traffic.h"
#include "network/fluid/flow_runner.h"
#include "scenarios/studies/network/flow_times.h"
#include "scenarios/studies/network/network_trace.h"

namespace orrery {

class FlowStudy {
public:
    FlowStudy(const Fabric& fabric, std::vector<RankPair> pairs);

    // One end a queue pair.
    std::vector<FlowEnd> run(FlowRunner& runner, Bytes size);
    FlowTimes times(Bytes size, const std::vector<FlowEnd>& ends) const;
    // A track a message, with what its slowest queue pair did.
    void draw(const FlowRunner& runner,
              const std::vector<FlowEnd>& ends,
              NetworkTrace& trace) const;
    // Of each flow of run().
    std::vector<std::string> names() const;
    // What the message takes alone: its latency, then its bytes over the narrowest of its links.
    Time unloaded(const RankPair& pair, Bytes size) const;

private:
    bool path_of(const RankPair& pair,
                 std::uint32_t queue_pair,
                 const LinkState& state,
                 FlowPath& path) const;
    std::vector<FlowTime> messages(Bytes size, const std::vector<FlowEnd>& ends) const;

    const Fabric& fabric_;
    std::vector<RankPair> pairs_;
    std::uint32_t queue_pairs_;
};

// The bytes of queue pair `q` of `n`: as even as whole bytes can be.
Bytes share_of_queue_pair(Bytes bytes, std::uint32_t q, std::uint32_t n);

}  // namespace orrery
