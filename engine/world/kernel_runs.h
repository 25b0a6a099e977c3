// SPDX-License-Identifier: Apache-2.0
// How long a run (engine/program/role_tape.h) takes. With op i launched at h + l_i and taking d_i,
// and every SM its own, a run that may start at c ends at max(c + sum d, h + max_i (l_i +
// sum_{j>=i} d_j)): two numbers, computed once per (shape, device). While communication holds SMs
// the run is walked op by op, in integers: rate * elapsed is taken from the work that is left
// whenever the rate changes.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/critical_path.h"
#include "engine/program/role_tape.h"
#include "engine/world/folding.h"
#include "engine/world/simulation.h"

namespace orrery {

// One op of a run on one device.
struct RunOpTime {
    Time duration{};
    Time ideal{};  // of it: useful compute
    Cause cause = Cause::memory_bound_kernels;
    bool is_kernel = true;
    std::uint32_t sm_sensitivity_permille = 1000;
    Time launch{};  // after the run's first op's

    // What the op adds to the path if nothing slows it down.
    void add_to(PathTimes& path) const {
        path[Cause::useful_compute] += ideal;
        path[cause] += duration - ideal;
    }
};

struct RunTimes {
    std::vector<RunOpTime> ops;
    Time duration{};     // sum d
    Time kernel_time{};  // of it in kernels
    PathTimes work{};
    Time launch_bound{};      // max_i (l_i - l_0 + sum_{j>=i} d_j)
    PathTimes launch_path{};  // the wait for launch i (after l_0), and what follows
};

// By device * number of shapes + shape. An op that a draw decides (engine/program/step_load.h)
// takes what it does at the least.
std::vector<RunTimes> time_runs(const SimulationInput& input, const Tapes& tapes);

// The runs that draws decide, as each rank has them.
struct LoadedRuns {
    std::vector<RunTimes> runs;  // distinct ones
    // By rank class, by alternative device, by RoleTape::loaded: position in `runs`.
    std::vector<std::uint32_t> number;
    std::vector<std::uint64_t> first;    // by rank class: in `number`
    std::vector<std::uint16_t> devices;  // besides its own one: devices that it may become

    const RunTimes& of(RankClassId r,
                       std::uint16_t own,
                       std::uint16_t device,
                       std::size_t in_tape,
                       std::uint32_t loaded) const;
};
LoadedRuns time_loaded_runs(const SimulationInput& input,
                            const Tapes& tapes,
                            const Quotient& quotient);

// The state of a run that is walked. Only if the rank's held SMs were not zero throughout, or if
// its ops are traced.
struct RunWalk {
    const RunTimes* run = nullptr;  // null: not walked
    __int128 work_left = 0;
    std::uint32_t op = 0;  // the current one
    std::uint32_t num_sms = 0;
    Time host_launch{};          // of the first op, absolute
    Time begin{};                // when the op starts; may lie ahead
    Time since{};                // its work is counted up to here
    Time stretch{};              // what the ops that ended took longer than alone
    std::uint32_t first_op = 0;  // where the path to `begin` enters the run
    bool launch_bound = false;   // there it waited for the launch, not for what came before the run
    Time path_stretch{};         // of the ops from first_op on
    Time kernel_time{};

    bool done() const { return op == run->ops.size(); }
};

// What a walk reports about each op that ended.
struct WalkedOp {
    std::uint32_t op = 0;
    Time begin{};
    Time end{};
};

void begin_walk(
    RunWalk& walk, const RunTimes& run, std::uint32_t num_sms, Time condition, Time host_launch);

// Works until `now` with the same SMs held since the last call. `ended` may be null.
void advance_walk(RunWalk& walk, Time now, std::uint32_t held_sms, std::vector<WalkedOp>* ended);

// The rest of the run, which is done up to `since`, goes on as on another device: `old` and `next`
// are the same run on the two. `mixed` becomes the run as it is then, and has to outlive the walk.
void change_device(RunWalk& walk,
                   const RunTimes& old,
                   const RunTimes& next,
                   std::uint32_t num_sms,
                   RunTimes& mixed);

// When the run ends if the held SMs never change again.
Time end_of_walk(const RunWalk& walk, std::uint32_t held_sms);

// Adds the path to the end of a walk that is done. `path` leads to the launch of its first op if
// the walk is launch_bound, else to its condition.
void add_walk(PathTimes& path, const RunWalk& walk);

}  // namespace orrery
