// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective_ops.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/base/check.h"
#include "runtime/operand_lists.h"
#include "runtime/row_exchange.h"
#include "runtime/state/parameter_shards.h"
#include "runtime/state/redistribute.h"

namespace orrery {
namespace {

// Ids of communicators: first the world, then those of groups.
constexpr std::uint32_t kWorld = 0;
constexpr std::uint32_t kCommunicatorsPerGroup = 64;
constexpr std::uint32_t kPointToPoint = 1;  // lane of message_tag()
// For exchanges by servers, beyond the numbers that Programs use.
constexpr std::uint32_t kInsideServers = 62;
constexpr std::uint32_t kAcrossServers = 63;

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

// Whether a tensor is a vector of codes: bytes with a part for, or from, each member
// (kernels/quantise/quantise.h).
bool holds_codes(const Tensor& tensor) {
    return tensor.global_shape.empty() && tensor.parameter.empty() &&
           (tensor.dtype == Dtype::int8 || tensor.dtype == Dtype::uint8);
}

Result<void> move_codes(const CollectiveCall& call,
                        const BoundTransfer& operands,
                        Communicator& communicator) {
    const TensorView& from = operands.reads[0].view;
    const TensorView& to = operands.writes[0].view;
    return call.kind == CollectiveKind::all_gather ? communicator.all_gather(from, to)
                                                   : communicator.all_to_all(from, to);
}

bool whole_in_memory(const Mesh& mesh, const Tensor& tensor) {
    return !tensor.global_shape.empty() &&
           local_elements(tensor.global_shape, tensor.layout, mesh) * size_bytes(tensor.dtype) ==
               tensor.bytes.count();
}

}  // namespace

CollectiveOps::CollectiveOps(const Program& program,
                             RankId rank,
                             Transport& transport,
                             std::uint32_t ranks_of_node)
    : program_(program),
      rank_(rank),
      transport_(transport),
      ranks_of_node_(ranks_of_node > 0 ? ranks_of_node : program.num_ranks()),
      world_(transport, everybody(program), kWorld) {
    ORRERY_CHECK(transport.rank() == index(rank) && transport.num_ranks() == program.num_ranks());
}

std::vector<RankId> CollectiveOps::members_of(const CollectiveCall& call) const {
    return program_.mesh_of(rank_).members(program_.groups[index(call.group)], rank_);
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
    const auto [reads, writes, sums] = operands_of(program_, op);
    if (op.kind() == OpKind::send_recv) {
        const SendRecvCall& call = program_.send_recv(op);
        const auto sends = static_cast<std::size_t>(
            std::ranges::count_if(call.parts, [](const SendRecvPart& p) { return p.is_send; }));
        const bool paired = reads.size() == sends && writes.size() == call.parts.size() - sends;
        return paired && sums.empty() ? "" : "a message for each operand is wanted";
    }
    if (op.kind() != OpKind::collective) {
        return "copies and host work are not executed";
    }
    const CollectiveCall& call = program_.collective(op);
    if (is_row_exchange(call)) {
        return goes_by_servers(call) && !servers(call)
                   ? "ranks that share experts are not equally many on each node"
                   : why_not_exchange_rows(program_, op);
    }
    if (is_row_gather(program_, op)) {
        return why_not_gather_rows(program_, op);
    }
    const bool parameters = !reads.empty() && !program_.tensors[index(reads[0])].parameter.empty();
    if (reads.size() == 1 && writes.size() == 1 && sums.empty() && !parameters) {
        const Tensor& from = program_.tensors[index(reads[0])];
        const Tensor& to = program_.tensors[index(writes[0])];
        if (holds_codes(from) && holds_codes(to)) {
            return call.kind == CollectiveKind::all_gather ||
                           call.kind == CollectiveKind::all_to_all
                       ? ""
                       : "codes of quantised vectors are gathered or exchanged";
        }
        if (!whole_in_memory(program_.mesh_of(rank_), from) ||
            !whole_in_memory(program_.mesh_of(rank_), to)) {
            return "collectives of tensors that are not whole in memory are not executed";
        }
        const LayoutStep step{call.kind, program_.groups[index(call.group)].digits};
        if (std::string why = why_not_move_piece(program_, rank_, op, step); !why.empty()) {
            return why;
        }
        return why_not_redistribute(
            {program_.mesh_of(rank_), rank_, step, {}, from.global_shape, from.layout, to.layout});
    }
    const bool sum =
        call.kind == CollectiveKind::all_reduce || call.kind == CollectiveKind::reduce_scatter;
    if (reads.empty() && writes.empty() && !sums.empty() && sum) {
        return "";
    }
    const bool scatter = call.kind == CollectiveKind::reduce_scatter;
    const bool to_vector = scatter && parameters && writes.size() == 1 && sums.empty();
    const bool from_vector = call.kind == CollectiveKind::all_reduce && !parameters &&
                             reads.size() == 1 && writes.empty() && !sums.empty();
    if (to_vector || from_vector) {
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
    if (op.kind() == OpKind::collective && is_row_gather(program_, op)) {
        const CollectiveCall& call = program_.collective(op);
        return gather_rows(call, operands, communicator_of(call));
    }
    return op.kind() == OpKind::send_recv ? run_send_recv(program_.send_recv(op), operands)
                                          : run_collective(program_.collective(op), operands);
}

Result<void> CollectiveOps::run_collective(const CollectiveCall& call,
                                           const BoundTransfer& operands) {
    if (is_row_exchange(call)) {
        return run_row_exchange(call, operands);
    }
    if (!operands.reads.empty() && holds_codes(*operands.reads[0].tensor)) {
        return move_codes(call, operands, communicator_of(call));
    }
    if (!operands.reads.empty()) {
        const bool parameters = !operands.reads[0].tensor->parameter.empty();
        if (call.kind == CollectiveKind::reduce_scatter && parameters) {
            return reduce_to_shards(call, operands);
        }
        return parameters ? gather_shards(call, operands)
               : operands.accumulates.empty()
                   ? change_layout(call, operands.reads[0], operands.writes[0])
                   : sum_to_shards(call, operands);
    }
    if (call.kind == CollectiveKind::all_gather) {
        return gather_parts(call, operands.writes);
    }
    if (call.kind == CollectiveKind::reduce_scatter) {
        return reduce_parts(call, operands.accumulates);
    }
    return sum_all(call, operands.accumulates);
}

std::optional<ServersOfMembers> CollectiveOps::servers(const CollectiveCall& call) const {
    return servers_of(numbers(members_of(call)), ranks_of_node_);
}

Result<void> CollectiveOps::run_row_exchange(const CollectiveCall& call,
                                             const BoundTransfer& operands) {
    Communicator& all = communicator_of(call);
    if (!goes_by_servers(call) || !servers(call)->several()) {
        return exchange_rows(call, operands, all);
    }
    const std::uint32_t id = communicator_id(call);
    auto found = by_servers_.find(id);
    if (found == by_servers_.end()) {
        const std::vector<std::uint32_t> members = numbers(members_of(call));
        const std::uint32_t ranks = servers(call)->ranks;
        std::vector<std::uint32_t> inside;
        std::vector<std::uint32_t> across;
        for (std::uint32_t m = 0; m < members.size(); ++m) {
            if (m / ranks == all.rank() / ranks) {
                inside.push_back(members[m]);
            }
            if (m % ranks == all.rank() % ranks) {
                across.push_back(members[m]);
            }
        }
        const std::uint32_t first = id - call.communicator;
        found = by_servers_
                    .try_emplace(id,
                                 ServerCommunicators{
                                     {transport_, std::move(inside), first + kInsideServers},
                                     {transport_, std::move(across), first + kAcrossServers}})
                    .first;
    }
    return exchange_rows(call, operands, all, &found->second);
}

// Sums the tensors of the list as one vector, in one exchange of messages.
Result<void> CollectiveOps::sum_all(const CollectiveCall& call,
                                    const std::vector<BoundOperand>& list) {
    if (list.size() == 1) {
        return communicator_of(call).all_reduce(list.front().view);
    }
    std::int64_t length = 0;
    for (const BoundOperand& operand : list) {
        length += operand.view.size;
    }
    const Dtype dtype = list.front().view.dtype;
    staging_.resize(static_cast<std::size_t>(length * size_bytes(dtype)));
    const TensorView all{staging_.data(), dtype, length};
    const auto copy = [&](bool out_of_list) {
        std::byte* place = all.data;
        for (const BoundOperand& operand : list) {
            const auto bytes = static_cast<std::size_t>(operand.view.size * size_bytes(dtype));
            std::memcpy(out_of_list ? place : operand.view.data,
                        out_of_list ? operand.view.data : place,
                        bytes);
            place += bytes;
        }
    };
    copy(true);
    const Result<void> done = communicator_of(call).all_reduce(all);
    if (done) {
        copy(false);
    }
    return done;
}

Result<void> CollectiveOps::change_layout(const CollectiveCall& call,
                                          const BoundOperand& from,
                                          const BoundOperand& to) {
    if (from.block_stride > 0 || to.block_stride > 0) {
        return change_piece(call, from, to);
    }
    const std::vector<RankId> members = members_of(call);
    return redistribute({program_.mesh_of(rank_),
                         rank_,
                         {call.kind, program_.groups[index(call.group)].digits},
                         members,
                         from.tensor->global_shape,
                         from.tensor->layout,
                         to.tensor->layout,
                         call.reduction,
                         from.tensor->column_parts},
                        from.view,
                        to.view,
                        communicator_of(call));
}

// A piece of a gathered or scattered tensor has a block of each member, in the order of members.
Result<void> CollectiveOps::change_piece(const CollectiveCall& call,
                                         const BoundOperand& from,
                                         const BoundOperand& to) {
    Communicator& communicator = communicator_of(call);
    const bool gathers = call.kind == CollectiveKind::all_gather;
    const BoundOperand& spread = gathers ? to : from;
    const Dtype dtype = spread.view.dtype;
    const std::int64_t bytes = spread.block_size() * size_bytes(dtype);
    staging_.resize(static_cast<std::size_t>(spread.blocks * bytes));
    const TensorView all{staging_.data(), dtype, spread.blocks * spread.block_size()};
    const auto copy = [&](bool out) {
        for (std::int64_t i = 0; i < spread.blocks; ++i) {
            std::byte* const place = all.data + i * bytes;
            std::byte* const block = spread.block(i).data;
            std::memcpy(out ? place : block, out ? block : place, static_cast<std::size_t>(bytes));
        }
    };
    if (gathers) {
        const Result<void> done = communicator.all_gather(from.view, all);
        if (done) {
            copy(false);
        }
        return done;
    }
    copy(true);
    return communicator.reduce_scatter(all, to.view);
}

// Each member's parts of the listed tensors, packed into one vector and padded to equal lengths.
// The reduced or gathered vector has the vectors of all members, one after the other.
class CollectiveOps::PackedParts {
public:
    PackedParts(const std::vector<BoundOperand>& list,
                std::int64_t ranks,
                std::vector<std::byte>& bytes)
        : list_(list), ranks_(ranks), dtype_(list.front().view.dtype) {
        for (const BoundOperand& operand : list) {
            length_ += (operand.view.size + ranks - 1) / ranks;
        }
        bytes.assign(static_cast<std::size_t>((ranks + 1) * length_ * size_bytes(dtype_)),
                     std::byte{});
        data_ = bytes.data();
    }
    TensorView all() const { return {data_, dtype_, ranks_ * length_}; }
    TensorView vector(std::int64_t member) const { return slice(all(), member * length_, length_); }
    TensorView own() const {
        return {data_ + ranks_ * length_ * size_bytes(dtype_), dtype_, length_};
    }

    void pack(std::int64_t member, TensorView vector) const { copy(member, vector, true); }
    void unpack(std::int64_t member, TensorView vector) const { copy(member, vector, false); }

private:
    void copy(std::int64_t member, TensorView vector, bool pack) const {
        const std::int64_t element = size_bytes(dtype_);
        std::byte* place = vector.data;
        for (const BoundOperand& operand : list_) {
            const ElementRange part = shard_range(operand.view.size, ranks_, member);
            std::byte* const in_tensor = operand.view.data + part.first * element;
            std::memcpy(pack ? place : in_tensor,
                        pack ? in_tensor : place,
                        static_cast<std::size_t>(part.count * element));
            place += (operand.view.size + ranks_ - 1) / ranks_ * element;
        }
    }

    const std::vector<BoundOperand>& list_;
    std::int64_t ranks_;
    Dtype dtype_;
    std::int64_t length_ = 0;  // of one member's vector
    std::byte* data_ = nullptr;
};

Result<void> CollectiveOps::reduce_parts(const CollectiveCall& call,
                                         const std::vector<BoundOperand>& list) {
    Communicator& communicator = communicator_of(call);
    const PackedParts parts{list, communicator.size(), staging_};
    for (std::int64_t m = 0; m < communicator.size(); ++m) {
        parts.pack(m, parts.vector(m));
    }
    const Result<void> done = communicator.reduce_scatter(parts.all(), parts.own());
    if (done) {
        parts.unpack(communicator.rank(), parts.own());
    }
    return done;
}

Result<void> CollectiveOps::gather_parts(const CollectiveCall& call,
                                         const std::vector<BoundOperand>& list) {
    Communicator& communicator = communicator_of(call);
    const PackedParts parts{list, communicator.size(), staging_};
    parts.pack(communicator.rank(), parts.own());
    const Result<void> done = communicator.all_gather(parts.own(), parts.all());
    for (std::int64_t m = 0; done && m < communicator.size(); ++m) {
        parts.unpack(m, parts.vector(m));
    }
    return done;
}

// Gathers each member's shards of the list, packed into one vector.
Result<void> CollectiveOps::gather_shards(const CollectiveCall& call,
                                          const BoundTransfer& operands) {
    Communicator& communicator = communicator_of(call);
    const std::int64_t ranks = communicator.size();
    std::int64_t length = 0;
    for (const BoundOperand& shard : operands.reads) {
        length += shard.view.size;
    }
    const Dtype dtype = operands.reads.front().view.dtype;
    const std::int64_t element = size_bytes(dtype);
    staging_.resize(static_cast<std::size_t>((ranks + 1) * length * element));
    const TensorView all{staging_.data(), dtype, ranks * length};
    const TensorView own{staging_.data() + ranks * length * element, dtype, length};
    std::int64_t first = 0;
    for (const BoundOperand& shard : operands.reads) {
        std::memcpy(own.data + first * element,
                    shard.view.data,
                    static_cast<std::size_t>(shard.view.size * element));
        first += shard.view.size;
    }
    const Result<void> done = communicator.all_gather(own, all);
    for (std::int64_t m = 0; done && m < ranks; ++m) {
        first = m * length;
        for (std::size_t i = 0; i < operands.reads.size(); ++i) {
            const TensorView& whole = operands.writes[i].view;
            const ElementRange part = shard_range(whole.size, ranks, m);
            std::memcpy(whole.data + part.first * element,
                        all.data + first * element,
                        static_cast<std::size_t>(part.count * element));
            first += operands.reads[i].view.size;
        }
    }
    return done;
}

Result<void> CollectiveOps::reduce_to_shards(const CollectiveCall& call,
                                             const BoundTransfer& operands) {
    Communicator& communicator = communicator_of(call);
    const PackedParts parts{operands.reads, communicator.size(), staging_};
    for (std::int64_t m = 0; m < communicator.size(); ++m) {
        parts.pack(m, parts.vector(m));
    }
    const Result<void> done = communicator.reduce_scatter(parts.all(), parts.own());
    if (done && !operands.writes.empty()) {  // hybrid sharding sums the copies first
        const TensorView& sum = operands.writes.front().view;
        ORRERY_CHECK(sum.size == parts.own().size);
        std::memcpy(
            sum.data, parts.own().data, static_cast<std::size_t>(sum.size * size_bytes(sum.dtype)));
    } else if (done) {
        add_to_shards(parts.own(), operands.accumulates);
    }
    return done;
}

// The vector has the shards of the list one after the other.
void CollectiveOps::add_to_shards(const TensorView& vector,
                                  const std::vector<BoundOperand>& shards) {
    std::int64_t first = 0;
    for (const BoundOperand& operand : shards) {
        const TensorView& shard = operand.view;
        for (std::int64_t e = 0; e < shard.size; ++e) {
            store(shard, e, load(shard, e) + load(vector, first + e));
        }
        first += shard.size;
    }
}

Result<void> CollectiveOps::sum_to_shards(const CollectiveCall& call,
                                          const BoundTransfer& operands) {
    const TensorView& vector = operands.reads.front().view;
    const Result<void> done = communicator_of(call).all_reduce(vector);
    if (done) {
        add_to_shards(vector, operands.accumulates);
    }
    return done;
}

Result<void> CollectiveOps::run_send_recv(const SendRecvCall& call, const BoundTransfer& operands) {
    std::vector<Message> messages;
    auto read = operands.reads.begin();
    auto write = operands.writes.begin();
    bool receives = false;
    for (const SendRecvPart& part : call.parts) {
        const BoundOperand& operand = part.is_send ? *read++ : *write++;
        const TensorView view = message_part(program_.mesh_of(rank_), rank_, operand.view, part);
        ORRERY_CHECK(view.size * size_bytes(view.dtype) == part.bytes.count());
        const RankId peer = program_.peer_of(rank_, part);
        messages.push_back({.is_send = part.is_send,
                            .peer = static_cast<std::uint32_t>(index(peer)),
                            .tag = message_tag(part.communicator, kPointToPoint + part.digit),
                            .bytes = {view.data, static_cast<std::size_t>(part.bytes.count())}});
        receives = receives || !part.is_send;
    }
    if (receives) {
        return transport_.exchange(messages);
    }
    // A pure send must not block, because its receiver may first need a message from this rank.
    Result<void> posted;
    for (std::size_t i = 0; posted && i < messages.size(); ++i) {
        posted = transport_.post_send(messages[i]);
    }
    return posted;
}

}  // namespace orrery
