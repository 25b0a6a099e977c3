// SPDX-License-Identifier: Apache-2.0
// What a recovery policy hears and what it orders. A campaign simulator and the supervisor of a
// real job speak the same words: an event log goes in, actions come out, and the same log always
// gives the same actions, byte for byte. Steps are counted, never timed; nodes are numbers of the
// cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/wall_time.h"
#include "engine/faults/detection.h"
#include "engine/faults/fault_kind.h"

namespace orrery {

using NodeNumber = std::uint32_t;
inline constexpr NodeNumber kNobody = ~NodeNumber{0};

enum class ObservationKind : std::uint8_t {
    training_started,  // steps are made from now on
    fault_detected,    // steps are no longer made; `nodes`: where, as far as known
    node_slow,         // steps take longer because of `nodes`
    corruption_found,  // the state is wrong; good up to `verified_step`
    diagnosis_done,    // `nodes` are sick, or none was found
    warning,           // a predictor expects `nodes` to fail
    notice,            // `nodes` will be taken away; none: somebody wants to change the job
    drained,           // stopped after a checkpoint, as ordered: `nodes` can go
    node_ready,        // `nodes` are healthy and not in the job
    checked,           // as ordered: `nodes` fail their tests, `slow` ones are far from the median
};
inline constexpr std::size_t kNumObservationKinds = 10;

struct Observation {
    WallTime time;
    ObservationKind kind = ObservationKind::training_started;
    Detector detector = Detector::exit_code;
    FaultKind fault = FaultKind::node_crash;  // as the symptom says
    std::vector<NodeNumber> nodes{};
    std::vector<NodeNumber> slow{};
    std::int64_t step = 0;           // reached
    std::int64_t durable_step = 0;   // of the last checkpoint in the store
    std::int64_t memory_step = -1;   // of a complete copy in memories that live; -1: none
    std::int64_t verified_step = 0;  // corruption: the last step known to be right
    bool operator==(const Observation&) const = default;
};

enum class ActionKind : std::uint8_t {
    diagnose,   // look for the sick node
    evict,      // `node` out of the job, to be repaired
    replace,    // `node` takes the place `slot`
    drop,       // go on without `slot`: its data-parallel unit idles
    reroute,    // go on without `slot`: its peers take over its micro-batches
    take_over,  // go on without `slot`: who computes its work redundantly does so alone
    wait,       // for a node to become ready
    drain,      // stop for `node` (kNobody: all stay) at the next checkpoint, or now if `urgent`
    restart,    // all processes, from `source`, at most at `step_max`
    call_operator,  // a human finds what is sick
    set_interval,   // between checkpoints: `interval` of training time
    check,          // test all members before they start, and tell who fails
};

// What a restart begins with.
enum class RestoreSource : std::uint8_t {
    live,    // the state in the survivors' memories: no step is lost
    memory,  // the peers' copies
    remote,  // the store
};

// How much of the job starts anew.
enum class RestartExtent : std::uint8_t {
    failover,  // nothing: somebody has the lost state and goes on
    in_place,  // the processes, on the same nodes
    members,   // the communicators, with other members
    full,      // everything
};

struct Action {
    ActionKind kind = ActionKind::restart;
    NodeNumber node = 0;
    std::uint32_t slot = 0;
    bool urgent = false;
    RestoreSource source = RestoreSource::remote;
    RestartExtent extent = RestartExtent::full;
    std::int64_t step_max = INT64_MAX;
    std::uint32_t checkpoints_back = 0;  // how many before the last one
    bool skip_batches = false;           // that the restart would see again
    WallTime interval;
    bool operator==(const Action&) const = default;
};

// What was seen, and what was ordered for it.
struct RecoveryExchange {
    Observation seen;
    std::vector<Action> ordered;
    bool operator==(const RecoveryExchange&) const = default;
};

std::string_view name(ObservationKind kind);
std::string_view name(ActionKind kind);
std::string_view name(RestoreSource source);
std::string_view name(RestartExtent extent);
// One line of a log, without its end: integers and words only.
std::string to_line(const Observation& observation);
std::string to_line(const Action& action);
// The observation's line, and the lines of its actions, indented.
std::string to_text(const std::vector<RecoveryExchange>& log);

}  // namespace orrery
