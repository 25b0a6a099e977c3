// SPDX-License-Identifier: Apache-2.0
#include "models/memory.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace orrery {
namespace {

constexpr std::size_t kLargestBuffers = 8;

// What one segment touches, and the most that its slot-lifetime tensors take at once.
struct SegmentUse {
    std::vector<TensorId> longer_lived;  // each once
    MemoryByKind slot_peak;
    std::vector<TensorId> slot_peak_tensors;
};

class MemoryWalk {
public:
    MemoryWalk(const Program& program, const Role& role) : program_(program), role_(role) {}

    RoleMemory run(Bytes workspace);

private:
    using Key = std::pair<TensorId, std::int32_t>;  // tensor and micro-batch (or -1)

    const SegmentUse& use_of(SegmentId segment);
    SegmentUse examine(const Segment& segment) const;
    Key key(const Slot& slot, TensorId tensor) const {
        const bool batch = tensor_of(tensor).lifetime == Lifetime::micro_batch;
        return {tensor, batch ? slot.micro_batch : -1};
    }
    const Tensor& tensor_of(TensorId id) const { return program_.tensors[index(id)]; }
    void find_last_uses();
    void allocate(const Key& key);
    void free_after(std::uint32_t slot);
    void take_peak(std::uint32_t slot, const SegmentUse& use);
    void name_largest(RoleMemory& memory) const;

    const Program& program_;
    const Role& role_;
    std::unordered_map<std::uint32_t, SegmentUse> uses_;
    std::map<Key, std::uint32_t> last_slot_;
    std::vector<std::vector<Key>> ends_;  // by slot
    std::map<Key, Bytes> alive_;
    MemoryByKind now_;
    RoleMemory peak_;
    std::map<Key, Bytes> alive_at_peak_;
    std::vector<TensorId> slot_tensors_at_peak_;
};

SegmentUse MemoryWalk::examine(const Segment& segment) const {
    SegmentUse use;
    std::map<TensorId, std::pair<std::size_t, std::size_t>> span;  // first and last op
    for (std::size_t o = 0; o < segment.ops.size(); ++o) {
        const Op& op = segment.ops[o];
        for (std::uint32_t i = 0; i < op.num_operands; ++i) {
            const TensorId t = program_.operands[op.first_operand + i].tensor;
            const auto [entry, added] = span.emplace(t, std::pair{o, o});
            entry->second.second = o;
            if (added && tensor_of(t).lifetime != Lifetime::slot) {
                use.longer_lived.push_back(t);
            }
        }
    }
    std::vector<std::vector<TensorId>> starts(segment.ops.size());
    std::vector<std::vector<TensorId>> ends(segment.ops.size());
    for (const auto& [t, ops] : span) {
        if (tensor_of(t).lifetime == Lifetime::slot) {
            starts[ops.first].push_back(t);
            ends[ops.second].push_back(t);
        }
    }
    MemoryByKind now;
    std::vector<TensorId> alive;
    for (std::size_t o = 0; o < segment.ops.size(); ++o) {
        for (const TensorId t : starts[o]) {
            now[tensor_of(t).kind] += tensor_of(t).bytes;
            alive.push_back(t);
        }
        if (now.total() > use.slot_peak.total()) {
            use.slot_peak = now;
            use.slot_peak_tensors = alive;
        }
        for (const TensorId t : ends[o]) {
            now[tensor_of(t).kind] -= tensor_of(t).bytes;
            std::erase(alive, t);
        }
    }
    return use;
}

const SegmentUse& MemoryWalk::use_of(SegmentId segment) {
    const auto id = static_cast<std::uint32_t>(index(segment));
    auto found = uses_.find(id);
    if (found == uses_.end()) {
        found = uses_.emplace(id, examine(program_.segments[id])).first;
    }
    return found->second;
}

void MemoryWalk::find_last_uses() {
    for (std::uint32_t s = 0; s < role_.slots.size(); ++s) {
        for (const TensorId t : use_of(role_.slots[s].segment).longer_lived) {
            last_slot_[key(role_.slots[s], t)] = s;
        }
    }
    ends_.resize(role_.slots.size());
    for (const auto& [k, slot] : last_slot_) {
        if (tensor_of(k.first).lifetime == Lifetime::persistent) {
            allocate(k);
        } else {
            ends_[slot].push_back(k);
        }
    }
}

void MemoryWalk::allocate(const Key& k) {
    const Tensor& tensor = tensor_of(k.first);
    if (alive_.emplace(k, tensor.bytes).second) {
        now_[tensor.kind] += tensor.bytes;
    }
}

void MemoryWalk::free_after(std::uint32_t slot) {
    for (const Key& k : ends_[slot]) {
        now_[tensor_of(k.first).kind] -= tensor_of(k.first).bytes;
        alive_.erase(k);
    }
}

void MemoryWalk::take_peak(std::uint32_t slot, const SegmentUse& use) {
    const Bytes total = now_.total() + use.slot_peak.total();
    if (total <= peak_.peak) {
        return;
    }
    peak_.peak = total;
    peak_.slot = slot;
    for (std::size_t k = 0; k < kNumTensorKinds; ++k) {
        peak_.at_peak.of[k] = now_.of[k] + use.slot_peak.of[k];
    }
    alive_at_peak_ = alive_;
    slot_tensors_at_peak_ = use.slot_peak_tensors;
}

void MemoryWalk::name_largest(RoleMemory& memory) const {
    std::map<TensorId, LargeBuffer> buffers;
    const auto count = [&](TensorId t) {
        LargeBuffer& buffer = buffers[t];
        buffer.copies = buffer.name.empty() ? 1 : buffer.copies + 1;
        buffer.name = tensor_of(t).name;
        buffer.kind = tensor_of(t).kind;
        buffer.bytes += tensor_of(t).bytes;
    };
    for (const auto& [k, bytes] : alive_at_peak_) {
        count(k.first);
    }
    for (const TensorId t : slot_tensors_at_peak_) {
        count(t);
    }
    for (auto& [t, buffer] : buffers) {
        memory.largest.push_back(std::move(buffer));
    }
    std::stable_sort(memory.largest.begin(),
                     memory.largest.end(),
                     [](const LargeBuffer& a, const LargeBuffer& b) { return a.bytes > b.bytes; });
    memory.largest.resize(std::min(memory.largest.size(), kLargestBuffers));
}

RoleMemory MemoryWalk::run(Bytes workspace) {
    find_last_uses();
    now_[TensorKind::workspace] += workspace;
    std::vector<MemoryByKind> by_slot;
    for (std::uint32_t s = 0; s < role_.slots.size(); ++s) {
        const SegmentUse& use = use_of(role_.slots[s].segment);
        for (const TensorId t : use.longer_lived) {
            allocate(key(role_.slots[s], t));
        }
        take_peak(s, use);
        by_slot.push_back(now_);
        for (std::size_t k = 0; k < kNumTensorKinds; ++k) {
            by_slot.back().of[k] += use.slot_peak.of[k];
        }
        free_after(s);
    }
    RoleMemory memory = peak_;
    memory.by_slot = std::move(by_slot);
    name_largest(memory);
    return memory;
}

}  // namespace

Bytes MemoryByKind::total() const {
    Bytes sum;
    for (const Bytes b : of) {
        sum += b;
    }
    return sum;
}

RoleMemory role_memory(const Program& program, RoleId role, Bytes workspace) {
    RoleMemory memory = MemoryWalk{program, program.roles[index(role)]}.run(workspace);
    memory.role = role;
    return memory;
}

}  // namespace orrery
