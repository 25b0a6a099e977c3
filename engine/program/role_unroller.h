// SPDX-License-Identifier: Apache-2.0
// Unrolls a role's step over its slots: where each op is in its stream, and which waits it keeps.
// Slots repeat few segments many times. What does not depend on the slot is found once a segment;
// an op of the step follows from its slot and its place in the segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/program/program.h"

namespace orrery {

inline constexpr std::uint32_t kNoOp = UINT32_MAX;

// What an op of a segment is in every slot.
struct SegmentOp {
    std::int64_t launches = 0;  // of the segment up to this op, with its own
    std::uint32_t ordinal = 0;  // among the segment's ops of its stream
    std::uint8_t stream = 0;
    bool communicates = false;
    bool is_kernel = false;
    // The host waits for the op before it launches the ops that follow it in the Program: it
    // restarts with tensors that it has read.
    bool holds_host = false;
};

struct SegmentOps {
    std::vector<SegmentOp> ops{};
    std::vector<std::uint32_t> on_stream{};  // by stream: number of ops
    std::vector<std::uint32_t> last_op{};    // by stream: its last op, or kNoOp
};

// An op of the unrolled step.
struct FlatOp {
    std::uint32_t flat = kNoOp;  // position in program order
    std::uint32_t ordinal = 0;   // position in its stream
    std::uint32_t stream = 0;
};

struct FlatWait {
    std::uint32_t flat = kNoOp;  // of the op that is waited on
    std::uint32_t stream = 0;
    bool carried = false;
};

// An op that keeps waits: `num_waits` entries of RoleUnroller::waits.
struct WaitingOp {
    std::uint32_t flat = 0;
    std::uint32_t first_wait = 0;
    std::uint32_t num_waits = 0;
};

class RoleUnroller {
public:
    RoleUnroller(const Program& program, bool in_program_order);

    // Replaces the role that was unrolled before. The members below describe this role.
    void unroll(const Role& role);

    const SegmentOps& segment_of(std::uint32_t slot) const {
        return segments_[index(role_->slots[slot].segment)];
    }
    FlatOp flat_op(std::uint32_t slot, std::uint32_t op) const {
        const SegmentOp& known = segment_of(slot).ops[op];
        return {.flat = slot_begin[slot] + op,
                .ordinal =
                    slot_ordinals_[std::size_t{slot} * num_streams + known.stream] + known.ordinal,
                .stream = known.stream};
    }
    std::int64_t launches_to(SlotOp place) const {
        return slot_launches_[place.slot] + segment_of(place.slot).ops[place.op].launches;
    }

    std::uint32_t num_streams = 0;  // of the Program
    std::uint32_t num_ops = 0;
    std::int64_t num_launches = 0;
    std::vector<std::uint32_t> ops_on;      // by stream: number of ops
    std::vector<std::uint32_t> slot_begin;  // by slot: position of its first op
    std::vector<FlatOp> host_reads;         // by stream: the last op that the host waits for
    std::vector<bool> watched;              // by flat op: another stream, or the host, waits on it
    std::vector<WaitingOp> waiting;         // in program order
    std::vector<FlatWait> waits;
    // The host does not wait for all ops, so that some may still run when the next step begins.
    bool overlaps_steps = false;

private:
    std::uint8_t stream_of(const Op& op) const;
    void describe(const Segment& segment, SegmentOps& out) const;
    void lay_out();
    void find_host_reads();
    void find_waits();
    void find_waits_of_slot(std::uint32_t slot);
    void keep_waits(std::uint32_t flat, std::size_t own);
    void watch_host_reads();

    const Program& program_;
    bool in_program_order_;
    const Role* role_ = nullptr;
    std::vector<SegmentOps> segments_;          // by segment; without ops until a slot executes it
    std::vector<std::int64_t> slot_launches_;   // by slot: launches before it
    std::vector<std::uint32_t> slot_ordinals_;  // by slot and stream: ops on the stream before it
    FlatOp last_hold_;                          // the last op that held the host
    std::vector<bool> knows_hold_;              // by stream: whether an op of it waits for that op
    std::vector<SlotWait> slot_waits_;
    // Waits of one op as they stand in the Program, and whether they are carried
    std::vector<std::pair<FlatOp, bool>> wanted_;
    std::vector<FlatWait> latest_;  // by step (the one before, this one) and stream
    // By step, stream and other stream: ordinal + 1 of the last op known to have ended
    std::vector<std::uint32_t> known_[2];
};

}  // namespace orrery
