// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "engine/check.h"

namespace orrery {
namespace {

std::int64_t aligned(std::int64_t bytes) {
    return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

template <class Visit>
void for_each_operand(const Program& program, const Segment& segment, const Visit& visit) {
    for (std::size_t o = 0; o < segment.ops.size(); ++o) {
        const Op& op = segment.ops[o];
        for (std::uint32_t i = 0; i < op.num_operands; ++i) {
            visit(static_cast<std::int64_t>(o), program.operands[op.first_operand + i].tensor);
        }
    }
}

}  // namespace

Packing pack(std::span<const Interval> intervals) {
    struct Place {
        std::int64_t offset;
        std::int64_t end_offset;
        std::int64_t end;
    };
    std::vector<std::size_t> order(intervals.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return intervals[a].begin < intervals[b].begin;
    });
    Packing packing{.offsets = std::vector<std::int64_t>(intervals.size(), 0), .bytes = 0};
    std::vector<Place> alive;  // by offset
    for (const std::size_t i : order) {
        const Interval& interval = intervals[i];
        std::erase_if(alive, [&](const Place& p) { return p.end < interval.begin; });
        const std::int64_t size = aligned(interval.bytes);
        std::int64_t offset = 0;
        auto at = alive.begin();
        while (at != alive.end() && at->offset - offset < size) {
            offset = at->end_offset;
            ++at;
        }
        alive.insert(at, {offset, offset + size, interval.end});
        packing.offsets[i] = offset;
        packing.bytes = std::max(packing.bytes, offset + size);
    }
    return packing;
}

MemoryPlan::MemoryPlan(const Program& program, RoleId role)
    : program_(program), role_(program.roles[index(role)]) {
    for (const Slot& slot : role_.slots) {
        if (!slot_tensors_.contains(slot.segment)) {
            plan_segment(slot.segment);
        }
    }
    plan_instances();
}

MemoryPlan::Instance MemoryPlan::instance(const Slot& slot, TensorId tensor) const {
    const bool batch = program_.tensors[index(tensor)].lifetime == Lifetime::micro_batch;
    return {tensor, batch ? slot.micro_batch : -1};
}

void MemoryPlan::plan_segment(SegmentId id) {
    std::map<TensorId, Interval> spans;
    for_each_operand(program_, program_.segments[index(id)], [&](std::int64_t op, TensorId t) {
        const Tensor& tensor = program_.tensors[index(t)];
        if (tensor.lifetime == Lifetime::slot) {
            const auto found =
                spans.emplace(t, Interval{.bytes = tensor.bytes.count(), .begin = op, .end = op});
            found.first->second.end = op;
        }
    });
    std::vector<Interval> intervals;
    for (const auto& [tensor, interval] : spans) {
        intervals.push_back(interval);
    }
    const Packing packing = pack(intervals);
    auto& offsets = slot_tensors_[id];
    std::size_t i = 0;
    for (const auto& [tensor, interval] : spans) {
        offsets[tensor] = packing.offsets[i++];
    }
    slot_bytes_ = std::max(slot_bytes_, packing.bytes);
}

void MemoryPlan::plan_instances() {
    const auto last = static_cast<std::int64_t>(role_.slots.size()) - 1;
    std::map<Instance, Interval> spans;
    for (std::int64_t s = 0; s <= last; ++s) {
        const Slot& slot = role_.slots[static_cast<std::size_t>(s)];
        for_each_operand(program_, program_.segment_of(slot), [&](std::int64_t, TensorId t) {
            const Tensor& tensor = program_.tensors[index(t)];
            if (tensor.lifetime == Lifetime::slot) {
                return;
            }
            // Inputs are written before the step, and stay so that it can run once more.
            const bool passing = tensor.lifetime == Lifetime::micro_batch && !tensor.input;
            const auto entry = spans.emplace(
                instance(slot, t),
                Interval{.bytes = tensor.bytes.count(), .begin = passing ? s : 0, .end = last});
            entry.first->second.end = passing ? s : last;
        });
    }
    std::vector<Interval> intervals;
    for (const auto& [key, interval] : spans) {
        intervals.push_back(interval);
    }
    intervals.push_back({.bytes = slot_bytes_, .begin = 0, .end = last});
    const Packing packing = pack(intervals);
    std::size_t i = 0;
    for (const auto& [key, interval] : spans) {
        instances_[key] = packing.offsets[i++];
    }
    slot_region_ = packing.offsets[i];
    bytes_ = packing.bytes;
}

std::int64_t MemoryPlan::offset(std::uint32_t slot, TensorId tensor) const {
    const Slot& s = role_.slots[slot];
    if (program_.tensors[index(tensor)].lifetime == Lifetime::slot) {
        return slot_region_ + slot_tensors_.at(s.segment).at(tensor);
    }
    return instances_.at(instance(s, tensor));
}

std::int64_t MemoryPlan::offset_of_instance(TensorId tensor, std::int32_t micro_batch) const {
    const auto found = instances_.find({tensor, micro_batch});
    return found == instances_.end() ? -1 : found->second;
}

}  // namespace orrery
