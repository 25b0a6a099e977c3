// SPDX-License-Identifier: Apache-2.0
// What a simulation of a scenario tells: the fields of the console report and of --json. FLOP
// counts and utilisations are named after what they count (models/plan/flops.h).
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

// A part of the waterfall from the device's peak to the MFU. The parts and the MFU add up to 1.
struct LostMfu {
    Cause cause = Cause::useful_compute;
    double mfu = 0;
    Time time;  // of the critical path
};

// How much of a class of links ("nvlink", "nic", "leaf up" …) the step uses.
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

// What a process takes of its GPU beside the plan (memory_overheads.h).
struct MemoryOverhead {
    std::string name;  // "CUDA context"
    Bytes bytes;
};

// Of the rank that allocates most: its memory plan, and what is in use when most is.
struct MemoryUse {
    std::array<Bytes, kNumTensorKinds> of{};  // add up to `in_use`
    Bytes in_use;
    Bytes peak;    // what is allocated: also the gaps that the plan leaves between tensors
    Bytes device;  // what the device has
    std::vector<MemoryOverhead> overheads{};
    bool fits = true;  // the plan with the overheads, the host's memory and its drives
    Bytes host;         // what the ranks of the fullest server have in its memory; zero: nothing
    Bytes host_memory;  // what that server has
    Bytes drives;       // the same of its drives
    Bytes drives_size;  // zero: not known
    // The largest tensor of one rank there.
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

// What NCCL would run for the collectives of one kind on one group.
struct CollectiveUse {
    std::string name;  // "all_gather on tp"
    Bytes bytes;
    std::uint32_t ranks = 0;
    std::string algorithm;
    std::string protocol;
    std::uint32_t channels = 0;
    TransferEngine engine = TransferEngine::sm;  // that moves the bytes
    std::uint32_t sms = 0;                       // that each member holds meanwhile
    std::int64_t count = 0;                      // a rank and step
    Time alone;                                  // of one call while nothing else moves
};

// Shares of the kernels' time, adding up to 1.
struct CostSources {
    double measured = 0;
    double interpolated = 0;
    double roofline = 0;
};

// What a rank did in a step with faults, and for whom it waited.
struct RankWait {
    RankId rank{};
    std::string relation;  // to the fault
    Time kernels;
    CauseTimes waits;  // for the peers of its collectives and exchanges, by their cause
};

// What moved as packets, and what it met.
struct PacketWindowUse {
    bool whole = true;    // the step, else part of it
    Time begin;           // in the step
    Time lasts;           // as fair shares have it
    Time fair_iteration;  // of the step without packets
    std::int64_t transfers = 0;
    // How many times as long they take as with fair shares: all together, and the worst.
    double slowdown = 1;
    double slowdown_max = 1;
    std::int64_t packets = 0;  // sent, repeated ones included
    std::int64_t repeated = 0;
    std::int64_t marked = 0;
    std::int64_t trimmed = 0;
    std::int64_t dropped = 0;
    std::int64_t pauses = 0;
    std::int64_t failed = 0;  // connections that gave up
    Time paused_max;          // of one port
    Bytes queue_max;          // of one port
    std::string queue_at;     // which
};

// Members of a group who wait for ever in a step that a loss stopped.
struct StuckGroup {
    std::string operation;
    std::string group;  // empty: an exchange of two
    Time since;         // after the step's begin
    std::vector<RankId> waiting;
    std::vector<RankId> missing;  // who never arrived; none: it broke when all had
    bool operator==(const StuckGroup&) const = default;
};
struct StepHang {
    std::vector<RankId> lost;
    Time timeout;  // of a collective, after which the job stops
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
    std::vector<std::string> remarks{};  // what is not quite as the scenario asks for

    // How fast
    Time iteration;
    double tokens_per_s = 0;
    double mfu = 0;         // full attention, without recomputation
    double mfu_causal = 0;  // only the attention that is not masked
    double hfu = 0;         // full attention, with recomputation
    double hfu_causal = 0;
    Flop model_flops_per_step;  // full attention
    Flop model_flops_per_step_causal;
    Flop hardware_flops_per_step;     // full attention
    FlopRate peak;                    // of one GPU at the plan's precision
    double uncertainty = 0;           // relative standard deviation of the iteration time
    Unseen unseen = Unseen::nothing;  // what widens it
    // Steps that lack as much took e^shift times as long as predicted in the median; the
    // uncertainty is around that.
    double shift = 0;

    // Why
    std::vector<LostMfu> lost_mfu;  // in the order of Cause, without causes that cost nothing
    CauseTimes critical_path;       // adds up to the iteration; what a cause at zero can save
    std::vector<LinkUse> network;
    std::vector<LinkHeat> heat;  // utilisation of the links, of classes that were used
    // Transfers that the given profile has, and those of them that are of this device.
    std::size_t profile_transfers = 0;
    std::size_t profile_transfers_here = 0;
    std::vector<CollectiveUse> collectives;
    std::optional<PacketWindowUse> packets;
    CostSources cost_sources;
    bool unprofiled_cpu = false;  // a CPU, and most of the kernels' time is the curves' guess
    MemoryUse memory;
    // Of uneven loads: by layer with experts, and by rank over the mean of its stage.
    std::vector<LayerRows> expert_rows{};
    std::vector<double> rows_of_rank{};
    // With faults in the step
    std::vector<std::string> faults;  // "slow_gpu at node:3/gpu:1, 1.1 times slower"
    std::vector<FaultLeftOut> faults_left_out;
    Time healthy_iteration;  // of the same step without them
    std::vector<RankWait> rank_waits;
    std::optional<StepHang> hang;  // then all else is of the step without the loss

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

    // Keys that the scenario does not give, with the values that were taken for them.
    std::vector<std::pair<std::string, std::string>> assumed{};
};

}  // namespace orrery
