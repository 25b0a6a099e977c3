// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective_ops.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/check.h"
#include "runtime/parameter_shards.h"
#include "runtime/redistribute.h"

namespace orrery {
namespace {

// Ids of communicators: the world, then those of groups.
constexpr std::uint32_t kWorld = 0;
constexpr std::uint32_t kCommunicatorsPerGroup = 64;
constexpr std::uint32_t kPointToPoint = 1;  // lane of message_tag()

std::uint32_t communicator_id(const CollectiveCall& call) {
    return 1 + static_cast<std::uint32_t>(index(call.group)) * kCommunicatorsPerGroup +
           call.communicator;
}

std::vector<std::uint32_t> numbers(const std::vector<RankId>& ranks) {
    std::vector<std::uint32_t> result;
    for (const RankId rank : ranks) {
        result.push_back(static_cast<std::uint32_t>(index(rank)));
    }
    return result;
}

std::vector<std::uint32_t> everybody(const Program& program) {
    std::vector<std::uint32_t> ranks(program.num_ranks());
    std::iota(ranks.begin(), ranks.end(), 0u);
    return ranks;
}

std::vector<TensorId> operands_of(const Program& program, const Op& op, Access access) {
    std::vector<TensorId> tensors;
    for (std::uint32_t i = 0; i < op.num_operands; ++i) {
        const Operand& operand = program.operands[op.first_operand + i];
        if (operand.access == access) {
            tensors.push_back(operand.tensor);
        }
    }
    return tensors;
}

bool whole_in_memory(const Program& program, const Tensor& tensor) {
    return !tensor.global_shape.empty() &&
           local_elements(tensor.global_shape, tensor.layout, program.mesh) *
                   size_bytes(tensor.dtype) ==
               tensor.bytes.count();
}

}  // namespace

CollectiveOps::CollectiveOps(const Program& program, RankId rank, Transport& transport)
    : program_(program),
      rank_(rank),
      transport_(transport),
      world_(transport, everybody(program), kWorld) {
    ORRERY_CHECK(transport.rank() == index(rank) && transport.num_ranks() == program.num_ranks());
}

std::vector<RankId> CollectiveOps::members_of(const CollectiveCall& call) const {
    return program_.mesh.members(program_.groups[index(call.group)], rank_);
}

Communicator& CollectiveOps::communicator_of(const CollectiveCall& call) {
    const std::uint32_t id = communicator_id(call);
    const auto known = communicators_.find(id);
    return known != communicators_.end()
               ? known->second
               : communicators_.try_emplace(id, transport_, numbers(members_of(call)), id)
                     .first->second;
}

std::string CollectiveOps::why_not(const Op& op) const {
    const auto reads = operands_of(program_, op, Access::read);
    const auto writes = operands_of(program_, op, Access::write);
    const auto sums = operands_of(program_, op, Access::accumulate);
    if (op.kind == OpKind::send_recv) {
        const SendRecvCall& call = program_.send_recvs[op.payload];
        const auto sends = static_cast<std::size_t>(
            std::ranges::count_if(call.parts, [](const SendRecvPart& p) { return p.is_send; }));
        const bool paired = reads.size() == sends && writes.size() == call.parts.size() - sends;
        return paired && sums.empty() ? "" : "a message for each operand is wanted";
    }
    if (op.kind != OpKind::collective) {
        return "copies and host work are not executed";
    }
    const CollectiveCall& call = program_.collectives[op.payload];
    const bool parameters = !reads.empty() && !program_.tensors[index(reads[0])].parameter.empty();
    if (reads.size() == 1 && writes.size() == 1 && sums.empty() && !parameters) {
        const Tensor& from = program_.tensors[index(reads[0])];
        const Tensor& to = program_.tensors[index(writes[0])];
        if (!whole_in_memory(program_, from) || !whole_in_memory(program_, to)) {
            return "collectives in chunks are not executed";
        }
        const LayoutStep step{call.kind, program_.groups[index(call.group)].axes};
        return why_not_redistribute(
            {program_.mesh, rank_, step, {}, from.global_shape, from.layout, to.layout});
    }
    const bool sum =
        call.kind == CollectiveKind::all_reduce || call.kind == CollectiveKind::reduce_scatter;
    if (reads.empty() && writes.empty() && !sums.empty() && sum) {
        return "";
    }
    const bool gather = call.kind == CollectiveKind::all_gather;
    if ((gather && reads.size() == writes.size() && sums.empty()) ||
        (call.kind == CollectiveKind::reduce_scatter && reads.size() == sums.size() &&
         writes.empty())) {
        return "";
    }
    return reads.empty() && sums.empty() && !writes.empty() && gather
               ? ""
               : "this use of a collective is not executed";
}

Result<void> CollectiveOps::run(const Op& op, const BoundTransfer& operands) {
    return op.kind == OpKind::send_recv
               ? run_send_recv(program_.send_recvs[op.payload], operands)
               : run_collective(program_.collectives[op.payload], operands);
}

Result<void> CollectiveOps::run_collective(const CollectiveCall& call,
                                           const BoundTransfer& operands) {
    if (!operands.reads.empty()) {
        const bool parameters = !operands.reads[0].tensor->parameter.empty();
        return !parameters ? change_layout(call, operands.reads[0], operands.writes[0])
               : operands.writes.empty() ? reduce_to_shards(call, operands)
                                         : gather_shards(call, operands);
    }
    if (call.kind == CollectiveKind::all_gather) {
        return gather_parts(call, operands.writes);
    }
    if (call.kind == CollectiveKind::reduce_scatter) {
        return reduce_parts(call, operands.accumulates);
    }
    for (const BoundOperand& operand : operands.accumulates) {
        if (const Result<void> done = communicator_of(call).all_reduce(operand.view); !done) {
            return done;
        }
    }
    return {};
}

Result<void> CollectiveOps::change_layout(const CollectiveCall& call,
                                          const BoundOperand& from,
                                          const BoundOperand& to) {
    const std::vector<RankId> members = members_of(call);
    return redistribute({program_.mesh,
                         rank_,
                         {call.kind, program_.groups[index(call.group)].axes},
                         members,
                         from.tensor->global_shape,
                         from.tensor->layout,
                         to.tensor->layout,
                         call.reduction},
                        from.view,
                        to.view,
                        communicator_of(call));
}

// Each member's part of every tensor of the list side by side, padded to equal lengths, is one
// vector; all members' vectors one after the other are what is reduced.
Result<void> CollectiveOps::reduce_parts(const CollectiveCall& call,
                                         const std::vector<BoundOperand>& list) {
    Communicator& communicator = communicator_of(call);
    const std::int64_t ranks = communicator.size();
    std::int64_t length = 0;  // of a vector
    for (const BoundOperand& operand : list) {
        length += (operand.view.size + ranks - 1) / ranks;
    }
    const Dtype dtype = list.front().view.dtype;
    const std::int64_t element = size_bytes(dtype);
    staging_.assign(static_cast<std::size_t>((ranks + 1) * length * element), std::byte{});
    const TensorView all{staging_.data(), dtype, ranks * length};
    const TensorView own{staging_.data() + ranks * length * element, dtype, length};
    const auto copy = [&](std::int64_t position, bool out_of_list, std::byte* vector) {
        for (const BoundOperand& operand : list) {
            const ElementRange part = shard_range(operand.view.size, ranks, position);
            std::byte* const place = operand.view.data + part.first * element;
            const auto bytes = static_cast<std::size_t>(part.count * element);
            std::memcpy(out_of_list ? vector : place, out_of_list ? place : vector, bytes);
            vector += (operand.view.size + ranks - 1) / ranks * element;
        }
    };
    for (std::int64_t m = 0; m < ranks; ++m) {
        copy(m, true, all.data + m * length * element);
    }
    const Result<void> done = communicator.reduce_scatter(all, own);
    if (done) {
        copy(communicator.rank(), false, own.data);
    }
    return done;
}

Result<void> CollectiveOps::gather_parts(const CollectiveCall& call,
                                         const std::vector<BoundOperand>& list) {
    Communicator& communicator = communicator_of(call);
    const std::int64_t ranks = communicator.size();
    for (const BoundOperand& operand : list) {
        const TensorView& whole = operand.view;
        const std::int64_t length = (whole.size + ranks - 1) / ranks;
        const std::int64_t element = size_bytes(whole.dtype);
        staging_.assign(static_cast<std::size_t>((ranks + 1) * length * element), std::byte{});
        const TensorView all{staging_.data(), whole.dtype, ranks * length};
        const TensorView own{staging_.data() + ranks * length * element, whole.dtype, length};
        const ElementRange part = shard_range(whole.size, ranks, communicator.rank());
        std::memcpy(own.data,
                    whole.data + part.first * element,
                    static_cast<std::size_t>(part.count * element));
        if (const Result<void> done = communicator.all_gather(own, all); !done) {
            return done;
        }
        // Parts are of equal length but for the end, so they lie as they lay.
        std::memcpy(whole.data, all.data, static_cast<std::size_t>(whole.size * element));
    }
    return {};
}

Result<void> CollectiveOps::gather_shards(const CollectiveCall& call,
                                          const BoundTransfer& operands) {
    Communicator& communicator = communicator_of(call);
    for (std::size_t i = 0; i < operands.reads.size(); ++i) {
        const TensorView shard = operands.reads[i].view;
        const TensorView whole = operands.writes[i].view;
        const std::int64_t element = size_bytes(whole.dtype);
        staging_.resize(static_cast<std::size_t>(shard.size * communicator.size() * element));
        const TensorView all{staging_.data(), whole.dtype, shard.size * communicator.size()};
        ORRERY_CHECK(all.size >= whole.size);  // shards are padded
        if (const Result<void> done = communicator.all_gather(shard, all); !done) {
            return done;
        }
        std::memcpy(whole.data, all.data, static_cast<std::size_t>(whole.size * element));
    }
    return {};
}

Result<void> CollectiveOps::reduce_to_shards(const CollectiveCall& call,
                                             const BoundTransfer& operands) {
    Communicator& communicator = communicator_of(call);
    for (std::size_t i = 0; i < operands.reads.size(); ++i) {
        const TensorView whole = operands.reads[i].view;
        const TensorView shard = operands.accumulates[i].view;
        const std::int64_t element = size_bytes(whole.dtype);
        const std::int64_t padded = shard.size * communicator.size();
        staging_.assign(static_cast<std::size_t>((padded + shard.size) * element), std::byte{});
        std::memcpy(staging_.data(), whole.data, static_cast<std::size_t>(whole.size * element));
        const TensorView own{staging_.data() + padded * element, whole.dtype, shard.size};
        const Result<void> done =
            communicator.reduce_scatter(TensorView{staging_.data(), whole.dtype, padded}, own);
        if (!done) {
            return done;
        }
        for (std::int64_t e = 0; e < shard.size; ++e) {
            store(shard, e, load(shard, e) + load(own, e));
        }
    }
    return {};
}

Result<void> CollectiveOps::run_send_recv(const SendRecvCall& call, const BoundTransfer& operands) {
    std::vector<Message> messages;
    auto read = operands.reads.begin();
    auto write = operands.writes.begin();
    bool receives = false;
    for (const SendRecvPart& part : call.parts) {
        const BoundOperand& operand = part.is_send ? *read++ : *write++;
        const TensorView& view = operand.view;
        ORRERY_CHECK(view.size * size_bytes(view.dtype) == part.bytes.count());
        const RankId peer = program_.mesh.shifted(rank_, part.axis, part.delta);
        messages.push_back({.is_send = part.is_send,
                            .peer = static_cast<std::uint32_t>(index(peer)),
                            .tag = message_tag(part.communicator, kPointToPoint + part.axis),
                            .bytes = {view.data, static_cast<std::size_t>(part.bytes.count())}});
        receives = receives || !part.is_send;
    }
    // A pure send must not wait: its receiver may first want something from this rank.
    return receives ? transport_.exchange(messages) : transport_.post_send(messages.front());
}

}  // namespace orrery
