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

// The tensors that live at the op of `slot` at which its own tensors need most.
std::vector<TensorId> alive_in(const RoleLifetimes& lifetimes, const Role& role, std::uint32_t s) {
    std::vector<TensorId> alive;
    for (const auto& [tensor, micro_batch] : lifetimes.whole_step) {
        alive.push_back(tensor);
    }
    for (const TensorBlock& block : lifetimes.blocks) {
        if (block.begin <= s && s <= block.end) {
            const auto& tensors = lifetimes.groups[block.group].tensors;
            alive.insert(alive.end(), tensors.begin(), tensors.end());
        }
    }
    const auto& own = lifetimes.segments.at(role.slots[s].segment).own_at_peak;
    alive.insert(alive.end(), own.begin(), own.end());
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
    std::vector<std::vector<std::uint32_t>> ends(role.slots.size());  // groups that end, by slot
    auto next = lifetimes.blocks.begin();
    for (std::uint32_t s = 0; s < role.slots.size(); ++s) {
        for (; next != lifetimes.blocks.end() && next->begin == s; ++next) {
            now += lifetimes.groups[next->group].bytes;
            ends[next->end].push_back(next->group);
        }
        MemoryByKind& here = memory.by_slot.emplace_back(now);
        here += lifetimes.segments.at(role.slots[s].segment).own_peak;
        if (here.total() > memory.in_use) {
            memory.in_use = here.total();
            memory.at_peak = here;
            memory.slot = s;
        }
        for (const std::uint32_t group : ends[s]) {
            now -= lifetimes.groups[group].bytes;
        }
    }
    if (!role.slots.empty()) {
        memory.largest = largest_of(program, alive_in(lifetimes, role, memory.slot));
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
