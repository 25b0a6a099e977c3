// SPDX-License-Identifier: Apache-2.0
// Where the tensors of a rank lie in one arena, by their lifetimes
// (models/memory/tensor_lifetimes.h). The real executor allocates this arena, and a simulation
// prints its size as the peak of memory.
//
// First come the tensors that live through the step, then the blocks of tensors that live for some
// slots, then, on top of what lives during a slot, the tensors of that slot alone.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/program/program.h"
#include "models/memory/tensor_lifetimes.h"

namespace orrery {

// Something that needs `bytes` from `begin` to `end`, both included.
struct Interval {
    std::int64_t bytes = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
};
struct Packing {
    std::vector<std::int64_t> offsets;  // of each interval, aligned
    std::int64_t bytes = 0;             // of all together
};
// Each interval gets the best fit among those placed before it. The largest first packs tightest
// (Pisarchyk and Lee 2020, "Efficient memory management for deep neural net inference", greedy by
// size). An interval takes time in proportion to what overlaps it and to the beginnings while it
// lasts.
enum class PackingOrder : std::uint8_t { by_size, by_begin, by_length };
Packing pack(std::span<const Interval> intervals, PackingOrder order);
// By their beginnings, unless that leaves gaps and another order smaller ones: where micro-batches
// overtake one another (DualPipe), what lives long lies between what does not. Other orders are
// tried for a few thousand intervals only: what lives long overlaps much.
Packing pack_tightly(std::span<const Interval> intervals);

inline constexpr std::int64_t kTensorAlignment = 64;

class MemoryPlan {
public:
    MemoryPlan(const Program& program, RoleId role);

    RoleId role() const { return role_id_; }
    std::int64_t bytes() const { return bytes_; }
    const RoleLifetimes& lifetimes() const { return lifetimes_; }

    // Offset of a tensor that an op of this slot touches.
    std::int64_t offset(std::uint32_t slot, TensorId tensor) const;
    // The offset of a tensor that outlives slots; -1 if the role has none.
    std::int64_t offset_of_instance(TensorId tensor, std::int32_t micro_batch) const;
    // Every tensor that outlives slots.
    std::vector<TensorInstance> instances() const;

    // What a step begins with as zeros: gradients that persist and tensors of the step.
    std::vector<TensorId> cleared_before_step() const;
    Bytes cleared_bytes() const;

private:
    void place_whole_step();
    void place_blocks();
    void place_slots();

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
    std::map<SegmentId, std::map<TensorId, std::int64_t>> in_slot_;
    std::vector<std::int64_t> slots_;  // where each slot's own tensors begin
    std::int64_t bytes_ = 0;
};

}  // namespace orrery
