// SPDX-License-Identifier: Apache-2.0
// A role's step, unrolled over its slots and cut into *items*, the units of work of an in-order
// stream. An item is one communication op or a *run*: consecutive kernels and host work of a
// stream. Only the last op of a run is waited on from outside, so that a run needs one event. Waits
// become "stream s has ended n items", and waits that an earlier wait implies are dropped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/program.h"
#include "engine/program/step_load.h"
#include "engine/program/transfer_call.h"

namespace orrery {

enum class ItemKind : std::uint8_t { run, collective, send_recv, copy };

// "That stream of the same rank has ended this number of items" in this step, or, if carried, in
// the step before.
struct ItemCondition {
    std::uint32_t items = 0;
    std::uint16_t stream = 0;
    bool carried = false;
};

// One communication of an op: message number `message` of connection `connection` of the role. It
// is the `sequence`-th use of that connection in the step.
struct TapePart {
    std::uint32_t connection = 0;
    std::uint32_t message = 0;
    std::uint32_t sequence = 0;
};

inline constexpr std::uint32_t kNotLoaded = UINT32_MAX;

struct TapeItem {
    ItemKind kind = ItemKind::run;
    bool watched = false;                // an item of another stream, or the host, waits on it
    bool holds_host = false;             // a run: the host launches nothing before its last op ends
    Cause cause = Cause::exposed_other;  // of a communication op
    std::uint32_t first_op = 0;          // index into TapeStream::ops
    std::uint32_t num_ops = 0;
    std::uint32_t first_wait = 0;  // index into RoleTape::conditions
    std::uint32_t num_waits = 0;
    std::uint32_t first_part = 0;  // index into RoleTape::parts
    std::uint32_t num_parts = 0;
    std::uint32_t shape = 0;  // of a run: index into Tapes::shapes
    // Index into RoleTape::loaded if ops of the run have draws (engine/program/step_load.h), else
    // kNotLoaded.
    std::uint32_t loaded = kNotLoaded;
    Time launch{};  // of the first op, relative to host_start
};

struct TapeStream {
    std::vector<TapeItem> items{};
    std::vector<SlotOp> ops{};
    // The host waits for this number of items before it starts the next step; 0: it does not wait.
    std::uint32_t host_items = 0;

    std::uint32_t num_items() const { return static_cast<std::uint32_t>(items.size()); }
};

enum class ConnectionKind : std::uint8_t {
    group,   // one (group, communicator)
    pair,    // one (peer, direction, communicator)
    copies,  // all copies of a rank
};

// The channel of a role's transfers.
struct RoleConnection {
    ConnectionKind kind = ConnectionKind::group;
    bool is_send = false;
    std::uint16_t communicator = 0;
    GroupId group{};
    std::uint32_t digit =
        0;  // of a send or receive: the peer is at distance `delta` along it, 0 <= delta < size
    std::uint32_t delta = 0;
    std::int32_t peers = -1;  // index into Program::peers if the peer is in another party, else -1
    std::uint32_t messages_per_step = 0;
    std::vector<TransferCall> calls{};          // by message: distinct calls in order of first use
    std::vector<std::uint32_t> draws{};         // by message: the draw that decides its size, or 0
    std::vector<std::uint32_t> uses{};          // by message: uses per step
    std::vector<std::uint64_t> stream_masks{};  // by message: the streams of its ops

    std::uint32_t num_messages() const { return static_cast<std::uint32_t>(uses.size()); }
};

struct RoleTape {
    std::vector<TapeStream> streams{};
    std::vector<ItemCondition> conditions{};
    std::vector<TapePart> parts{};
    std::vector<RoleConnection> connections{};
    std::vector<std::uint32_t> loaded{};  // distinct shapes with ops that have draws
    std::uint64_t kernel_streams = 0;     // bit s: stream s has kernels
    std::int64_t num_ops = 0;
    Time last_launch{};  // relative to host_start
    // The host does not wait for all ops, so that some may still run when the next step begins.
    bool overlaps_steps = false;
};

// One op of a run. Runs of equal shape take equal time on equal devices.
struct RunOp {
    Payload payload{};
    Cause cause = Cause::memory_bound_kernels;
    Time launch{};           // relative to the launch of the run's first op
    std::uint32_t draw = 0;  // the draw that decides its work (engine/program/step_load.h)
    bool holds_host = false;  // takes no time: the host waits for the ops before it
    bool operator==(const RunOp&) const = default;
};
using RunShape = std::vector<RunOp>;

struct Tapes {
    std::vector<RoleTape> roles{};
    std::vector<RunShape> shapes{};
    std::uint32_t num_streams = 0;
};

inline constexpr std::uint32_t kStreamsMax = 64;

// The program must have passed verify() (engine/program/verifier.h). `launch_costs` has the host
// time of one launch, by party.
Tapes build_tapes(const Program& program,
                  std::span<const Time> launch_costs,
                  bool in_program_order = false,
                  const StepLoad* load = nullptr);
// The same launch cost for all parties.
Tapes build_tapes(const Program& program, Time launch_cost, bool in_program_order = false);

}  // namespace orrery
