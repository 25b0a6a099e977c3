// SPDX-License-Identifier: Apache-2.0
#include "models/segments/segment_builder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "engine/base/check.h"
#include "engine/program/device_scalars.h"

namespace orrery {

std::uint32_t ProgramTables::name(std::string_view text) {
    const auto found = names_.find(text);
    if (found != names_.end()) {
        return found->second;
    }
    const auto id = static_cast<std::uint32_t>(program_.names.size());
    program_.names.emplace_back(text);
    names_.emplace(std::string{text}, id);
    return id;
}

KernelId ProgramTables::kernel(const KernelCall& call) {
    key_.assign({static_cast<std::int64_t>(call.kind),
                 static_cast<std::int64_t>(call.dtype),
                 call.variant,
                 call.bytes,
                 static_cast<std::int64_t>(call.tier),
                 std::bit_cast<std::int64_t>(call.flop)});
    key_.insert(key_.end(), call.dims.begin(), call.dims.end());
    const auto [entry, added] =
        kernels_.try_emplace(key_, to_id<KernelId>(program_.kernels.size()));
    if (added) {
        program_.kernels.push_back(call);
    }
    return entry->second;
}

CollectiveId ProgramTables::collective(const CollectiveCall& call) {
    key_.assign({static_cast<std::int64_t>(call.kind),
                 static_cast<std::int64_t>(index(call.group)),
                 call.bytes.count(),
                 static_cast<std::int64_t>(call.wire),
                 call.communicator,
                 static_cast<std::int64_t>(call.mover.engine),
                 call.mover.sm_limit,
                 static_cast<std::int64_t>(call.reduction),
                 call.rows.dispatcher,
                 call.rows.combine ? 1 : 0,
                 call.rows.choices,
                 call.rows.server_limit,
                 call.rows.consecutive ? 1 : 0,
                 call.rows.experts,
                 call.rows.tokens,
                 call.rows.row.count()});
    key_.insert(key_.end(), call.rows.shares.begin(), call.rows.shares.end());
    const auto [entry, added] =
        collectives_.try_emplace(key_, to_id<CollectiveId>(program_.collectives.size()));
    if (added) {
        program_.collectives.push_back(call);
    }
    return entry->second;
}

SendRecvId ProgramTables::send_recv(const SendRecvCall& call) {
    const auto found = std::find(program_.send_recvs.begin(), program_.send_recvs.end(), call);
    if (found == program_.send_recvs.end()) {
        program_.send_recvs.push_back(call);
        return to_id<SendRecvId>(program_.send_recvs.size() - 1);
    }
    return to_id<SendRecvId>(static_cast<std::size_t>(found - program_.send_recvs.begin()));
}

CopyId ProgramTables::copy(const CopyCall& call) {
    std::vector<CopyCall>& known = program_.copies;
    const auto found = std::ranges::find(known, call);
    const auto number = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) {
        known.push_back(call);
    }
    return to_id<CopyId>(number);
}

HostWorkId ProgramTables::host_work(const HostWork& work) {
    const auto found = std::ranges::find_if(program_.host_works, [&](const HostWork& known) {
        return known.duration == work.duration && known.kind == work.kind;
    });
    if (found == program_.host_works.end()) {
        program_.host_works.push_back(work);
        return to_id<HostWorkId>(program_.host_works.size() - 1);
    }
    return to_id<HostWorkId>(static_cast<std::size_t>(found - program_.host_works.begin()));
}

void ProgramTables::enter(std::uint32_t party) {
    party_ = party;
    scalars_.reset();
    gradient_bucket_.reset();
}

GroupId ProgramTables::group(std::uint32_t digits) {
    return group({.name = mesh().name_of(digits), .digits = digits, .party = party_});
}

GroupId ProgramTables::group(std::uint32_t digit, std::vector<std::uint32_t> subset) {
    std::string text = mesh().digits()[digit].name + "{";
    for (const std::uint32_t c : subset) {
        text += std::to_string(c) + (c == subset.back() ? "}" : ",");
    }
    return group({.name = std::move(text),
                  .digits = 1u << digit,
                  .subset_digit = digit,
                  .subset = std::move(subset),
                  .party = party_});
}

GroupId ProgramTables::group_over_stages(std::uint32_t digits) {
    if (program_.parties.size() == 1) {
        return group(digits);
    }
    const std::vector<MeshDigit>& own = mesh().digits();
    std::vector<std::vector<RankId>> ranks;
    for (const Party& party : program_.parties) {
        std::uint32_t apart = 0;
        for (std::uint32_t digit = 0; digit < own.size(); ++digit) {
            const bool inside = (digits >> digit & 1u) != 0 || own[digit].size == 1;
            apart |= inside ? 0u : 1u << party.mesh.digit(own[digit].name);
        }
        ranks.resize(party.mesh.combined_size(apart));
        for (std::uint32_t r = 0; r < party.mesh.num_ranks(); ++r) {
            const auto rank = to_id<RankId>(index(party.mesh.first_rank()) + r);
            ranks[party.mesh.combined_coordinate(rank, apart)].push_back(rank);
        }
    }
    return group({.name = "stages", .explicit_ranks = std::move(ranks)});
}

GroupId ProgramTables::group(Group wanted) {
    for (std::size_t i = 0; i < program_.groups.size(); ++i) {
        const Group& known = program_.groups[i];
        if (known.party == wanted.party && known.digits == wanted.digits &&
            known.subset == wanted.subset && known.explicit_ranks == wanted.explicit_ranks) {
            return to_id<GroupId>(i);
        }
    }
    program_.groups.push_back(std::move(wanted));
    return to_id<GroupId>(program_.groups.size() - 1);
}

TensorId ProgramTables::tensor(Tensor tensor) {
    program_.tensors.push_back(std::move(tensor));
    return to_id<TensorId>(program_.tensors.size() - 1);
}

TensorId ProgramTables::host_tensor(std::string name,
                                    TensorKind kind,
                                    Dtype dtype,
                                    const Layout& layout,
                                    Bytes bytes,
                                    Lifetime lifetime) {
    return tensor({.name = std::move(name),
                   .parameter = {},
                   .dtype = dtype,
                   .kind = kind,
                   .lifetime = lifetime,
                   .global_shape = {},
                   .layout = layout,
                   .bytes = bytes,
                   .tier = MemoryTier::dram});
}

TensorId ProgramTables::communication_buffer(std::string_view name,
                                             Dtype dtype,
                                             const Layout& layout,
                                             std::int64_t elements,
                                             Lifetime lifetime) {
    return tensor({.name = std::string{name},
                   .parameter = {},
                   .dtype = dtype,
                   .kind = TensorKind::communication,
                   .lifetime = lifetime,
                   .global_shape = {},
                   .layout = layout,
                   .bytes = Bytes{elements * size_bytes(dtype)}});
}

TensorId ProgramTables::scalars() {
    if (!scalars_) {
        scalars_ = tensor({.name = "device scalars",
                           .parameter = {},
                           .dtype = Dtype::fp32,
                           .kind = TensorKind::workspace,
                           .lifetime = Lifetime::persistent,
                           .global_shape = {kNumDeviceScalars},
                           .layout = Layout(mesh().digits().size()),
                           .bytes = Bytes{kNumDeviceScalars * size_bytes(Dtype::fp32)},
                           .input = true});
    }
    return *scalars_;
}

TensorId ProgramTables::gradient_bucket(Dtype dtype, const Layout& layout, std::int64_t elements) {
    if (!gradient_bucket_) {
        gradient_bucket_ =
            communication_buffer("gradient bucket", dtype, layout, elements, Lifetime::persistent);
    }
    return *gradient_bucket_;
}

SegmentBuilder::SegmentBuilder(ProgramTables& tables, std::string name) : tables_(tables) {
    segment_.name = std::move(name);
}

std::uint32_t SegmentBuilder::kernel(const KernelCall& call, const OpSpec& spec) {
    return append(tables_.kernel(call), spec);
}

std::uint32_t SegmentBuilder::collective(const CollectiveCall& call, const OpSpec& spec) {
    return append(tables_.collective(call), spec);
}

std::uint32_t SegmentBuilder::send_recv(const SendRecvCall& call, const OpSpec& spec) {
    return append(tables_.send_recv(call), spec);
}

std::uint32_t SegmentBuilder::copy(const CopyCall& call, const OpSpec& spec) {
    return append(tables_.copy(call), spec);
}

std::uint32_t SegmentBuilder::host(const HostWork& work, const OpSpec& spec) {
    return append(tables_.host_work(work), spec);
}

std::optional<std::uint32_t> SegmentBuilder::last_on(StreamId stream) const {
    for (std::uint32_t op = size(); op > 0; --op) {
        if (segment_.ops[op - 1].stream == stream) {
            return op - 1;
        }
    }
    return std::nullopt;
}

void SegmentBuilder::next_waits_for(std::uint32_t op) {
    extra_waits_.push_back(op);
}

// The uses of the part of the tensor that the op uses.
std::span<TensorUses<SegmentBuilder::Place>> SegmentBuilder::uses_of(TensorId tensor,
                                                                     const OpSpec& spec) {
    if (index(tensor) >= place_of_.size()) {
        place_of_.resize(std::max(index(tensor) + 1, tables_.program().tensors.size()), 0);
    }
    std::uint32_t& place = place_of_[index(tensor)];
    if (place == 0) {
        uses_.emplace_back();
        place = static_cast<std::uint32_t>(uses_.size());
    }
    Uses& uses = uses_[place - 1];
    const bool cut = std::ranges::find(spec.in_pieces, tensor) != spec.in_pieces.end();
    if (cut && spec.pieces > 1) {
        if (uses.pieces.empty()) {
            uses.pieces.assign(spec.pieces, uses.whole);
        }
        const bool same = uses.pieces.size() == spec.pieces;
        return same ? std::span{uses.pieces}.subspan(spec.piece, 1) : std::span{uses.pieces};
    }
    return uses.pieces.empty() ? std::span{&uses.whole, 1} : std::span{uses.pieces};
}

void SegmentBuilder::add_operands(const OpSpec& spec) {
    const auto add = [&](const std::vector<TensorId>& tensors,
                         Access access,
                         const std::vector<std::int8_t>& parts) {
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            const TensorId t = tensors[i];
            const auto other = substitutes_.find(t);
            const bool cut = std::ranges::find(spec.in_pieces, t) != spec.in_pieces.end();
            tables_.program().operands.push_back(
                {.tensor = other == substitutes_.end() ? t : other->second,
                 .access = access,
                 .transposed = std::ranges::find(spec.transposed, t) != spec.transposed.end(),
                 .part = i < parts.size() ? parts[i] : std::int8_t{-1},
                 .piece = cut ? spec.piece : std::uint16_t{0},
                 .pieces = cut ? spec.pieces : std::uint16_t{1}});
        }
    };
    add(spec.reads, Access::read, spec.read_parts);
    add(spec.writes, Access::write, spec.write_parts);
    add(spec.accumulates, Access::accumulate, {});
}

std::uint8_t SegmentBuilder::launches_of(const OpSpec& spec) {
    if (spec.launches == 0) {
        return 0;
    }
    const int before = std::exchange(calls_before_next_, 0);
    if (!in_graph_) {
        return static_cast<std::uint8_t>(std::min(spec.launches + before, 255));
    }
    const bool first = !graph_launched_;
    graph_launched_ = true;
    return first ? 1 : 0;
}

std::uint32_t SegmentBuilder::append(Payload payload, const OpSpec& spec) {
    Program& program = tables_.program();
    Op op{.payload = payload,
          .stream = spec.stream,
          .cause = spec.cause,
          .launches = launches_of(spec),
          .name = tables_.name(spec.name),
          .first_wait = static_cast<std::uint32_t>(program.waits.size()),
          .first_operand = static_cast<std::uint32_t>(program.operands.size())};
    add_operands(spec);
    op.num_operands = static_cast<std::uint32_t>(program.operands.size()) - op.first_operand;
    const auto operands = std::span{program.operands}.subspan(op.first_operand);
    // The latest op to wait for on each stream. It implies the earlier ones on that stream.
    std::array<Place, kNumStreams> latest{};
    const auto depend = [&](Place on, StreamId stream) {
        latest[index(stream)] = std::max(latest[index(stream)], on);
    };
    for (const std::uint32_t extra : extra_waits_) {
        depend(extra + 1, segment_.ops[extra].stream);
    }
    extra_waits_.clear();
    for (const Operand& operand : operands) {
        for (const TensorUses<Place>& uses : uses_of(operand.tensor, spec)) {
            uses.for_each_wait(operand.access, depend);
        }
    }
    for (const Operand& operand : operands) {
        for (TensorUses<Place>& uses : uses_of(operand.tensor, spec)) {
            uses.add(operand.access, size() + 1, op.stream);
        }
    }
    for (std::size_t s = 0; s < kNumStreams; ++s) {
        if (latest[s] > 0 && s != index(spec.stream)) {
            program.waits.push_back(latest[s] - 1);
        }
    }
    op.num_waits = static_cast<std::uint32_t>(program.waits.size()) - op.first_wait;
    segment_.ops.push_back(op);
    return size() - 1;
}

void SegmentBuilder::rename(TensorId from, TensorId to) {
    std::vector<Operand>& operands = tables_.program().operands;
    for (const Op& op : segment_.ops) {
        for (std::uint32_t i = 0; i < op.num_operands; ++i) {
            Operand& operand = operands[op.first_operand + i];
            ORRERY_CHECK(operand.tensor != to);
            operand.tensor = operand.tensor == from ? to : operand.tensor;
        }
    }
    place_of_.resize(std::max(place_of_.size(), std::max(index(from), index(to)) + 1), 0);
    std::swap(place_of_[index(from)], place_of_[index(to)]);
}

SegmentId SegmentBuilder::finish() {
    extra_waits_.clear();  // no op follows
    Program& program = tables_.program();
    program.segments.push_back(std::move(segment_));
    return to_id<SegmentId>(program.segments.size() - 1);
}

}  // namespace orrery
