// SPDX-License-Identifier: Apache-2.0
// Fault processes and the schedule that they make. Every component has one random stream per fault
// process, keyed by (seed, component, kind): the schedule of one never depends on who else is
// there. Processes run on the calendar; faults of nodes that are idle or in repair when they come
// are for the campaign to ignore, which for exponential processes is exact.
//  - frailty (lemon nodes): a node's rate is multiplied by a gamma variate of mean 1 and shape k.
//  - bursts: the rates of all components share a gamma variate per day (time is stretched by it).
//  - ageing: rate x boost, where a campaign knows how often a node was repaired and how old it is:
//    times are drawn at the largest boost, and `mark` says from which boost on a fault is real.
//  - escalation: with a probability, a second fault of another kind follows at the same place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/wall_time.h"
#include "engine/faults/component.h"
#include "engine/faults/distribution.h"
#include "engine/faults/fault_kind.h"

namespace orrery {

struct FaultEvent {
    WallTime time;
    NodeRange nodes;  // none: the job, or the store
    Component at;     // what of them
    FaultKind kind = FaultKind::node_crash;
    std::uint16_t process = 0;  // which one made it: its class in reports
    float mark = 0;             // real from this boost on
    double factor = 0;          // slowdown; 0: the kind's
    WallTime duration;          // of the fault itself, or the repair that a trace knows; 0: unknown
    WallTime notice;            // told so long before
    std::uint64_t id = 0;       // names the fault's random streams
    std::int64_t step = -1;     // strikes in the middle of the step after this many; -1: at `time`
    bool operator==(const FaultEvent&) const = default;
};

struct Escalation {
    FaultKind kind = FaultKind::hbm_uncorrectable;
    double probability = 0;
    WallTime mean_delay;
    bool operator==(const Escalation&) const = default;
};

struct FaultProcess {
    std::string name;  // of its class in reports
    FaultKind kind = FaultKind::node_crash;
    Component at;                    // one component, or each of its scope
    Distribution interval;           // of one component
    std::vector<FaultEvent> events;  // scripted, or of a trace: instead of the interval
    std::optional<WallTime> once{};  // each component fails at this instant, and not again
    std::int64_t once_step = -1;     // the same, in the middle of the step after this many
    double probability = 1;          // that a component is subject to it at all (a lottery)
    double frailty = 0;              // gamma shape k; 0: all nodes alike
    double factor = 0;               // slowdown; 0: the kind's
    std::optional<Distribution> duration{};
    WallTime notice;
    std::optional<Escalation> escalation{};
    bool operator==(const FaultProcess&) const = default;
};

struct FaultWeather {
    double burst_shape = 0;  // gamma shape of a day's common intensity; 0: none
    double boost_max = 1;    // times are drawn at this multiple of the rate
    bool operator==(const FaultWeather&) const = default;
};

// Ordered by (time, process, component). What comes at or after the horizon is left out.
std::vector<FaultEvent> make_schedule(const std::vector<FaultProcess>& processes,
                                      const FaultWeather& weather,
                                      const ClusterShape& shape,
                                      WallTime horizon,
                                      std::uint64_t seed);

// Components that the process can strike.
std::uint32_t population(const FaultProcess& process, const ClusterShape& shape);
// Expected faults in a span whose components are all new at its begin, without bursts, which leave
// means as they are, and frailty, which does so for exponential intervals.
double expected_faults(const FaultProcess& process, const ClusterShape& shape, WallTime span);

}  // namespace orrery
