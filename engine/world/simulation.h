// SPDX-License-Identifier: Apache-2.0
// The input and the result of a simulation, and the rules that every simulated executor obeys. Two
// executors implement them: engine/world/simulated_executor.h (folded, fast) and tests/reference
// (one op and one flow at a time, nothing folded, no shared code). They agree to the picosecond.
//
// Rules
//  1. Stream order. An op of a (rank, stream) starts after the previous op of that stream ended, in
//     program order, across steps too. A device without streams (in_program_order) has one for all
//     ops except the ones that only send.
//  2. Waits. It starts after every op that it waits on ended. A carried wait is on the op of the
//     step before; in the first step of a run there is none.
//  3. Host. It starts no earlier than its launch: host_start(rank, step) + the sum of
//     launches * launch_cost over the rank's ops up to and including it in program order.
//     host_start(rank, 0) = the start of its party's run; host_start(rank, step+1) = the last end
//     of the ops of `step` that the host reads (Role::host_reads; all if it names none), and no
//     earlier than the last launch of `step`. Ops carry no other dependence on the host. So the
//     streams of a rank may be in different steps.
//  4. Kernels. A started kernel has duration * 2^20 units of work and does
//     kernel_rate(held, num_sms, sensitivity) units a picosecond, where held = the sum of the SMs
//     of the rank's collective and send_recv ops that have started (arrived) and not ended. It ends
//     at the first whole picosecond when its work is done. A persistent kernel always does 2^20,
//     but has duration * persistent_work(held, num_sms, sensitivity) with the SMs held when it
//     starts, and never more than duration * 2^20 left while none are held.
//  5. Collectives. The k-th op of a rank on (group, communicator) belongs to the same operation as
//     its peers' k-th. An op starts when rules 1-3 let it: its rank's arrival. When the last
//     member has arrived the phases run one after the other: the latency passes, then the parts
//     flow together; a phase ends with its last part. All members' ops end with the last phase.
//     A group of one rank ends on arrival.
//  6. Send_recv. Each part runs as a transfer (SendCall) of its own as soon as both its sides have
//     arrived. The op ends with its last part. It holds the sum of its parts' SMs, receives
//     included, from its arrival to its end. A part whose peer is the rank itself (a digit of size
//     one) is never planned: it holds nothing and ends when both its sides have arrived.
//  7. Rates. At an instant all ends and starts take effect until nothing more happens, then the
//     rates of all transfers in flight are the max-min allocation of network/fluid/fluid.h. A part
//     with zero bytes or an empty phase ends when its latency has passed. A flow's remaining work
//     is bytes * 8 * 10^12 (bit * ps), minus rate * elapsed; it ends at the first whole picosecond
//     when that is <= 0. If the network has no contention, the rate of a part is always
//     min(rate_max, floor(capacity / count) over its links).
//  8. Host work takes its given duration, or the device's for a restart (rate never changes). A
//     restart with operands takes no time, but holds the host: later ops of the step in program
//     order wait for its end, and host_start becomes that end minus its launch, if that is later.
//  9. Copies. A copy is a transfer of its rank alone (CopyCall). It starts when rules 1-3 let it,
//     runs its phases as a collective does, and shares its links by rule 7 with all other
//     transfers. It holds no SMs.
// 10. Loads. With SimulationInput::load a kernel takes the time that belongs to its rank's level in
//     the draw of its slot's micro-batch, and a collective is planned with its members' own rows.
// 11. Queues. If its device says so (communication_queues), an op that holds SMs asks for them one
//     picosecond after rules 1-3 let it start. It arrives when the kernels of its rank have ended
//     that started before it asked. A GPU starts the blocks of kernels in the order of the kernels
//     (Amert et al., RTSS 2017), those of NCCL share no SM with others (nccl issue 689), and all
//     must find one (issue 1431 there). The picosecond puts the op behind kernels that start at the
//     same instant: an event between streams takes longer than the order of one stream.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/cause.h"
#include "engine/program/kernel_cost.h"
#include "engine/program/network_model.h"
#include "engine/program/program.h"
#include "engine/program/step_load.h"
#include "engine/world/step_events.h"

namespace orrery {

inline constexpr Time kAsksAfter = Time::picoseconds(1);  // rule 11

// Ranks of equal speed share a class. Class 0 is the healthy device.
struct DeviceTimings {
    // In the order of Program::kernels, followed by the entries of a StepLoad.
    std::vector<KernelTime> kernels;
    Time restart;               // of HostWorkKind::restart
    std::uint32_t num_sms = 0;  // 0: kernels are never slowed by communication
    bool communication_queues = false;  // for the SMs that kernels hold (rule 11)
};

// The run of a party of the program. The jobs of a cluster have starts and numbers of steps of
// their own.
struct PartyRun {
    Time start;
    std::uint32_t steps = 2;
    Time launch_cost;  // host time of one launch
};

// Ways to the same result in less time. Any of them may be switched off: no combination changes the
// simulated times (tests/reference/accelerations_agree_test.cpp).
struct Accelerations {
    // Ranks and links that always behave alike are simulated once (engine/world/folding.h).
    bool folding = true;
    // Ranks that behave alike for now share one state (engine/world/lockstep_groups.h).
    bool lockstep_groups = true;
    // Equal messages from one lockstep group to another are one flow (engine/world/bundles.h).
    bool bundles = true;
    // Equal parts of a transfer are one flow (SharedRates::join_footprints).
    bool joined_flows = true;
    // A transfer that has its links to itself is not a flow (engine/world/exclusive_connections.h).
    bool exclusive_connections = true;
    // A lockstep group, or a single rank, runs ahead of the others (engine/world/local_times.h).
    bool local_clocks = true;
    // If all ranks meet at the end of a step (engine/world/step_barrier.h), all steps after the
    // first are alike. Only the end of the last step but one and the last step are simulated. It
    // does not apply if steps overlap.
    bool step_barrier = true;

    // Off: every rank and every link by itself, on the common clock.
    void fold(bool on) { folding = lockstep_groups = local_clocks = on; }
};

struct SimulationInput {
    const Program* program = nullptr;
    const NetworkModel* network = nullptr;
    std::vector<DeviceTimings> devices;       // by device class
    std::vector<std::uint16_t> device_class;  // by rank; empty: all 0
    // The loads of each rank, equal in every step; null: the work in the Program.
    const StepLoad* load = nullptr;
    Time launch_cost;               // host time of one launch
    bool in_program_order = false;  // the devices have no streams (rule 1)
    std::uint32_t steps = 2;        // SimulationResult::iteration is the period of the last step
    // By party, equal for all parties of a job. Empty: `launch_cost` and `steps` apply to all.
    std::vector<PartyRun> runs{};
    Accelerations accelerations{};
    std::vector<RankId> traced_ranks;
    StepEvents events{};  // on the same time axis as the result
    // Called from time to time with the fraction of finished ops, 0 … 1.
    std::function<void(double)> progress;

    PartyRun run_of(std::uint32_t party) const {
        return runs.empty() ? PartyRun{{}, steps, launch_cost} : runs[party];
    }
};

// Members of a group, or the two sides of an exchange, that wait for ever.
struct StuckOperation {
    std::string operation;        // "all_reduce of …": the op's name on one of the waiting ranks
    std::string group;            // name of the group; empty: an exchange of two ranks
    Time since;                   // arrival of the last rank that did arrive
    std::vector<RankId> waiting;  // in these lists one rank of a fold class represents all
    // Ranks that never arrived; empty: the operation broke after all had arrived
    std::vector<RankId> missing;
};

// A step that never ends.
struct Hang {
    Time since;  // arrival at the first operation that never ends
    std::vector<RankId> lost;
    std::vector<StuckOperation> operations;  // operations that wait for a lost rank come first
};

struct TracedOp {
    RankId rank{};
    std::uint32_t step = 0;
    std::uint32_t slot = 0;
    std::uint32_t op = 0;  // position in the slot's segment
    Time start;            // for communication, the arrival
    Time data_start;       // arrival of the last peer (= start for kernels)
    Time end;
};

// The steps of one job.
struct PartySteps {
    Time iteration;  // as SimulationResult::iteration
    std::vector<Time> step_end;
    CauseTimes critical_path;
    RankId slowest_rank{};
    std::vector<Bytes> link_bytes;  // by LinkId: bytes of one step of this party
};

struct SimulationResult {
    // The steps of the first job. `parties` has the other jobs.
    Time iteration;  // end of the last step - end of the step before it, or the start of the run
    // By step: the end of the last op over all ranks, even if ops of the next step had begun by
    // then. If steps were skipped, their ends are one iteration apart, and all times count from the
    // barrier of the last step but one.
    std::vector<Time> step_end;
    // The critical path of the last step's period. Each op adds its own time to the path of the
    // predecessor that ended last. Adds up to `iteration`.
    CauseTimes critical_path;
    // Time in ops by cause, summed over all ranks, in the last step. The ideal part of kernels
    // counts as useful_compute, their slow-down by communication as interference. Divide by
    // num_ranks for the mean.
    CauseTimes busy_sum;
    RankId slowest_rank{};           // the rank of the op that ended last
    std::vector<Time> rank_compute;  // by fold class, of all parties: kernel time of the last step
    std::vector<std::uint32_t> fold_class_of_rank;
    std::uint32_t fold_classes = 0;
    std::int64_t distinct_paths = 0;  // number of footprints in the rate solver
    std::int64_t flows = 0;           // transfers that shared links, in all simulated steps
    std::int64_t rate_solves = 0;
    std::int64_t events = 0;         // events of the clock, without the ends of flows
    std::int64_t simulated_ops = 0;  // over all ranks and steps, including folded and skipped ones
    // By link class, in the last step: the mean utilisation of its links, 0 … 1, and the
    // utilisation of its busiest link.
    std::vector<double> link_class_utilisation_mean;
    std::vector<double> link_class_utilisation_max;
    std::vector<Bytes> link_bytes;    // by LinkId: bytes of one step of each party
    std::vector<PartySteps> parties;  // by job; empty if there is only one
    // Ops of the traced ranks, ordered by (rank, start). If steps were skipped, it starts at the
    // barrier.
    std::vector<TracedOp> trace;
    // Set if a loss (engine/world/step_events.h) stopped the step. Only `hang`, `trace` and the
    // fold classes are valid then.
    std::optional<Hang> hang{};
};

// The error of a program that makes no progress names the ops that wait on each other.
using SimulationOutcome = Result<SimulationResult>;

}  // namespace orrery
