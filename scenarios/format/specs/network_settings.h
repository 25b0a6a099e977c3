// SPDX-License-Identifier: Apache-2.0
// The fidelity of a scenario's network, and events during its use: the key `network`, one word (the
// fidelity) or a map. Read by scenarios/format/read/read_network.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "network/congestion_factors.h"
#include "network/packet/parameters.h"

namespace orrery {

enum class NetworkFidelity : std::uint8_t {
    analytic,  // alpha-beta, no contention
    fluid,     // max-min fair shares of every link
    packet,    // queues, ECN, PFC and congestion control per packet
    simgrid,   // the rates of SimGrid, to check `fluid`
};
std::string_view name(NetworkFidelity fidelity);
Result<NetworkFidelity> parse_fidelity(std::string_view word);

// A change of a cable, or of one direction. From `at` on it has `bandwidth`; zero means that it is
// down.
struct LinkEvent {
    std::string link;  // "tor 0 -> aggregation 3", as in reports
    std::string nic;   // replaces `link`: "node 3 nic 0" pauses its switch (PFC), packet only
    bool one_way = false;
    Time at;
    Bandwidth bandwidth;
    bool restores = false;  // restores the fabric's bandwidth
    std::string where;      // place of the entry, for messages
};

struct PacketSettings {
    packet::PacketParameters parameters =
        packet::published_parameters(packet::CongestionKind::nscc);
    bool spray_given = false;  // otherwise the fabric's routing decides
    std::string where;         // place of the section, for messages
};

// The part of a step that moves as packets: the transfers in flight between two times.
enum class StepTraffic : std::uint8_t { all, tensor, context, pipeline, gradients, parameters };
std::string_view name(StepTraffic traffic);

struct StepWindow {
    // From the first transfer of this kind (and micro-batch, if given) to the end of the last one.
    // `all` is the whole step.
    StepTraffic of = StepTraffic::all;
    std::int32_t micro_batch = -1;
    Time from;                              // delay of the beginning
    Time lasts;                             // length; zero: to the end
    std::int64_t packets_max = 20'000'000;  // takes half a minute to a minute
    std::string where;                      // place of the section, for messages
};

struct NetworkSettings {
    Time convergence = Time::picoseconds(100'000'000'000);  // time until switches avoid a dead link
    Time timeout = Time::picoseconds(30'064'771'072'000);   // NCCL's (network/fluid/flow_runner.h)
    Time batch{};            // interval that joins completions; zero: exact
    std::uint64_t seed = 1;  // of random patterns
    std::vector<LinkEvent> events;
    PacketSettings packet;
    StepWindow window;  // of steps at fidelity packet
    // Factors on transfers without packets, and the place of the key for messages.
    std::optional<CongestionFactors> congestion;
    std::string congestion_where;
};

}  // namespace orrery
