// SPDX-License-Identifier: Apache-2.0
// How closely a scenario looks at its network, and what happens to the network meanwhile: the key
// `network`, one word (its fidelity) or a map. Read by scenarios/format/read/read_network.cpp.
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
    simgrid,   // SimGrid's shares: the judge of `fluid`
};
std::string_view name(NetworkFidelity fidelity);
Result<NetworkFidelity> parse_fidelity(std::string_view word);

// A cable (or one direction of it) changes: from `at` on it has `bandwidth`, zero when it is down.
struct LinkEvent {
    std::string link;  // "tor 0 -> aggregation 3", as reports name it
    std::string nic;   // in place of a link: "node 3 nic 0" pauses its switch (PFC), packet only
    bool one_way = false;
    Time at;
    Bandwidth bandwidth;
    bool restores = false;  // to the bandwidth that the fabric gives it
    std::string where;      // of the entry, for messages
};

struct PacketSettings {
    packet::PacketParameters parameters =
        packet::published_parameters(packet::CongestionKind::nscc);
    bool spray_given = false;  // else the fabric's routing decides
    std::string where;         // of the section, for messages
};

// Which part of a step moves as packets: what is in flight between two moments of it.
enum class StepTraffic : std::uint8_t { all, tensor, context, pipeline, gradients, parameters };
std::string_view name(StepTraffic traffic);

struct StepWindow {
    // From the first transfer of this kind (and micro-batch, if one is given) to the end of the
    // last; `all`: the whole step.
    StepTraffic of = StepTraffic::all;
    std::int32_t micro_batch = -1;
    Time from;                              // later than that
    Time lasts;                             // zero: to the end
    std::int64_t packets_max = 20'000'000;  // half a minute to a minute
    std::string where;                      // of the section, for messages
};

struct NetworkSettings {
    Time convergence = Time::picoseconds(100'000'000'000);  // until switches avoid a dead link
    Time timeout = Time::picoseconds(30'064'771'072'000);   // NCCL's, network/fluid/flow_runner.h
    Time batch{};                                           // of completions; zero: exact
    std::uint64_t seed = 1;                                 // of random patterns
    std::vector<LinkEvent> events;
    PacketSettings packet;
    StepWindow window;  // of steps at fidelity packet
    // For fluid and its kin; where the key stands, for messages.
    std::optional<CongestionFactors> congestion;
    std::string congestion_where;
};

}  // namespace orrery
