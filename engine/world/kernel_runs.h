// SPDX-License-Identifier: Apache-2.0
// The time of a run (engine/program/role_tape.h). Op i is launched at h + l_i and takes d_i. If no
// SMs are held, a run that may start at c ends at max(c + sum d, h + max_i (l_i + sum_{j>=i} d_j)):
// two numbers, computed once per (shape, device). While communication holds SMs, the run is walked
// op by op in integers: at each change of the rate, rate * elapsed is subtracted from the remaining
// work.
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
    Time ideal{};  // part of `duration` that is useful compute
    Cause cause = Cause::memory_bound_kernels;
    bool is_kernel = true;
    std::uint32_t sm_sensitivity_permille = 1000;
    bool persistent = false;
    Time launch{};  // relative to the launch of the run's first op

    // Adds the op's undisturbed time to the path.
    void add_to(PathTimes& path) const {
        path[Cause::useful_compute] += ideal;
        path[cause] += duration - ideal;
    }
};

struct RunTimes {
    std::vector<RunOpTime> ops;
    Time duration{};     // sum d
    Time kernel_time{};  // part of `duration` in kernels
    PathTimes work{};
    Time launch_bound{};      // max_i (l_i - l_0 + sum_{j>=i} d_j)
    PathTimes launch_path{};  // the wait for launch i (after l_0), and the ops from i on
};

// Index: device * number of shapes + shape. An op whose work a draw decides
// (engine/program/step_load.h) has its least time.
std::vector<RunTimes> time_runs(const SimulationInput& input, const Tapes& tapes);

// The runs whose work draws decide, with the work of each rank.
struct LoadedRuns {
    std::vector<RunTimes> runs;  // distinct ones
    // By rank class, device (its own, then `devices`) and RoleTape::loaded: index into `runs`.
    std::vector<std::uint32_t> number;
    std::vector<std::uint64_t> first;    // by rank class: index of its first entry in `number`
    std::vector<std::uint16_t> devices;  // the other devices that its ranks may change to

    const RunTimes& of(RankClassId r,
                       std::uint16_t own,
                       std::uint16_t device,
                       std::size_t in_tape,
                       std::uint32_t loaded) const;
};
LoadedRuns time_loaded_runs(const SimulationInput& input,
                            const Tapes& tapes,
                            const Quotient& quotient);

// The state of a walked run. It exists only if SMs were held during the run, or if its ops are
// traced.
struct RunWalk {
    const RunTimes* run = nullptr;  // null: not walked
    __int128 work_left = 0;
    std::uint32_t op = 0;  // the current op
    std::uint32_t num_sms = 0;
    Time host_launch{};          // of the first op, absolute
    Time begin{};                // when the current op starts; may be in the future
    Time since{};                // the instant up to which work is counted
    Time stretch{};              // sum of the delays of the ended ops
    std::uint32_t first_op = 0;  // the op at which the path to `begin` enters the run
    bool launch_bound = false;   // that op waited for its launch, not for the run's condition
    Time path_stretch{};         // sum of the delays of the ops from first_op on
    Time kernel_time{};

    bool done() const { return op == run->ops.size(); }
};

// One op that ended during a walk.
struct WalkedOp {
    std::uint32_t op = 0;
    Time begin{};
    Time end{};
};

void begin_walk(
    RunWalk& walk, const RunTimes& run, std::uint32_t num_sms, Time condition, Time host_launch);

// Advances the walk to `now`. `held_sms` must have been constant since the last call. `ended` may
// be null.
void advance_walk(RunWalk& walk, Time now, std::uint32_t held_sms, std::vector<WalkedOp>* ended);

// Continues the run, which is advanced to `since`, on another device. `old` and `next` are the
// times of the same run on the two devices. `mixed` becomes the resulting run and must outlive the
// walk.
void change_device(RunWalk& walk,
                   const RunTimes& old,
                   const RunTimes& next,
                   std::uint32_t num_sms,
                   RunTimes& mixed);

// Whether the current op, which may start in the future, is a kernel.
bool runs_kernel(const RunWalk& walk);
// The end of the current op if the held SMs never change again.
Time end_of_op(const RunWalk& walk, std::uint32_t held_sms);

// The end of the run if the held SMs never change again.
Time end_of_walk(const RunWalk& walk, std::uint32_t held_sms);

// Adds the path to the end of a finished walk. `path` leads to the launch of op first_op if the
// walk is launch_bound, else to the run's condition.
void add_walk(PathTimes& path, const RunWalk& walk);

}  // namespace orrery
