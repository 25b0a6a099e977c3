// SPDX-License-Identifier: Apache-2.0
// Plain flows between ranks. Each is a connection with the fabric's number of queue pairs. Each
// queue pair has a path of its own and its share of the bytes. A message arrives with its last
// queue pair.
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

    // One end for each queue pair.
    std::vector<FlowEnd> run(FlowRunner& runner, Bytes size);
    FlowTimes times(Bytes size, const std::vector<FlowEnd>& ends) const;
    // Draws a track for each message, with the events of its slowest queue pair.
    void draw(const FlowRunner& runner,
              const std::vector<FlowEnd>& ends,
              NetworkTrace& trace) const;
    // The name of each flow of run().
    std::vector<std::string> names() const;
    // The time of a message in an empty network: its latency, then its bytes over its narrowest
    // link.
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

// The bytes of queue pair `q` of `n`, as even as whole bytes allow.
Bytes share_of_queue_pair(Bytes bytes, std::uint32_t q, std::uint32_t n);

}  // namespace orrery
