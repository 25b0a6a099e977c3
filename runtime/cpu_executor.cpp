// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu_executor.h"

#include <cstring>
#include <new>
#include <set>

#include "engine/check.h"
#include "runtime/cpu_kernels.h"
#include "runtime/kernel_operands.h"

namespace orrery {
namespace {

// Why this op can't be executed, or empty.
std::string why_not(const Program& program, const Op& op) {
    if (op.kind != OpKind::kernel) {
        return "communication between ranks is not executed yet";
    }
    std::string why = why_not_on_cpu(program.kernels[op.payload]);
    return why.empty() ? check_kernel_operands(program, op) : why;
}

}  // namespace

Result<std::unique_ptr<CpuExecutor>> CpuExecutor::create(const Program& program, RankId rank) {
    std::set<SegmentId> seen;
    for (const Slot& slot : program.roles[index(program.role_of(rank))].slots) {
        if (!seen.insert(slot.segment).second) {
            continue;
        }
        for (const Op& op : program.segment_of(slot).ops) {
            if (std::string why = why_not(program, op); !why.empty()) {
                return fail(program.segment_of(slot).name + ", " + program.names[op.name],
                            std::move(why));
            }
        }
    }
    try {
        return std::unique_ptr<CpuExecutor>(new CpuExecutor(program, rank));
    } catch (const std::bad_alloc&) {
        return fail("", "not enough memory for the tensors of a training step");
    }
}

CpuExecutor::CpuExecutor(const Program& program, RankId rank)
    : program_(program),
      rank_(rank),
      role_(program.roles[index(program.role_of(rank))]),
      plan_(program, program.role_of(rank)) {
    const auto bytes = static_cast<std::size_t>(plan_.bytes());
    arena_.reset(new (std::align_val_t{kTensorAlignment}) std::byte[bytes]);
    std::memset(arena_.get(), 0, bytes);
    for (const auto& [instance, offset] : plan_.instances()) {
        const Tensor& tensor = program_.tensors[index(instance.first)];
        const bool gradient = tensor.kind == TensorKind::gradients;
        if (tensor.lifetime == Lifetime::step || gradient) {
            zeroed_.push_back(at(offset, tensor));
        }
    }
}

void CpuExecutor::FreeArena::operator()(std::byte* arena) const {
    operator delete[](arena, std::align_val_t{kTensorAlignment});
}

TensorView CpuExecutor::at(std::int64_t offset, const Tensor& tensor) {
    return {.data = arena_.get() + offset,
            .dtype = tensor.dtype,
            .size = tensor.bytes.count() / size_bytes(tensor.dtype)};
}

TensorView CpuExecutor::view(TensorId tensor, std::int32_t micro_batch) {
    const std::int64_t offset = plan_.offset_of_instance(tensor, micro_batch);
    return offset < 0 ? TensorView{} : at(offset, program_.tensors[index(tensor)]);
}

BoundOp CpuExecutor::bind(std::uint32_t slot, const Op& op) {
    BoundOp bound{.program = program_,
                  .rank = rank_,
                  .call = program_.kernels[op.payload],
                  .reads = {},
                  .writes = {},
                  .accumulates = {}};
    for (std::uint32_t i = 0; i < op.num_operands; ++i) {
        const Operand& operand = program_.operands[op.first_operand + i];
        const Tensor& tensor = program_.tensors[index(operand.tensor)];
        auto& list = operand.access == Access::read    ? bound.reads
                     : operand.access == Access::write ? bound.writes
                                                       : bound.accumulates;
        list.push_back({.view = at(plan_.offset(slot, operand.tensor), tensor),
                        .tensor = &tensor,
                        .transposed = operand.transposed});
    }
    return bound;
}

void CpuExecutor::begin_step() {
    for (const TensorView& view : zeroed_) {
        std::memset(view.data, 0, static_cast<std::size_t>(view.size * size_bytes(view.dtype)));
    }
}

void CpuExecutor::run_slot(std::uint32_t slot) {
    for (const Op& op : program_.segment_of(role_.slots[slot]).ops) {
        run_on_cpu(bind(slot, op));
    }
}

void CpuExecutor::run_step() {
    begin_step();
    for (std::uint32_t s = 0; s < role_.slots.size(); ++s) {
        run_slot(s);
    }
}

void CpuExecutor::run_forward() {
    begin_step();
    for (std::uint32_t s = 0; s < role_.slots.size(); ++s) {
        if (role_.slots[s].pass == Pass::forward) {
            run_slot(s);
        }
    }
}

}  // namespace orrery
