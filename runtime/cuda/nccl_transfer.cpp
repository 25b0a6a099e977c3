// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nccl_transfer.h"

#include <algorithm>

#include "engine/base/check.h"
#include "runtime/state/parameter_shards.h"

namespace orrery {
namespace {

bool whole_on_device(const Mesh& mesh, const Tensor& tensor) {
    return !tensor.global_shape.empty() &&
           local_elements(tensor.global_shape, tensor.layout, mesh) * size_bytes(tensor.dtype) ==
               tensor.bytes.count();
}

class NcclTransferPlanner {
public:
    NcclTransferPlanner(const Program& program, RankId rank, std::byte* staging)
        : program_(program), rank_(rank), staging_(staging) {}

    NcclTransfer collective(const CollectiveCall& call, const BoundTransfer& operands) {
        const Group& group = program_.groups[index(call.group)];
        join(nccl_members(program_, rank_, call));
        if (!operands.reads.empty()) {
            const bool parameters = !operands.reads[0].tensor->parameter.empty();
            if (!parameters) {
                change_layout(call, group, operands.reads[0], operands.writes[0]);
            } else if (operands.writes.empty()) {
                reduce_to_shards(operands);
            } else {
                gather_shards(operands);
            }
        } else if (call.kind == CollectiveKind::all_gather) {
            for (const BoundOperand& tensor : operands.writes) {
                gather_parts(tensor.view);
            }
        } else if (call.kind == CollectiveKind::reduce_scatter) {
            for (const BoundOperand& tensor : operands.accumulates) {
                reduce_parts(tensor.view);
            }
        } else {
            for (const BoundOperand& tensor : operands.accumulates) {
                all_reduce(tensor.view, tensor.view, call.reduction);
            }
        }
        return std::move(plan_);
    }

    NcclTransfer messages(const SendRecvCall& call, const BoundTransfer& operands) {
        auto read = operands.reads.begin();
        auto write = operands.writes.begin();
        for (const SendRecvPart& part : call.parts) {
            const TensorView whole = part.is_send ? (read++)->view : (write++)->view;
            const TensorView view = message_part(program_.mesh_of(rank_), rank_, whole, part);
            join(nccl_members(program_, rank_, part));
            const RankId peer = program_.peer_of(rank_, part);
            add({.function = part.is_send ? NcclCallKind::send : NcclCallKind::recv,
                 .in = part.is_send ? view.data : nullptr,
                 .out = part.is_send ? nullptr : view.data,
                 .count = view.size,
                 .dtype = view.dtype,
                 .peer = program_.mesh_of(rank_).coordinate(peer, part.digit),
                 .communicator = used_});
        }
        return std::move(plan_);
    }

private:
    void join(const NcclMembers& members) {
        const auto known = std::ranges::find(plan_.communicators, members);
        used_ = static_cast<std::uint32_t>(known - plan_.communicators.begin());
        if (known == plan_.communicators.end()) {
            plan_.communicators.push_back(members);
        }
    }

    std::int64_t ranks() const {
        return static_cast<std::int64_t>(plan_.communicators[used_].ranks.size());
    }
    std::int64_t position() const { return plan_.communicators[used_].position; }
    void add(NcclCall call) {
        call.communicator = used_;
        if (call.count > 0) {
            plan_.calls.push_back(call);
        }
    }

    TensorView stage(std::int64_t elements, Dtype dtype) {
        constexpr std::int64_t kAlignment = 256;
        const std::int64_t bytes =
            (elements * size_bytes(dtype) + kAlignment - 1) / kAlignment * kAlignment;
        std::byte* const data = staging_ == nullptr ? nullptr : staging_ + plan_.staging_bytes;
        plan_.staging_bytes += bytes;
        return {data, dtype, elements};
    }

    void all_reduce(ConstTensorView in, TensorView out, Reduction reduction) {
        add({.function = NcclCallKind::all_reduce,
             .in = in.data,
             .out = out.data,
             .count = out.size,
             .dtype = out.dtype,
             .reduction = reduction});
    }

    // Sends every member's part of the tensor to all members.
    void gather_parts(TensorView tensor) {
        const ElementRange own = shard_range(tensor.size, ranks(), position());
        if (tensor.size % ranks() == 0) {
            add({.function = NcclCallKind::all_gather,
                 .in = slice(tensor, own.first, own.count).data,
                 .out = tensor.data,
                 .count = own.count,
                 .dtype = tensor.dtype});
            return;
        }
        for (std::int64_t m = 0; m < ranks(); ++m) {
            const ElementRange part = shard_range(tensor.size, ranks(), m);
            const TensorView place = slice(tensor, part.first, part.count);
            broadcast(place.data, place, m);
        }
    }

    void broadcast(const std::byte* in, TensorView out, std::int64_t root) {
        add({.function = NcclCallKind::broadcast,
             .in = in,
             .out = out.data,
             .count = out.size,
             .dtype = out.dtype,
             .peer = static_cast<std::uint32_t>(root)});
    }

    // Reduces each member's part of the tensor to that member; the rest is undefined afterwards.
    void reduce_parts(TensorView tensor) {
        const ElementRange own = shard_range(tensor.size, ranks(), position());
        if (tensor.size % ranks() == 0) {
            add({.function = NcclCallKind::reduce_scatter,
                 .in = tensor.data,
                 .out = slice(tensor, own.first, own.count).data,
                 .count = own.count,
                 .dtype = tensor.dtype});
            return;
        }
        for (std::int64_t m = 0; m < ranks(); ++m) {
            const ElementRange part = shard_range(tensor.size, ranks(), m);
            const TensorView place = slice(tensor, part.first, part.count);
            add({.function = NcclCallKind::reduce,
                 .in = place.data,
                 .out = place.data,
                 .count = part.count,
                 .dtype = tensor.dtype,
                 .peer = static_cast<std::uint32_t>(m)});
        }
    }

    void gather_shards(const BoundTransfer& operands) {
        for (std::size_t i = 0; i < operands.reads.size(); ++i) {
            const TensorView shard = operands.reads[i].view;
            const TensorView whole = operands.writes[i].view;
            if (whole.size == shard.size * ranks()) {
                add({.function = NcclCallKind::all_gather,
                     .in = shard.data,
                     .out = whole.data,
                     .count = shard.size,
                     .dtype = whole.dtype});
                continue;
            }
            for (std::int64_t m = 0; m < ranks(); ++m) {
                const ElementRange part = shard_range(whole.size, ranks(), m);
                broadcast(shard.data, slice(whole, part.first, part.count), m);
            }
        }
    }

    void reduce_to_shards(const BoundTransfer& operands) {
        for (std::size_t i = 0; i < operands.reads.size(); ++i) {
            const TensorView whole = operands.reads[i].view;
            reduce_parts(whole);
            const ElementRange own = shard_range(whole.size, ranks(), position());
            if (own.count > 0) {
                plan_.sums.push_back({slice(whole, own.first, own.count),
                                      slice(operands.accumulates[i].view, 0, own.count)});
            }
        }
    }

    // Moves one block of each member. The blocks are apart in memory, so that they pass through
    // staging.
    void change_piece(const CollectiveCall& call,
                      const BoundOperand& from,
                      const BoundOperand& to) {
        const bool gathers = call.kind == CollectiveKind::all_gather;
        const BoundOperand& spread = gathers ? to : from;
        const std::int64_t size = spread.block_size();
        const TensorView all = stage(spread.blocks * size, spread.view.dtype);
        StridedCopy blocks{.from = 0,
                           .to = 0,
                           .width = size,
                           .rows = spread.blocks,
                           .from_pitch = size,
                           .to_pitch = spread.block_stride};
        if (!gathers) {
            std::swap(blocks.from_pitch, blocks.to_pitch);
            copy(plan_.before, spread.view, all, {blocks});
        }
        add({.function = gathers ? NcclCallKind::all_gather : NcclCallKind::reduce_scatter,
             .in = gathers ? from.view.data : all.data,
             .out = gathers ? all.data : to.view.data,
             .count = size,
             .dtype = spread.view.dtype});
        if (gathers) {
            copy(plan_.after, all, spread.view, {blocks});
        }
    }

    void change_layout(const CollectiveCall& call,
                       const Group& group,
                       const BoundOperand& from,
                       const BoundOperand& to) {
        if (from.block_stride > 0 || to.block_stride > 0) {
            return change_piece(call, from, to);
        }
        const std::vector<RankId> members = program_.mesh_of(rank_).members(group, rank_);
        const Redistribution r{program_.mesh_of(rank_),
                               rank_,
                               {call.kind, group.digits},
                               members,
                               from.tensor->global_shape,
                               from.tensor->layout,
                               to.tensor->layout,
                               call.reduction,
                               from.tensor->column_parts};
        switch (call.kind) {
            case CollectiveKind::all_gather:
                return gather(r, from.view, to.view);
            case CollectiveKind::reduce_scatter:
                return scatter(r, from.view, to.view);
            case CollectiveKind::all_to_all:
                return exchange(r, from.view, to.view);
            default:
                return all_reduce(from.view, to.view, call.reduction);
        }
    }

    static void copy(std::vector<DeviceCopy>& copies,
                     ConstTensorView from,
                     TensorView to,
                     const std::vector<StridedCopy>& shapes) {
        for (const StridedCopy& shape : shapes) {
            copies.push_back({from.data, to.data, size_bytes(to.dtype), shape});
        }
    }

    // Whether the members' parts are contiguous and in the order of the collective.
    static bool in_order(const std::vector<std::vector<StridedCopy>>& parts, std::int64_t size) {
        for (std::size_t m = 0; m < parts.size(); ++m) {
            const StridedCopy whole{.from = 0,
                                    .to = static_cast<std::int64_t>(m) * size,
                                    .width = size,
                                    .rows = 1,
                                    .from_pitch = size,
                                    .to_pitch = size};
            if (parts[m] != std::vector{whole}) {
                return false;
            }
        }
        return true;
    }

    // For each member, the intersection of its part under `apart` with this rank's part under
    // `together`.
    static std::vector<std::vector<StridedCopy>> common_parts(const Redistribution& r,
                                                              const Layout& apart,
                                                              const Layout& together) {
        const std::vector<HeldPart> mine = held_parts(r, together, r.rank);
        std::vector<std::vector<StridedCopy>> parts;
        for (const RankId member : r.members) {
            const std::vector<HeldPart> theirs = held_parts(r, apart, member);
            std::vector<StridedCopy>& copies = parts.emplace_back();
            for (std::size_t p = 0; p < mine.size(); ++p) {
                const LocalBlock common = common_block(theirs[p].range, mine[p].range);
                const auto more = strided_copies(common, theirs[p].memory, mine[p].memory);
                copies.insert(copies.end(), more.begin(), more.end());
            }
        }
        return parts;
    }

    void gather(const Redistribution& r, TensorView in, TensorView out) {
        const auto parts = common_parts(r, r.from, r.to);
        const bool direct = in_order(parts, in.size) && out.size == in.size * ranks();
        const TensorView all = direct ? out : stage(in.size * ranks(), in.dtype);
        add({.function = NcclCallKind::all_gather,
             .in = in.data,
             .out = all.data,
             .count = in.size,
             .dtype = in.dtype});
        for (std::size_t m = 0; !direct && m < parts.size(); ++m) {
            const auto first = static_cast<std::int64_t>(m) * in.size;
            copy(plan_.after, at(all, first), out, parts[m]);
        }
    }

    void scatter(const Redistribution& r, TensorView in, TensorView out) {
        const auto parts = common_parts(r, r.to, r.from);
        const bool direct = in_order(parts, out.size) && in.size == out.size * ranks();
        const TensorView all = direct ? in : stage(out.size * ranks(), in.dtype);
        for (std::size_t m = 0; !direct && m < parts.size(); ++m) {
            std::vector<StridedCopy> turned = parts[m];
            for (StridedCopy& shape : turned) {
                std::swap(shape.from, shape.to);
                std::swap(shape.from_pitch, shape.to_pitch);
            }
            copy(plan_.before, in, at(all, static_cast<std::int64_t>(m) * out.size), turned);
        }
        add({.function = NcclCallKind::reduce_scatter,
             .in = all.data,
             .out = out.data,
             .count = out.size,
             .dtype = in.dtype});
    }

    void exchange(const Redistribution& r, TensorView in, TensorView out) {
        const std::int64_t size = in.size / ranks();
        const TensorView sent = stage(in.size, in.dtype);
        const TensorView received = stage(in.size, in.dtype);
        const std::vector<HeldPart> had = held_parts(r, r.from, r.rank);
        const std::vector<HeldPart> wanted = held_parts(r, r.to, r.rank);
        for (std::size_t m = 0; m < r.members.size(); ++m) {
            const auto first = static_cast<std::int64_t>(m) * size;
            const auto peer = static_cast<std::uint32_t>(m);
            const std::vector<HeldPart> theirs = held_parts(r, r.from, r.members[m]);
            const std::vector<HeldPart> they_want = held_parts(r, r.to, r.members[m]);
            std::int64_t to = first;
            std::int64_t from = first;
            for (std::size_t p = 0; p < had.size(); ++p) {
                const LocalBlock there = common_block(had[p].range, they_want[p].range);
                copy(plan_.before, in, at(sent, to), strided_copies(there, had[p].memory, there));
                to += elements_of(there);
                const LocalBlock here = common_block(theirs[p].range, wanted[p].range);
                copy(plan_.after,
                     at(received, from),
                     out,
                     strided_copies(here, here, wanted[p].memory));
                from += elements_of(here);
            }
            add({.function = NcclCallKind::send,
                 .in = at(sent, first).data,
                 .count = size,
                 .dtype = in.dtype,
                 .peer = peer});
            add({.function = NcclCallKind::recv,
                 .out = at(received, first).data,
                 .count = size,
                 .dtype = in.dtype,
                 .peer = peer});
        }
    }

    static TensorView at(TensorView tensor, std::int64_t first) {
        return slice(tensor, first, tensor.size - first);
    }

    const Program& program_;
    RankId rank_;
    std::byte* staging_;
    NcclTransfer plan_;
    std::uint32_t used_ = 0;  // index of the communicator for the next calls
};

// A message is a whole tensor, or the part given by message_part().
std::string why_not_messages(const Program& program, RankId rank, const Op& op) {
    const std::vector<SendRecvPart>& parts = program.send_recv(op).parts;
    if (std::ranges::any_of(parts, [](const SendRecvPart& part) { return part.peers >= 0; })) {
        return "messages between stages with different tensor-parallel sizes are not executed";
    }
    for (const bool sends : {true, false}) {
        auto part = parts.begin();
        for (std::uint32_t i = 0; i < op.num_operands; ++i) {
            const Operand& operand = program.operands[op.first_operand + i];
            if ((operand.access == Access::read) != sends) {
                continue;
            }
            part = std::find_if(
                part, parts.end(), [&](const SendRecvPart& p) { return p.is_send == sends; });
            const TensorView all{
                nullptr, Dtype::uint8, program.tensors[index(operand.tensor)].bytes.count()};
            if (part == parts.end() ||
                message_part(program.mesh_of(rank), rank, all, *part).size != part->bytes.count()) {
                return "messages of other parts of a tensor are not executed";
            }
            ++part;
        }
    }
    return {};
}

}  // namespace

std::string why_not_nccl(const Program& program, RankId rank, const Op& op) {
    if (op.kind() == OpKind::send_recv) {
        return why_not_messages(program, rank, op);
    }
    if (op.kind() != OpKind::collective) {
        return "copies and host work are not executed";
    }
    const CollectiveCall& call = program.collective(op);
    const Operand* read = nullptr;
    const Operand* write = nullptr;
    for (std::uint32_t i = 0; i < op.num_operands; ++i) {
        const Operand& operand = program.operands[op.first_operand + i];
        (operand.access == Access::read ? read : write) = &operand;
    }
    if (read == nullptr || !program.tensors[index(read->tensor)].parameter.empty()) {
        return call.kind == CollectiveKind::broadcast || call.kind == CollectiveKind::all_to_all
                   ? "this use of a collective is not executed"
                   : "";
    }
    if (write == nullptr) {
        return "this use of a collective is not executed";
    }
    const Tensor& from = program.tensors[index(read->tensor)];
    const Tensor& to = program.tensors[index(write->tensor)];
    if (!whole_on_device(program.mesh_of(rank), from) ||
        !whole_on_device(program.mesh_of(rank), to)) {
        return "collectives of tensors that are not whole in memory are not executed";
    }
    const LayoutStep step{call.kind, program.groups[index(call.group)].digits};
    if (read->pieces > 1 || write->pieces > 1) {
        return why_not_move_piece(program, rank, op, step);
    }
    return why_not_redistribute(
        {program.mesh_of(rank), rank, step, {}, from.global_shape, from.layout, to.layout});
}

NcclTransfer nccl_transfer(const Program& program,
                           RankId rank,
                           const Op& op,
                           const BoundTransfer& operands,
                           std::byte* staging) {
    NcclTransferPlanner planner{program, rank, staging};
    return op.kind() == OpKind::send_recv ? planner.messages(program.send_recv(op), operands)
                                          : planner.collective(program.collective(op), operands);
}

}  // namespace orrery
