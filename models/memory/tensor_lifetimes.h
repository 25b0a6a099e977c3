// SPDX-License-Identifier: Apache-2.0
// Lifetimes of a role's tensors, in slots of its step and, inside a slot, in ops. Memory plan and
// memory figures follow from these lifetimes alone.
//
// A tensor of Lifetime::slot lives from its first to its last use in each slot. A tensor of a
// micro-batch lives from the first to the last slot of that micro-batch that uses it. Its last slot
// may release it after one of its ops: logits are free before the layers' backward passes, as in
// PyTorch, whose autograd frees what a node saved when the node has run. A gradient of
// Lifetime::step lives likewise over all slots, because its first sum begins at zero. All others
// live through the whole step: persistent tensors, inputs (they are written before the step, which
// may run once more), and tensors that the host reads after the step (the loss, norms).
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

// A tensor, and the micro-batch if each micro-batch has its own instance, else -1.
using TensorInstance = std::pair<TensorId, std::int32_t>;

// The tensors that the ops of a segment use.
struct SegmentTensors {
    struct Span {
        TensorId tensor{};
        std::uint32_t first = 0;  // op
        std::uint32_t last = 0;   // op
    };
    std::vector<Span> own;               // of Lifetime::slot, by tensor
    std::vector<Span> micro_batch;       // of Lifetime::micro_batch, by tensor
    std::vector<TensorId> longer_lived;  // of the other lifetimes, ascending
    std::vector<Bytes> own_bytes;        // of `own` that live at each op
};

// The peak of a segment's own tensors over the ops [first, behind): bytes by kind, and the tensors
// that live at that op.
struct OwnPeak {
    MemoryByKind bytes;
    std::vector<TensorId> tensors;
};
OwnPeak own_peak(const Program& program,
                 const SegmentTensors& segment,
                 std::size_t first,
                 std::size_t behind);

// Tensors that begin and end in the same slots, and are released there or not.
struct TensorGroup {
    std::vector<TensorId> tensors;
    MemoryByKind bytes;
};
struct TensorBlock {
    std::uint32_t group = 0;  // RoleLifetimes::groups
    std::int32_t micro_batch = -1;
    std::uint32_t begin = 0;  // slot
    std::uint32_t end = 0;    // slot, included
    bool released = false;    // in `end`, after RoleLifetimes::releases ops
};

struct RoleLifetimes {
    std::map<SegmentId, SegmentTensors> segments;  // of the segments that the role runs
    std::vector<TensorInstance> whole_step;
    std::vector<TensorGroup> groups;  // shared by micro-batches that pass the same segments
    std::vector<TensorBlock> blocks;  // by begin, released ones last
    // By slot: the number of ops after which its released blocks are free; 0 if it has none. One
    // such place a slot is enough for the part of a segment that needs most.
    std::vector<std::uint32_t> releases;
};
RoleLifetimes tensor_lifetimes(const Program& program, RoleId role);

// Whether the tensor is a gradient that lives for a part of the step. It begins at zero with the
// first op that adds to it.
bool is_passing_gradient(const Tensor& tensor);

}  // namespace orrery
