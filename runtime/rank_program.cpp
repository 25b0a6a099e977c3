// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank_program.h"

#include <set>

#include "engine/base/check.h"
#include "models/plan/layout.h"
#include "runtime/operand_lists.h"
#include "runtime/stepped_weights.h"

namespace orrery {

RankProgram::RankProgram(const Program& program, RankId rank)
    : program_(program),
      rank_(rank),
      role_(program.roles[index(program.role_of(rank))]),
      plan_(program, program.role_of(rank)),
      shards_(program, rank) {
    hold_on_host();
}

void RankProgram::hold_on_host() {
    for (const Slot& slot : role_.slots) {
        for (const Op& op : program_.segment_of(slot).ops) {
            for (std::uint32_t i = 0; i < op.num_operands; ++i) {
                const TensorId id = program_.operands[op.first_operand + i].tensor;
                const Tensor& tensor = program_.tensors[index(id)];
                if (tensor.tier == MemoryTier::dram) {
                    on_host_[id].resize(static_cast<std::size_t>(tensor.bytes.count()));
                } else if (tensor.tier == MemoryTier::nvme &&
                           in_file_.try_emplace(id, file_bytes_).second) {
                    file_bytes_ += tensor.bytes.count();
                }
            }
        }
    }
}

Result<void> RankProgram::open_file(const std::filesystem::path& folder) {
    if (file_bytes_ == 0) {
        return {};
    }
    auto made = TierFile::create(folder, file_bytes_);
    if (!made) {
        return unexpected<Error>(made.error());
    }
    file_ = std::move(*made);
    return {};
}

void RankProgram::begin_file_copy(const Op& op) {
    const CopyCall& call = program_.copy(op);
    const OperandLists lists = operands_of(program_, op);
    const auto size = static_cast<std::size_t>(call.bytes.count());
    if (call.from == MemoryTier::nvme) {
        file_->read(in_file_.at(lists.reads[0]), {on_host_.at(lists.writes[0]).data(), size});
    } else {
        file_->write(in_file_.at(lists.writes[0]), {on_host_.at(lists.reads[0]).data(), size});
    }
}

Result<void> RankProgram::wait_for_file(const TensorView& memory) {
    return file_ == nullptr ? Result<void>{} : file_->wait(memory.data);
}

Result<void> RankProgram::wait_for_file() {
    return file_ == nullptr ? Result<void>{} : file_->wait();
}

// Empty if the tensor is neither in the host's memory nor in the file.
TensorView RankProgram::host_view(TensorId tensor) const {
    if (const auto stored = in_file_.find(tensor); stored != in_file_.end() && file_ != nullptr) {
        const Tensor& t = program_.tensors[index(tensor)];
        return {
            file_->bytes().data() + stored->second, t.dtype, t.bytes.count() / size_bytes(t.dtype)};
    }
    const auto held = on_host_.find(tensor);
    if (held == on_host_.end()) {
        return {};
    }
    const Dtype dtype = program_.tensors[index(tensor)].dtype;
    // The bytes represent the device's memory, like the arena's.
    auto* const bytes = const_cast<std::byte*>(held->second.data());  // NOLINT(*-const-cast)
    return {bytes, dtype, static_cast<std::int64_t>(held->second.size()) / size_bytes(dtype)};
}

std::string RankProgram::describe(std::uint32_t slot, const Op& op) const {
    return program_.segment_of(role_.slots[slot]).name + ", " + program_.names[op.name];
}

TensorView RankProgram::at(std::int64_t offset, const Tensor& tensor) const {
    return {.data = arena_ + offset,
            .dtype = tensor.dtype,
            .size = tensor.bytes.count() / size_bytes(tensor.dtype)};
}

TensorView RankProgram::instance(TensorId tensor, std::int32_t micro_batch) const {
    if (const TensorView on_host = host_view(tensor); !on_host.empty()) {
        return on_host;
    }
    const std::int64_t offset = plan_.offset_of_instance(tensor, micro_batch);
    return offset < 0 ? TensorView{} : at(offset, program_.tensors[index(tensor)]);
}

TensorView RankProgram::operand(std::uint32_t slot, TensorId tensor) const {
    const TensorView on_host = host_view(tensor);
    return on_host.empty() ? at(plan_.offset(slot, tensor), program_.tensors[index(tensor)])
                           : on_host;
}

BoundOperand RankProgram::bind(std::uint32_t slot, const Operand& operand) const {
    BoundOperand bound{.view = this->operand(slot, operand.tensor),
                       .tensor = &program_.tensors[index(operand.tensor)],
                       .transposed = operand.transposed,
                       .part = operand.part};
    take_piece(bound, operand.piece, operand.pieces);
    return bound;
}

// With a copy into a shard (models/blocks/unit_weights.h), a rank takes the elements of its shard.
void RankProgram::take_own_parts(BoundOp& bound) const {
    ORRERY_CHECK(bound.reads.size() == bound.writes.size());
    for (std::size_t i = 0; i < bound.writes.size(); ++i) {
        BoundOperand& shard = bound.writes[i];
        if (digits_with(shard.tensor->layout, Placement::flat) != 0) {
            const ElementRange held = shards_.stored(*shard.tensor);
            bound.reads[i].view = slice(bound.reads[i].view, held.first, held.count);
            shard.view = slice(shard.view, 0, held.count);
        }
    }
}

BoundOp RankProgram::bind_kernel(std::uint32_t slot, const Op& op) const {
    BoundOp bound{.program = program_,
                  .rank = rank_,
                  .call = program_.kernel(op),
                  .micro_batch = role_.slots[slot].micro_batch,
                  .reads = {},
                  .writes = {},
                  .accumulates = {}};
    if (bound.call.tier != MemoryTier::hbm) {
        take_own_weights(slot, op, bound);
        return bound;
    }
    const bool optimizer = role_.slots[slot].pass == Pass::optimizer;
    const bool norm = bound.call.kind == KernelKind::gradient_norm;
    add_operands(program_, op, bound, [&](const Operand& operand) {
        BoundOperand one = bind(slot, operand);
        if (optimizer) {
            const ElementRange own =
                norm ? shards_.own_in_norm(operand.tensor) : shards_.own(operand.tensor);
            one.view = slice(one.view, own.first, own.count);
            one.first_element = shards_.stored(operand.tensor).first + own.first;
        }
        return one;
    });
    if (bound.call.kind == KernelKind::cast) {
        take_own_parts(bound);
    }
    if (bound.call.kind == KernelKind::lamb_update) {
        const std::uint32_t summed_over =
            digits_with(bound.writes.front().tensor->layout, Placement::partial);
        for (BoundOperand& weight : bound.reads) {
            weight.counts = shards_.counts(*weight.tensor, rank_, summed_over);
        }
    }
    return bound;
}

// For an optimizer on the host: this rank's parts of gradients and weights in the vectors that hold
// all of them.
void RankProgram::take_own_weights(std::uint32_t slot, const Op& op, BoundOp& bound) const {
    const OperandLists lists = operands_of(program_, op);
    const TensorView gradients = operand(slot, lists.reads[0]);
    const TensorView weights = operand(slot, lists.writes[0]);
    std::int64_t first = 0;
    const Segment& segment = program_.segment_of(role_.slots[slot]);
    for (const TensorId id : stepped_weights(program_, segment, op)) {
        const ElementRange own = shards_.own(id);
        BoundOperand part{.tensor = &program_.tensors[index(id)]};
        part.first_element = shards_.stored(id).first + own.first;
        part.view = slice(gradients, first, own.count);
        bound.reads.push_back(part);
        part.view = slice(weights, first, own.count);
        bound.writes.push_back(part);
        first += own.count;
    }
    bound.reads.push_back({.view = operand(slot, lists.reads[1])});
    bound.accumulates.push_back({.view = operand(slot, lists.accumulates[0])});
}

BoundTransfer RankProgram::bind_transfer(std::uint32_t slot, const Op& op) const {
    BoundTransfer bound;
    add_operands(program_, op, bound, [&](const Operand& operand) {
        BoundOperand one = bind(slot, operand);
        if (op.kind() == OpKind::copy && host_view(operand.tensor).empty()) {
            const ElementRange own = shards_.own(operand.tensor);
            one.view = slice(one.view, own.first, own.count);
        }
        return one;
    });
    return bound;
}

std::vector<TensorView> RankProgram::zero_before_step() const {
    std::vector<TensorView> zeroed;
    for (const TensorId id : plan_.cleared_before_step()) {
        zeroed.push_back(instance(id));
    }
    return zeroed;
}

Result<void> RankProgram::check_ops(const WhyNot& why_not) const {
    std::set<SegmentId> seen;
    for (const Slot& slot : role_.slots) {
        if (!seen.insert(slot.segment).second) {
            continue;
        }
        for (const Op& op : program_.segment_of(slot).ops) {
            if (is_restart(program_, op)) {
                continue;
            }
            std::string why = why_not(op);
            if (!why.empty()) {
                return fail(program_.segment_of(slot).name + ", " + program_.names[op.name],
                            std::move(why));
            }
        }
    }
    return {};
}

}  // namespace orrery
