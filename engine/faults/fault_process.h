// SPDX-License-Identifier: Apache-2.0
// Fault processes and the schedule of faults that they generate. Every component has one random
// stream per fault process, keyed by (seed, component, kind), so that its faults do not depend on
// the other components. Processes run in calendar time. The campaign ignores faults of nodes that
// are idle or in repair at that time, which is exact for exponential processes.
//  - frailty (lemon nodes): a node's rate is multiplied by a gamma variate of mean 1 and shape k.
//  - bursts: the rates of all components share a gamma variate per day, which stretches time.
//  - ageing: rate x boost, where the campaign knows the boost from a node's repairs and age. Times
//  are
//    drawn at the largest boost. `mark` is the least boost at which a fault is real.
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
    NodeRange nodes;  // empty: the job or the store
    Component at;     // the failing component of them
    FaultKind kind = FaultKind::node_crash;
    std::uint16_t process = 0;  // index of the process that made it: its class in reports
    float mark = 0;             // least boost at which it is real
    double factor = 0;          // slowdown; 0: the default of the kind
    WallTime duration;     // of the fault itself, or of its repair if a trace has it; 0: unknown
    WallTime notice;       // time between the notice and the fault
    std::uint64_t id = 0;  // key of the fault's random streams
    // Strikes in the middle of the step after this number of steps; -1: at `time`
    std::int64_t step = -1;
    bool operator==(const FaultEvent&) const = default;
};

struct Escalation {
    FaultKind kind = FaultKind::hbm_uncorrectable;
    double probability = 0;
    WallTime mean_delay;
    bool operator==(const Escalation&) const = default;
};

struct FaultProcess {
    std::string name;  // name of the class in reports
    FaultKind kind = FaultKind::node_crash;
    Component at;                    // one component, or all of its scope
    Distribution interval;           // between faults of one component
    std::vector<FaultEvent> events;  // scripted, or from a trace; replaces `interval`
    std::optional<WallTime> once{};  // each component fails once, at this instant
    // Each component fails once, in the middle of the step after this number of steps
    std::int64_t once_step = -1;
    double probability = 1;  // that the process can strike a component at all (a lottery)
    double frailty = 0;      // gamma shape k; 0: all nodes have the same rate
    double factor = 0;       // slowdown; 0: the default of the kind
    std::optional<Distribution> duration{};
    WallTime notice;
    std::optional<Escalation> escalation{};
    bool operator==(const FaultProcess&) const = default;
};

struct FaultWeather {
    double burst_shape = 0;  // gamma shape of the intensity of a day; 0: no bursts
    double boost_max = 1;    // times are drawn at this multiple of the rate
    bool operator==(const FaultWeather&) const = default;
};

// Ordered by (time, process, component). Faults at or after the horizon are dropped.
std::vector<FaultEvent> make_schedule(const std::vector<FaultProcess>& processes,
                                      const FaultWeather& weather,
                                      const ClusterShape& shape,
                                      WallTime horizon,
                                      std::uint64_t seed);

// The number of components that the process can strike.
std::uint32_t population(const FaultProcess& process, const ClusterShape& shape);
// The expected number of faults in a span in which all components start new. Bursts do not change
// the mean. Frailty does not change it for exponential intervals, and is ignored for the others.
double expected_faults(const FaultProcess& process, const ClusterShape& shape, WallTime span);

}  // namespace orrery
