// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu_executor.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <new>
#include <set>

#include "engine/check.h"
#include "models/segment_builder.h"
#include "runtime/cpu_kernels.h"
#include "runtime/kernel_operands.h"

namespace orrery {
namespace {

bool carries_activations(const Program& program, const Slot& slot) {
    const std::vector<Op>& ops = program.segment_of(slot).ops;
    return (slot.pass == Pass::receive && ops.front().stream == kForwardReceiveStream) ||
           (slot.pass == Pass::send && ops.front().stream == kForwardSendStream);
}

}  // namespace

std::string CpuExecutor::why_not(const Op& op) const {
    if (op.kind != OpKind::kernel) {
        return communication_ ? communication_->why_not(op)
                              : "communication needs a transport between the ranks";
    }
    std::string why = why_not_on_cpu(program_.kernels[op.payload]);
    return why.empty() ? check_kernel_operands(program_, op) : why;
}

Result<std::unique_ptr<CpuExecutor>> CpuExecutor::create(const Program& program,
                                                         RankId rank,
                                                         Transport* transport) {
    std::unique_ptr<CpuExecutor> executor;
    try {
        executor.reset(new CpuExecutor(program, rank));
    } catch (const std::bad_alloc&) {
        return fail("", "not enough memory for the tensors of a training step");
    }
    if (transport != nullptr && program.num_ranks() > 1) {
        executor->communication_ = std::make_unique<CollectiveOps>(program, rank, *transport);
    }
    std::set<SegmentId> seen;
    for (const Slot& slot : executor->role_.slots) {
        if (!seen.insert(slot.segment).second) {
            continue;
        }
        for (const Op& op : program.segment_of(slot).ops) {
            if (std::string why = executor->why_not(op); !why.empty()) {
                return fail(program.segment_of(slot).name + ", " + program.names[op.name],
                            std::move(why));
            }
        }
    }
    return executor;
}

CpuExecutor::CpuExecutor(const Program& program, RankId rank)
    : program_(program),
      rank_(rank),
      role_(program.roles[index(program.role_of(rank))]),
      plan_(program, program.role_of(rank)),
      shards_(program, rank) {
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

BoundOperand CpuExecutor::bind(std::uint32_t slot, const Operand& operand) {
    const Tensor& tensor = program_.tensors[index(operand.tensor)];
    return {.view = at(plan_.offset(slot, operand.tensor), tensor),
            .tensor = &tensor,
            .transposed = operand.transposed};
}

BoundOp CpuExecutor::bind_kernel(std::uint32_t slot, const Op& op) {
    BoundOp bound{.program = program_,
                  .rank = rank_,
                  .call = program_.kernels[op.payload],
                  .reads = {},
                  .writes = {},
                  .accumulates = {}};
    const bool optimizer = role_.slots[slot].pass == Pass::optimizer;
    const bool norm = bound.call.kind == KernelKind::gradient_norm;
    for (std::uint32_t i = 0; i < op.num_operands; ++i) {
        const Operand& operand = program_.operands[op.first_operand + i];
        auto& list = operand.access == Access::read    ? bound.reads
                     : operand.access == Access::write ? bound.writes
                                                       : bound.accumulates;
        list.push_back(bind(slot, operand));
        if (optimizer) {
            const ElementRange own =
                norm ? shards_.own_in_norm(operand.tensor) : shards_.own(operand.tensor);
            list.back().view = slice(list.back().view, own.first, own.count);
        }
    }
    return bound;
}

BoundTransfer CpuExecutor::bind_transfer(std::uint32_t slot, const Op& op) {
    BoundTransfer bound;
    for (std::uint32_t i = 0; i < op.num_operands; ++i) {
        const Operand& operand = program_.operands[op.first_operand + i];
        auto& list = operand.access == Access::read    ? bound.reads
                     : operand.access == Access::write ? bound.writes
                                                       : bound.accumulates;
        list.push_back(bind(slot, operand));
    }
    return bound;
}

void CpuExecutor::begin_step() {
    for (const TensorView& view : zeroed_) {
        std::memset(view.data, 0, static_cast<std::size_t>(view.size * size_bytes(view.dtype)));
    }
}

void CpuExecutor::run_kernel(std::uint32_t slot, const Op& op) {
    const BoundOp bound = bind_kernel(slot, op);
    if (times_ == nullptr) {
        run_on_cpu(bound);
        return;
    }
    const auto begin = std::chrono::steady_clock::now();
    run_on_cpu(bound);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    times_->add(op.payload, seconds.count());
}

// Tensors of the slot that an op adds to before anything was written to them: sums begin at zero.
void CpuExecutor::begin_sums(std::uint32_t slot, const Op& op, std::set<TensorId>& touched) {
    for (std::uint32_t i = 0; i < op.num_operands; ++i) {
        const Operand& operand = program_.operands[op.first_operand + i];
        const Tensor& tensor = program_.tensors[index(operand.tensor)];
        if (tensor.lifetime == Lifetime::slot && touched.insert(operand.tensor).second &&
            operand.access == Access::accumulate) {
            const TensorView view = bind(slot, operand).view;
            std::memset(view.data, 0, static_cast<std::size_t>(view.size * size_bytes(view.dtype)));
        }
    }
}

Result<void> CpuExecutor::run_slot(std::uint32_t slot) {
    std::set<TensorId> touched;
    for (const Op& op : program_.segment_of(role_.slots[slot]).ops) {
        begin_sums(slot, op, touched);
        if (op.kind == OpKind::kernel) {
            run_kernel(slot, op);
        } else if (const auto done = communication_->run(op, bind_transfer(slot, op)); !done) {
            Error error = done.error();
            error.what = fmt::format("{}, {}: {}",
                                     program_.segment_of(role_.slots[slot]).name,
                                     program_.names[op.name],
                                     error.what);
            return unexpected<Error>(std::move(error));
        }
    }
    return {};
}

Result<void> CpuExecutor::run_step() {
    begin_step();
    for (std::uint32_t s = 0; s < role_.slots.size(); ++s) {
        if (const Result<void> done = run_slot(s); !done) {
            return done;
        }
    }
    return communication_ ? communication_->end_step() : Result<void>{};
}

Result<void> CpuExecutor::run_forward() {
    begin_step();
    for (std::uint32_t s = 0; s < role_.slots.size(); ++s) {
        const Slot& slot = role_.slots[s];
        // Messages of activations go forward with the chunk's forward passes, gradients do not.
        const bool forward = slot.pass == Pass::forward || slot.pass == Pass::parameter_sync ||
                             carries_activations(program_, slot);
        if (const Result<void> done = forward ? run_slot(s) : Result<void>{}; !done) {
            return done;
        }
    }
    return communication_ ? communication_->end_step() : Result<void>{};
}

Result<void> CpuExecutor::gather_parameters() {
    for (std::uint32_t s = 0; s < role_.slots.size(); ++s) {
        const bool gathers = role_.slots[s].pass == Pass::parameter_sync;
        if (const Result<void> done = gathers ? run_slot(s) : Result<void>{}; !done) {
            return done;
        }
    }
    return {};
}

}  // namespace orrery
