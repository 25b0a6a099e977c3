// SPDX-License-Identifier: Apache-2.0
// Which tensors of a role live when, in slots of its step and, inside a slot, in ops. Memory plan
// and memory figures both follow from this, and from nothing else.
//
// A tensor of Lifetime::slot lives from its first to its last use in each slot. One of a
// micro-batch lives from the first to the last slot of that micro-batch that touches it, and so
// does, over all slots, a gradient of Lifetime::step: its first sum finds zeros. All
// others live through the whole step: what persists, inputs (written before the step, and the step
// may run once more), and what the host reads after the step (the loss, norms).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/program/program.h"

namespace orrery {

struct MemoryByKind {
    std::array<Bytes, kNumTensorKinds> of{};
    Bytes& operator[](TensorKind k) { return of[static_cast<std::size_t>(k)]; }
    const Bytes& operator[](TensorKind k) const { return of[static_cast<std::size_t>(k)]; }
    Bytes total() const;
    MemoryByKind& operator+=(const MemoryByKind& other);
    MemoryByKind& operator-=(const MemoryByKind& other);
};

// A tensor, and of one that each micro-batch has anew the micro-batch, else -1.
using TensorInstance = std::pair<TensorId, std::int32_t>;

// What the ops of a segment touch.
struct SegmentTensors {
    struct Span {
        TensorId tensor{};
        std::uint32_t first = 0;  // op
        std::uint32_t last = 0;   // op
    };
    std::vector<Span> own;               // of Lifetime::slot, by tensor
    std::vector<TensorId> micro_batch;   // of Lifetime::micro_batch, ascending
    std::vector<TensorId> longer_lived;  // of the other lifetimes, ascending
    // The op at which `own` takes most, and what lives then.
    MemoryByKind own_peak;
    std::vector<TensorId> own_at_peak;
};

// Tensors that begin and end with the same slots.
struct TensorGroup {
    std::vector<TensorId> tensors;
    MemoryByKind bytes;
};
struct TensorBlock {
    std::uint32_t group = 0;  // RoleLifetimes::groups
    std::int32_t micro_batch = -1;
    std::uint32_t begin = 0;  // slot
    std::uint32_t end = 0;    // slot, included
};

struct RoleLifetimes {
    std::map<SegmentId, SegmentTensors> segments;  // that the role runs
    std::vector<TensorInstance> whole_step;
    std::vector<TensorGroup> groups;  // micro-batches that pass the same segments share them
    std::vector<TensorBlock> blocks;  // by begin
};
RoleLifetimes tensor_lifetimes(const Program& program, RoleId role);

// Whether it is a gradient that lives for a part of the step: it begins at zero with the first op
// that adds to it.
bool is_passing_gradient(const Tensor& tensor);

}  // namespace orrery
