// SPDX-License-Identifier: Apache-2.0
// A role's step, unrolled over its slots and cut into what each in-order stream works off: *items*.
// An item is one communication op, or a *run*: consecutive kernels and host work of a
// stream that nothing outside waits on before the last of them, so that the whole run needs one
// event. Waits become "stream s has ended n items"; waits that an earlier one implies are dropped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/program.h"
#include "engine/program/step_load.h"
#include "engine/program/transfer_call.h"

namespace orrery {

enum class ItemKind : std::uint8_t { run, collective, send_recv, copy };

// "That stream of the same rank has ended this many items in this step", or in the one before.
struct ItemCondition {
    std::uint32_t items = 0;
    std::uint16_t stream = 0;
    bool carried = false;
};

// One communication of an op: message `message` of the role's connection `connection`, as the
// `sequence`-th of that connection in the step.
struct TapePart {
    std::uint32_t connection = 0;
    std::uint32_t message = 0;
    std::uint32_t sequence = 0;
};

inline constexpr std::uint32_t kNotLoaded = UINT32_MAX;

struct TapeItem {
    ItemKind kind = ItemKind::run;
    bool watched = false;                // an item of another stream, or the host, waits on it
    Cause cause = Cause::exposed_other;  // of a communication op
    std::uint32_t first_op = 0;          // TapeStream::ops
    std::uint32_t num_ops = 0;
    std::uint32_t first_wait = 0;  // RoleTape::conditions
    std::uint32_t num_waits = 0;
    std::uint32_t first_part = 0;  // RoleTape::parts
    std::uint32_t num_parts = 0;
    std::uint32_t shape = 0;  // of a run: index into the shapes that all tapes share
    // A run whose ops have draws (engine/program/step_load.h): its place in RoleTape::loaded; else
    // kNotLoaded.
    std::uint32_t loaded = kNotLoaded;
    Time launch{};  // of the first op, after host_start
};

struct TapeStream {
    std::vector<TapeItem> items{};
    std::vector<SlotOp> ops{};
    // Before the next step the host waits until this many items have ended; 0: for none.
    std::uint32_t host_items = 0;

    std::uint32_t num_items() const { return static_cast<std::uint32_t>(items.size()); }
};

enum class ConnectionKind : std::uint8_t {
    group,   // one (group, communicator)
    pair,    // one (peer, direction, communicator)
    copies,  // all copies of a rank
};

// What the role's transfers go over.
struct RoleConnection {
    ConnectionKind kind = ConnectionKind::group;
    bool is_send = false;
    std::uint16_t communicator = 0;
    GroupId group{};
    std::uint32_t digit =
        0;  // of a send or receive: the peer is `delta` further, 0 <= delta < size
    std::uint32_t delta = 0;
    std::int32_t peers = -1;  // or it is in another party: Program::peers
    std::uint32_t messages_per_step = 0;
    std::vector<TransferCall> calls{};          // by message: distinct ones in order of first use
    std::vector<std::uint32_t> draws{};         // by message: which decides its size, or 0
    std::vector<std::uint32_t> uses{};          // by message: how often in a step
    std::vector<std::uint64_t> stream_masks{};  // by message: the streams that its ops are on

    std::uint32_t num_messages() const { return static_cast<std::uint32_t>(uses.size()); }
};

struct RoleTape {
    std::vector<TapeStream> streams{};
    std::vector<ItemCondition> conditions{};
    std::vector<TapePart> parts{};
    std::vector<RoleConnection> connections{};
    std::vector<std::uint32_t> loaded{};  // distinct shapes whose ops have draws
    std::uint64_t kernel_streams = 0;     // bit s: stream s has kernels
    std::int64_t num_ops = 0;
    Time last_launch{};  // after host_start
    // Ops may be under way when the next step begins: the host does not wait for all.
    bool overlaps_steps = false;
};

// One op of a run. Runs of equal shape take equal time on equal devices.
struct RunOp {
    Payload payload{};
    Cause cause = Cause::memory_bound_kernels;
    Time launch{};           // after the run's first op's
    std::uint32_t draw = 0;  // that decides how much it does (engine/program/step_load.h)
    bool operator==(const RunOp&) const = default;
};
using RunShape = std::vector<RunOp>;

struct Tapes {
    std::vector<RoleTape> roles{};
    std::vector<RunShape> shapes{};
    std::uint32_t num_streams = 0;
};

inline constexpr std::uint32_t kStreamsMax = 64;

// The program must have passed verify() (engine/program/verifier.h). `launch_costs`: of one launch,
// by party.
Tapes build_tapes(const Program& program,
                  std::span<const Time> launch_costs,
                  bool in_program_order = false,
                  const StepLoad* load = nullptr);
// The same launch cost for all.
Tapes build_tapes(const Program& program, Time launch_cost, bool in_program_order = false);

}  // namespace orrery
