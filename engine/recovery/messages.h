// SPDX-License-Identifier: Apache-2.0
// The observations that a recovery policy receives and the actions that it orders. A campaign
// simulator and the supervisor of a real job use the same messages. The same log of observations
// always gives the same actions, byte for byte. Steps are counted, not timed. Nodes are numbers of
// the cluster.
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
inline constexpr NodeNumber kNoNode = ~NodeNumber{0};

enum class ObservationKind : std::uint8_t {
    training_started,  // steps are made from now on
    fault_detected,    // steps have stopped; `nodes`: the place, as far as known
    node_slow,         // steps take longer because of `nodes`
    corruption_found,  // the state is wrong; good up to `verified_step`
    diagnosis_done,    // `nodes` are sick; empty: none was found
    warning,           // a predictor expects `nodes` to fail
    notice,            // `nodes` will be taken away; empty: a planned change of the job
    drained,           // stopped after a checkpoint, as ordered: `nodes` may leave
    node_ready,        // `nodes` are healthy and not in the job
    checked,           // as ordered: `nodes` fail their tests, `slow` nodes are far from the median
};
inline constexpr std::size_t kNumObservationKinds = 10;

struct Observation {
    WallTime time;
    ObservationKind kind = ObservationKind::training_started;
    Detector detector = Detector::exit_code;
    FaultKind fault = FaultKind::node_crash;  // according to the symptom
    std::vector<NodeNumber> nodes{};
    std::vector<NodeNumber> slow{};
    std::int64_t step = 0;           // the last finished step
    std::int64_t durable_step = 0;   // of the last checkpoint in the store
    std::int64_t memory_step = -1;   // of a complete copy in the memories of living nodes; -1: none
    std::int64_t verified_step = 0;  // with corruption: the last step known to be right
    bool operator==(const Observation&) const = default;
};

enum class ActionKind : std::uint8_t {
    diagnose,   // look for the sick node
    evict,      // remove `node` from the job, for repair
    replace,    // `node` takes slot `slot`
    drop,       // continue without `slot`: its data-parallel unit idles
    reroute,    // continue without `slot`: its peers take over its micro-batches
    take_over,  // continue without `slot`: the node that computes its work redundantly takes over
    wait,       // for a node to become ready
    // Stop at the next checkpoint, or now if `urgent`, so that `node` can leave (kNoNode: none)
    drain,
    restart,        // restart all processes from `source`, at step `step_max` at most
    call_operator,  // a person finds the sick node
    set_interval,   // set the training time between checkpoints to `interval`
    check,          // test all members before they start, and report the failures
};

// The source of the state for a restart.
enum class RestoreSource : std::uint8_t {
    live,    // the survivors' memories: no step is lost
    memory,  // copies in the peers' memories
    remote,  // the checkpoint store
};

// The part of the job that a restart renews.
enum class RestartExtent : std::uint8_t {
    failover,  // nothing: another node has the lost state and takes over
    in_place,  // the processes, on the same nodes
    members,   // the communicators, with changed members
    full,      // all processes and communicators
};

struct Action {
    ActionKind kind = ActionKind::restart;
    NodeNumber node = 0;
    std::uint32_t slot = 0;
    bool urgent = false;
    RestoreSource source = RestoreSource::remote;
    RestartExtent extent = RestartExtent::full;
    std::int64_t step_max = INT64_MAX;
    std::uint32_t checkpoints_back = 0;  // number of checkpoints to go back before the last one
    bool skip_batches = false;           // skip the batches that the restart would repeat
    WallTime interval;
    bool operator==(const Action&) const = default;
};

// An observation and the actions that followed.
struct RecoveryExchange {
    Observation seen;
    std::vector<Action> ordered;
    bool operator==(const RecoveryExchange&) const = default;
};

std::string_view name(ObservationKind kind);
std::string_view name(ActionKind kind);
std::string_view name(RestoreSource source);
std::string_view name(RestartExtent extent);
// One line of a log without a line end, of integers and words only.
std::string to_line(const Observation& observation);
std::string to_line(const Action& action);
// The observation's line, then the lines of its actions, indented.
std::string to_text(const std::vector<RecoveryExchange>& log);

}  // namespace orrery
