// SPDX-License-Identifier: Apache-2.0
#include "models/memory/memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace orrery {
namespace {

constexpr std::size_t kLargestBuffers = 8;

// The part of a slot before or behind the release of its blocks: ops, and what they need of the
// slot's own tensors.
struct SlotPart {
    bool behind = false;
    OwnPeak own;
};
struct SlotParts {
    SlotPart before;
    SlotPart behind;
};

SlotParts parts_of(const Program& program,
                   const RoleLifetimes& lifetimes,
                   SegmentId id,
                   std::uint32_t release) {
    const SegmentTensors& segment = lifetimes.segments.at(id);
    return {.before = {.behind = false, .own = own_peak(program, segment, 0, release)},
            .behind = {.behind = true,
                       .own = own_peak(program, segment, release, segment.own_bytes.size())}};
}

// The tensors that live at the op of this part of slot `s` at which its own tensors need most.
std::vector<TensorId> alive_in(const RoleLifetimes& lifetimes,
                               std::uint32_t s,
                               const SlotPart& part) {
    std::vector<TensorId> alive;
    for (const auto& [tensor, micro_batch] : lifetimes.whole_step) {
        alive.push_back(tensor);
    }
    for (const TensorBlock& block : lifetimes.blocks) {
        const bool gone = part.behind && block.released && block.end == s;
        if (block.begin <= s && s <= block.end && !gone) {
            const auto& tensors = lifetimes.groups[block.group].tensors;
            alive.insert(alive.end(), tensors.begin(), tensors.end());
        }
    }
    alive.insert(alive.end(), part.own.tensors.begin(), part.own.tensors.end());
    return alive;
}

// Micro-batches have copies of a tensor, and layers have tensors of the same name: one line each.
std::vector<LargeBuffer> largest_of(const Program& program, const std::vector<TensorId>& alive) {
    std::map<TensorId, std::int64_t> copies;
    for (const TensorId t : alive) {
        ++copies[t];
    }
    std::map<std::pair<std::string_view, TensorKind>, std::size_t> by_name;
    std::vector<LargeBuffer> buffers;
    for (const auto& [t, count] : copies) {
        const Tensor& tensor = program.tensors[index(t)];
        const auto [at, is_new] = by_name.try_emplace({tensor.name, tensor.kind}, buffers.size());
        if (is_new) {
            buffers.push_back({.name = tensor.name, .kind = tensor.kind, .copies = 0});
        }
        buffers[at->second].bytes += tensor.bytes * count;
        buffers[at->second].copies += count;
    }
    std::ranges::stable_sort(buffers, std::greater{}, &LargeBuffer::bytes);
    buffers.resize(std::min(buffers.size(), kLargestBuffers));
    return buffers;
}

MemoryByKind whole_step(const Program& program, const RoleLifetimes& lifetimes) {
    MemoryByKind sum;
    for (const auto& [id, micro_batch] : lifetimes.whole_step) {
        sum[program.tensors[index(id)].kind] += program.tensors[index(id)].bytes;
    }
    return sum;
}

}  // namespace

RoleMemory role_memory(const Program& program, RoleId role_id, Bytes workspace) {
    const Role& role = program.roles[index(role_id)];
    const MemoryPlan plan{program, role_id};
    const RoleLifetimes& lifetimes = plan.lifetimes();
    RoleMemory memory{.role = role_id, .peak = Bytes{plan.bytes()} + workspace};
    MemoryByKind now = whole_step(program, lifetimes);
    now[TensorKind::workspace] += workspace;
    // By slot: blocks that end there.
    std::vector<std::vector<const TensorBlock*>> ends(role.slots.size());
    std::map<std::pair<SegmentId, std::uint32_t>, SlotParts> known;
    const SlotPart* fullest = nullptr;
    auto next = lifetimes.blocks.begin();
    for (std::uint32_t s = 0; s < role.slots.size(); ++s) {
        for (; next != lifetimes.blocks.end() && next->begin == s; ++next) {
            now += lifetimes.groups[next->group].bytes;
            ends[next->end].push_back(&*next);
        }
        MemoryByKind behind = now;
        for (const TensorBlock* block : ends[s]) {
            if (block->released) {
                behind -= lifetimes.groups[block->group].bytes;
            }
        }
        const std::pair key{role.slots[s].segment, lifetimes.releases[s]};
        auto parts = known.find(key);
        if (parts == known.end()) {
            parts = known.emplace(key, parts_of(program, lifetimes, key.first, key.second)).first;
        }
        MemoryByKind before = now;
        before += parts->second.before.own.bytes;
        behind += parts->second.behind.own.bytes;
        const bool later = key.second == 0 || behind.total() > before.total();
        const MemoryByKind& here = memory.by_slot.emplace_back(later ? behind : before);
        if (here.total() > memory.in_use) {
            memory.in_use = here.total();
            memory.at_peak = here;
            memory.slot = s;
            fullest = later ? &parts->second.behind : &parts->second.before;
        }
        for (const TensorBlock* block : ends[s]) {
            now -= lifetimes.groups[block->group].bytes;
        }
    }
    if (fullest != nullptr) {
        memory.largest = largest_of(program, alive_in(lifetimes, memory.slot, *fullest));
    }
    return memory;
}

Bytes largest_plan(const Program& program) {
    Bytes most;
    for (std::size_t role = 0; role < program.roles.size(); ++role) {
        most = std::max(most, Bytes{MemoryPlan{program, to_id<RoleId>(role)}.bytes()});
    }
    return most;
}

Bytes host_bytes(const Program& program, RoleId role_id) {
    const auto is_dram = [](const Tensor& tensor) { return tensor.tier == MemoryTier::dram; };
    if (std::ranges::none_of(program.tensors, is_dram)) {
        return {};
    }
    const Role& role = program.roles[index(role_id)];
    // The first and the last slot that uses each tensor instance.
    std::map<TensorInstance, std::pair<std::size_t, std::size_t>> reaches;
    for (std::size_t s = 0; s < role.slots.size(); ++s) {
        const Slot& slot = role.slots[s];
        for (const Op& op : program.segment_of(slot).ops) {
            for (std::uint32_t i = 0; i < op.num_operands; ++i) {
                const TensorId id = program.operands[op.first_operand + i].tensor;
                const Tensor& tensor = program.tensors[index(id)];
                if (!is_dram(tensor)) {
                    continue;
                }
                const bool passes = tensor.lifetime == Lifetime::micro_batch;
                auto& [first, last] =
                    reaches.try_emplace({id, passes ? slot.micro_batch : -1}, s, s).first->second;
                first = passes ? first : 0;
                last = passes ? s : role.slots.size() - 1;
            }
        }
    }
    std::vector<Bytes> begins(role.slots.size());
    std::vector<Bytes> ends(role.slots.size());
    for (const auto& [instance, reach] : reaches) {
        begins[reach.first] += program.tensors[index(instance.first)].bytes;
        ends[reach.second] += program.tensors[index(instance.first)].bytes;
    }
    Bytes now;
    Bytes most;
    for (std::size_t s = 0; s < role.slots.size(); ++s) {
        now += begins[s];
        most = std::max(most, now);
        now -= ends[s];
    }
    return most;
}

namespace {

// The tensors of this tier that the role's ops use.
std::set<TensorId> tensors_in(const Program& program, RoleId role_id, MemoryTier tier) {
    std::set<TensorId> tensors;
    std::set<SegmentId> seen;
    for (const Slot& slot : program.roles[index(role_id)].slots) {
        if (!seen.insert(slot.segment).second) {
            continue;
        }
        for (const Op& op : program.segment_of(slot).ops) {
            for (std::uint32_t i = 0; i < op.num_operands; ++i) {
                const TensorId id = program.operands[op.first_operand + i].tensor;
                if (program.tensors[index(id)].tier == tier) {
                    tensors.insert(id);
                }
            }
        }
    }
    return tensors;
}

}  // namespace

Bytes file_bytes(const Program& program, RoleId role) {
    Bytes sum;
    for (const TensorId id : tensors_in(program, role, MemoryTier::nvme)) {
        sum += program.tensors[index(id)].bytes;
    }
    return sum;
}

LargeBuffer largest_in(const Program& program, RoleId role, MemoryTier tier) {
    LargeBuffer largest;
    for (const TensorId id : tensors_in(program, role, tier)) {
        const Tensor& tensor = program.tensors[index(id)];
        if (tensor.bytes > largest.bytes) {
            largest = {.name = tensor.name, .kind = tensor.kind, .bytes = tensor.bytes};
        }
    }
    return largest;
}

Bytes state_bytes(const Program& program, RoleId role) {
    Bytes sum;
    for (const auto& [id, micro_batch] : tensor_lifetimes(program, role).whole_step) {
        const Tensor& tensor = program.tensors[index(id)];
        const bool state =
            tensor.kind == TensorKind::weights || tensor.kind == TensorKind::optimizer;
        sum += state && tensor.lifetime == Lifetime::persistent ? tensor.bytes : Bytes{};
    }
    return sum;
}

}  // namespace orrery
