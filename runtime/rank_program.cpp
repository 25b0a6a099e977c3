// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank_program.h"

#include <set>

#include "engine/check.h"
#include "models/layout.h"
#include "runtime/operand_lists.h"

namespace orrery {

RankProgram::RankProgram(const Program& program, RankId rank)
    : program_(program),
      rank_(rank),
      role_(program.roles[index(program.role_of(rank))]),
      plan_(program, program.role_of(rank)),
      shards_(program, rank) {}

std::string RankProgram::describe(std::uint32_t slot, const Op& op) const {
    return program_.segment_of(role_.slots[slot]).name + ", " + program_.names[op.name];
}

TensorView RankProgram::at(std::int64_t offset, const Tensor& tensor) const {
    return {.data = arena_ + offset,
            .dtype = tensor.dtype,
            .size = tensor.bytes.count() / size_bytes(tensor.dtype)};
}

TensorView RankProgram::instance(TensorId tensor, std::int32_t micro_batch) const {
    const std::int64_t offset = plan_.offset_of_instance(tensor, micro_batch);
    return offset < 0 ? TensorView{} : at(offset, program_.tensors[index(tensor)]);
}

TensorView RankProgram::operand(std::uint32_t slot, TensorId tensor) const {
    return at(plan_.offset(slot, tensor), program_.tensors[index(tensor)]);
}

BoundOperand RankProgram::bind(std::uint32_t slot, const Operand& operand) const {
    BoundOperand bound{.view = this->operand(slot, operand.tensor),
                       .tensor = &program_.tensors[index(operand.tensor)],
                       .transposed = operand.transposed,
                       .part = operand.part};
    take_piece(bound, operand.piece, operand.pieces);
    return bound;
}

// Of what is copied into a shard (models/unit_weights.h) a rank takes the elements of its shard.
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

BoundTransfer RankProgram::bind_transfer(std::uint32_t slot, const Op& op) const {
    BoundTransfer bound;
    add_operands(program_, op, bound, [&](const Operand& operand) { return bind(slot, operand); });
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
            std::string why = op.kind() == OpKind::copy
                                  ? "copies between memory tiers are not executed yet"
                                  : why_not(op);
            if (!why.empty()) {
                return fail(program_.segment_of(slot).name + ", " + program_.names[op.name],
                            std::move(why));
            }
        }
    }
    return {};
}

}  // namespace orrery
