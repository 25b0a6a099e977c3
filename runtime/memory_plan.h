// SPDX-License-Identifier: Apache-2.0
// Where the tensors of a rank lie in one arena, by the lifetimes that the Program gives them:
// persistent and step tensors and inputs have a place of their own; those of a micro-batch a place
// from its first to its last slot; those of a slot a place in one region that every slot uses anew.
// Places are found first-fit, in the order of their beginnings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "engine/program.h"

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
Packing pack(std::span<const Interval> intervals);

inline constexpr std::int64_t kTensorAlignment = 64;

class MemoryPlan {
public:
    MemoryPlan(const Program& program, RoleId role);

    std::int64_t bytes() const { return bytes_; }
    // Offset of a tensor that an op of this slot touches.
    std::int64_t offset(std::uint32_t slot, TensorId tensor) const;
    // Of a tensor that outlives slots; -1 if the role has none.
    std::int64_t offset_of_instance(TensorId tensor, std::int32_t micro_batch) const;
    // Every tensor that outlives slots, with its micro-batch or -1.
    using Instance = std::pair<TensorId, std::int32_t>;
    const std::map<Instance, std::int64_t>& instances() const { return instances_; }

private:
    Instance instance(const Slot& slot, TensorId tensor) const;
    void plan_segment(SegmentId id);
    void plan_instances();

    const Program& program_;
    const Role& role_;
    std::map<SegmentId, std::map<TensorId, std::int64_t>> slot_tensors_;
    std::map<Instance, std::int64_t> instances_;
    std::int64_t slot_region_ = 0;  // offset of the region of slot tensors
    std::int64_t slot_bytes_ = 0;
    std::int64_t bytes_ = 0;
};

}  // namespace orrery
