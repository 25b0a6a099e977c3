// SPDX-License-Identifier: Apache-2.0
// The answer of a simulated scenario: the fields of the console report and of --json. The names of
// FLOP counts and utilisations say which operations they count (models/plan/flops.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/program/cause.h"
#include "engine/program/program.h"
#include "models/plan/layer_rows.h"
#include "scenarios/format/specs/fault_use.h"
#include "scenarios/studies/network/network_answer.h"
#include "scenarios/studies/simulate/step_efficiency.h"

namespace orrery {

// A part of the waterfall from the device's peak to the MFU. All parts and the MFU add up to 1.
struct LostMfu {
    Cause cause = Cause::useful_compute;
    double mfu = 0;
    Time time;  // of the critical path
};

// The use of a class of links ("nvlink", "nic", "leaf up" …) in the step.
struct LinkUse {
    std::string link_class;
    Bandwidth capacity;  // of one link; zero if they differ
    double mean = 0;     // utilisation over the step and all links of the class, 0 … 1
    double max = 0;      // of its busiest link
};

struct BufferUse {
    std::string name;
    TensorKind kind = TensorKind::activations;
    Bytes bytes;
};

// Memory of a process on its GPU outside the plan (memory_overheads.h).
struct MemoryOverhead {
    std::string name;  // "CUDA context"
    Bytes bytes;
};

// The memory of the rank that allocates most: its memory plan, and the contents at the peak.
struct MemoryUse {
    std::array<Bytes, kNumTensorKinds> of{};  // add up to `in_use`
    Bytes in_use;
    Bytes peak;    // allocated bytes, including gaps between tensors
    Bytes device;  // memory of the device
    std::vector<MemoryOverhead> overheads{};
    bool fits = true;  // the plan with the overheads, the host's memory and its drives
    Bytes host;        // bytes of the ranks of the fullest server in its memory; zero: none
    Bytes host_memory;  // memory of that server
    Bytes drives;       // bytes on its drives
    Bytes drives_size;  // size of its drives; zero: unknown
    // The largest tensors of one rank in the host's memory and on the drives.
    BufferUse host_largest{};
    BufferUse drives_largest{};
    RankId rank{};
    std::string role;                // "pp 0"
    std::string moment;              // "chunk 5 forward, micro-batch 11"
    std::vector<BufferUse> largest;  // descending

    Bytes beside_plan() const {
        Bytes sum;
        for (const MemoryOverhead& overhead : overheads) {
            sum += overhead.bytes;
        }
        return sum;
    }
    Bytes needed() const { return peak + beside_plan(); }
};

// NCCL's choices for the collectives of one kind on one group.
struct CollectiveUse {
    std::string name;  // "all_gather on tp"
    Bytes bytes;
    std::uint32_t ranks = 0;
    std::string algorithm;
    std::string protocol;
    std::uint32_t channels = 0;
    TransferEngine engine = TransferEngine::sm;  // that moves the bytes
    std::uint32_t sms = 0;                       // SMs that each member holds meanwhile
    std::int64_t count = 0;                      // calls of a rank in a step
    Time alone;                                  // time of one call without other transfers
};

// Shares of the kernels' time by source; they add up to 1.
struct CostSources {
    double measured = 0;
    double interpolated = 0;
    double roofline = 0;
};

// The waits of a rank in a step with faults.
struct RankWait {
    RankId rank{};
    std::string relation;  // relation to the fault
    Time kernels;
    CauseTimes waits;  // waits for the peers of its collectives and exchanges, by their cause
};

// The part of a step that moved as packets, and the events of these packets.
struct PacketWindowUse {
    bool whole = true;    // the whole step, or a part of it
    Time begin;           // in the step
    Time lasts;           // length with fair shares
    Time fair_iteration;  // of the step without packets
    std::int64_t transfers = 0;
    // Times as packets over times with fair shares: all together, and the worst.
    double slowdown = 1;
    double slowdown_max = 1;
    std::int64_t packets = 0;  // sent packets, including repeated ones
    std::int64_t repeated = 0;
    std::int64_t marked = 0;
    std::int64_t trimmed = 0;
    std::int64_t dropped = 0;
    std::int64_t pauses = 0;
    std::int64_t failed = 0;  // connections that gave up
    Time paused_max;          // of one port
    Bytes queue_max;          // of one port
    std::string queue_at;     // the port with the longest queue
};

// Members of a group that wait forever in a step that a loss stopped.
struct StuckGroup {
    std::string operation;
    std::string group;  // empty: an exchange of two ranks
    Time since;         // from the beginning of the step
    std::vector<RankId> waiting;
    std::vector<RankId> missing;  // ranks that never arrived; empty: all arrived before the loss
    bool operator==(const StuckGroup&) const = default;
};
struct StepHang {
    std::vector<RankId> lost;
    Time timeout;  // timeout of a collective, after which the job stops
    std::vector<StuckGroup> groups;
};

struct Answer {
    // What was simulated
    std::string scenario;
    std::string model;
    std::string device;
    std::string cluster;  // "1536 x dgx-a100-80g, megascale-clos"
    std::string plan;     // "tp 8, pp 8 x 6, cp 1, dp 192"
    std::int64_t parameters = 0;
    std::int64_t ranks = 0;
    std::int64_t global_batch_size = 0;
    std::int64_t seq_length = 0;  // tokens
    std::int64_t micro_batches = 0;
    std::vector<std::string> remarks{};  // differences from the scenario's request

    // How fast
    Time iteration;
    double tokens_per_s = 0;
    double mfu = 0;         // full attention, without recomputation
    double mfu_causal = 0;  // only unmasked attention
    double hfu = 0;         // full attention, with recomputation
    double hfu_causal = 0;
    Flop model_flops_per_step;  // full attention
    Flop model_flops_per_step_causal;
    Flop hardware_flops_per_step;     // full attention
    FlopRate peak;                    // of one GPU at the plan's precision
    double uncertainty = 0;           // relative standard deviation of the iteration time
    Unseen unseen = Unseen::nothing;  // the uncovered property that widens it
    // The median ratio of measured to predicted time is e^shift for steps with the same uncovered
    // property. The uncertainty is around that.
    double shift = 0;

    // Why
    std::vector<LostMfu> lost_mfu;  // in the order of Cause, without causes that cost nothing
    // Adds up to the iteration; a part is the most that its cause can save
    CauseTimes critical_path;
    std::vector<LinkUse> network;
    std::vector<LinkHeat> heat;  // utilisation of the links, of classes that were used
    // The number of transfers in the given profile, and the number for this device.
    std::size_t profile_transfers = 0;
    std::size_t profile_transfers_here = 0;
    std::vector<CollectiveUse> collectives;
    std::optional<PacketWindowUse> packets;
    CostSources cost_sources;
    // The device is a CPU, and most of the kernels' time comes from the general curves
    bool unprofiled_cpu = false;
    MemoryUse memory;
    // With uneven loads: by layer with experts, and by rank over the mean of its stage.
    std::vector<LayerRows> expert_rows{};
    std::vector<double> rows_of_rank{};
    // With faults in the step
    std::vector<std::string> faults;  // "slow_gpu at node:3/gpu:1, 1.1 times as slow"
    std::vector<FaultLeftOut> faults_left_out;
    Time healthy_iteration;  // of the same step without faults
    std::vector<RankWait> rank_waits;
    std::optional<StepHang> hang;  // if set, all other fields are of the step without the loss

    // How it was computed
    std::string network_model;  // "fluid"
    std::uint64_t seed = 0;
    std::int64_t simulated_ops = 0;
    std::int64_t fold_classes = 0;
    std::int64_t flows = 0;
    std::int64_t distinct_paths = 0;
    std::int64_t rate_solves = 0;
    double wall_s = 0;
    std::int64_t peak_rss_bytes = 0;
    std::string version;

    // Keys that the scenario does not give, with the assumed values.
    std::vector<std::pair<std::string, std::string>> assumed{};
};

}  // namespace orrery
