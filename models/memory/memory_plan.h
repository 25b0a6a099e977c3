// SPDX-License-Identifier: Apache-2.0
// Places of a rank's tensors in one arena, by their lifetimes (models/memory/tensor_lifetimes.h).
// The real executor allocates this arena, and a simulation prints its size as the peak of memory.
//
// First come the tensors that live through the whole step, then the blocks of tensors that live for
// some slots. The tensors of a single slot come last, above the blocks that live during that slot.
// They take the place of the blocks on top that the slot releases, after their release.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "engine/program/program.h"
#include "models/memory/tensor_lifetimes.h"

namespace orrery {

// A request for `bytes` from time `begin` to `end`, both included.
struct Interval {
    std::int64_t bytes = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
};
struct Packing {
    std::vector<std::int64_t> offsets;  // of each interval; multiples of kTensorAlignment
    std::int64_t bytes = 0;             // of the whole packing
};
// The order in which intervals are placed; each gets the best fit among the intervals placed before
// it. by_size packs most tightly (Pisarchyk and Lee 2020, "Efficient memory management for deep
// neural net inference", greedy by size). by_end is by_begin backwards in time. With by_begin and
// by_end the time for one interval grows with the intervals alive. With the others it also grows
// with the intervals that begin during it.
enum class PackingOrder : std::uint8_t { by_size, by_begin, by_end, by_length };
Packing pack(std::span<const Interval> intervals, PackingOrder order);
// Packs by_size. `below` is placed first, at offset 0, and does not count in the packing's bytes.
Packing pack_above(const Interval& below, std::span<const Interval> intervals);
// Packs by_begin, unless this leaves gaps and another order leaves fewer. Such gaps occur when
// micro-batches overtake one another (DualPipe): long-lived tensors then lie between short-lived
// ones. by_size and by_length are tried only for a few thousand intervals, because long-lived
// intervals overlap many others and cost time.
Packing pack_tightly(std::span<const Interval> intervals);

inline constexpr std::int64_t kTensorAlignment = 64;

class MemoryPlan {
public:
    MemoryPlan(const Program& program, RoleId role);

    RoleId role() const { return role_id_; }
    std::int64_t bytes() const { return bytes_; }
    const RoleLifetimes& lifetimes() const { return lifetimes_; }

    // The offset of a tensor that an op of this slot uses, in bytes.
    std::int64_t offset(std::uint32_t slot, TensorId tensor) const;
    // The offset, in bytes, of a tensor that outlives slots; -1 if the role does not have it.
    std::int64_t offset_of_instance(TensorId tensor, std::int32_t micro_batch) const;
    // All tensors that outlive slots.
    std::vector<TensorInstance> instances() const;

    // The tensors that are zero at the beginning of a step: persistent gradients and tensors of the
    // step.
    std::vector<TensorId> cleared_before_step() const;
    Bytes cleared_bytes() const;

private:
    void place_whole_step();
    void place_blocks();
    void place_slots();
    std::size_t place_slot(std::uint32_t slot, std::int64_t released_bytes);

    const Program& program_;
    RoleId role_id_;
    const Role& role_;
    RoleLifetimes lifetimes_;
    std::map<TensorInstance, std::int64_t> whole_step_;
    std::int64_t whole_bytes_ = 0;
    std::vector<std::map<TensorId, std::int64_t>> in_group_;  // by group
    std::vector<std::int64_t> group_bytes_;
    std::vector<std::int64_t> blocks_;  // offsets of RoleLifetimes::blocks
    std::map<std::int32_t, std::vector<std::uint32_t>> blocks_of_;  // by micro-batch
    // Places of a segment's own tensors above what its slot releases after some ops.
    struct OwnPlaces {
        std::map<TensorId, std::int64_t> offsets;
        std::int64_t bytes = 0;
    };
    std::map<std::tuple<SegmentId, std::uint32_t, std::int64_t>, std::size_t> known_places_;
    std::vector<OwnPlaces> own_places_;
    std::vector<std::size_t> places_of_slot_;  // of own_places_
    std::vector<std::int64_t> slots_;          // the offset at which each slot's own tensors begin
    std::int64_t bytes_ = 0;
};

}  // namespace orrery
