// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/cpu_executor.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/cpu/cpu_kernels.h"
#include "runtime/kernel_operands.h"
#include "runtime/operand_lists.h"

namespace orrery {
namespace {

void clear(const TensorView& view) {
    std::memset(view.data, 0, static_cast<std::size_t>(view.size * size_bytes(view.dtype)));
}

// Copies between a list of tensors and one vector. A buffer of the host may be longer than the
// vector in it.
void copy_vector(const BoundTransfer& copy) {
    const bool joins = copy.writes.size() == 1;
    const TensorView vector = joins ? copy.writes[0].view : copy.reads[0].view;
    std::int64_t first = 0;
    for (const BoundOperand& part : joins ? copy.reads : copy.writes) {
        const std::int64_t count = std::min(part.view.size, vector.size - first);
        const TensorView in_vector = slice(vector, first, count);
        ORRERY_CHECK(in_vector.dtype == part.view.dtype);
        ORRERY_CHECK(count == part.view.size || copy.reads.size() == copy.writes.size());
        std::memcpy(joins ? in_vector.data : part.view.data,
                    joins ? part.view.data : in_vector.data,
                    static_cast<std::size_t>(count * size_bytes(part.view.dtype)));
        first += count;
    }
}

}  // namespace

std::string CpuExecutor::why_not(const Op& op) const {
    if (op.kind() == OpKind::copy) {
        const OperandLists lists = operands_of(program(), op);
        return lists.reads.size() == 1 || lists.writes.size() == 1
                   ? ""
                   : "copies between memory tiers are of one vector";
    }
    if (op.kind() == OpKind::kernel && program().kernel(op).tier != MemoryTier::hbm) {
        return program().kernel(op).kind == KernelKind::adamw
                   ? ""
                   : "only the optimizer works in host memory";
    }
    if (op.kind() != OpKind::kernel) {
        return communication_ ? communication_->why_not(op)
                              : "communication needs a transport between the ranks";
    }
    std::string why = why_not_on_cpu(program().kernel(op));
    return why.empty() ? check_kernel_operands(program(), rank(), op) : why;
}

Result<std::unique_ptr<CpuExecutor>> CpuExecutor::create(const Program& program,
                                                         RankId rank,
                                                         Transport* transport,
                                                         const HostOptions& host) {
    std::unique_ptr<CpuExecutor> executor;
    try {
        executor.reset(new CpuExecutor(program, rank));
    } catch (const std::bad_alloc&) {
        return fail("", "not enough memory for the tensors of a training step");
    }
    if (transport != nullptr && program.num_ranks() > 1) {
        executor->communication_ =
            std::make_unique<CollectiveOps>(program, rank, *transport, host.ranks_of_node);
    }
    if (const Result<void> opened = executor->rank_.open_file(host.offload_folder); !opened) {
        return unexpected<Error>(opened.error());
    }
    const Result<void> checked =
        executor->rank_.check_ops([&](const Op& op) { return executor->why_not(op); });
    if (!checked) {
        return unexpected<Error>(checked.error());
    }
    return executor;
}

CpuExecutor::CpuExecutor(const Program& program, RankId rank) : Executor(program, rank) {
    const auto bytes = static_cast<std::size_t>(plan().bytes());
    arena_.reset(new (std::align_val_t{kTensorAlignment}) std::byte[bytes]);
    std::memset(arena_.get(), 0, bytes);
    rank_.set_arena(arena_.get());
    run_on_device_ = run_on_cpu;
    zeroed_ = rank_.zero_before_step();
}

void CpuExecutor::FreeArena::operator()(std::byte* arena) const {
    operator delete[](arena, std::align_val_t{kTensorAlignment});
}

Result<void> CpuExecutor::run_kernel(const Launch& launch, const Op& op) {
    const BoundOp bound = rank_.bind_kernel(launch.slot, op);
    if (bound.call.tier != MemoryTier::hbm) {
        if (Result<void> there = rank_.wait_for_file(bound.accumulates[0].view); !there) {
            return there;
        }
    }
    if (times_ == nullptr && recorder_ == nullptr) {
        run_on_device_(bound);
        return {};
    }
    const StepRecorder::Clocks begin = StepRecorder::now();
    run_on_device_(bound);
    const StepRecorder::Clocks end = StepRecorder::now();
    if (times_ != nullptr) {
        times_->add(op.payload.number(),
                    static_cast<double>(end.steady_ns - begin.steady_ns) * 1e-9);
    }
    if (recorder_ != nullptr) {
        recorder_->add(launch.slot, launch.op, begin, end);
    }
    return {};
}

Result<void> CpuExecutor::run_copy(const Op& op, const BoundTransfer& bound) {
    const CopyCall& call = program().copy(op);
    if (call.from == MemoryTier::nvme || call.to == MemoryTier::nvme) {
        rank_.begin_file_copy(op);
    } else {
        copy_vector(bound);
    }
    return {};
}

Result<void> CpuExecutor::run_launch(const Launch& launch) {
    const Op& op = rank_.op(launch.slot, launch.op);
    running_.store(std::uint64_t{launch.slot} << 32 | launch.op, std::memory_order_relaxed);
    for (const TensorId sum : launch.begin_at_zero) {
        clear(rank_.operand(launch.slot, sum));
    }
    if (op.kind() == OpKind::kernel) {
        return run_kernel(launch, op);
    }
    const BoundTransfer bound = rank_.bind_transfer(launch.slot, op);
    const auto begin = recorder_ == nullptr ? StepRecorder::Clocks{} : StepRecorder::now();
    Result<void> done =
        op.kind() == OpKind::copy ? run_copy(op, bound) : communication_->run(op, bound);
    if (recorder_ != nullptr) {
        recorder_->add(launch.slot, launch.op, begin, StepRecorder::now());
    }
    if (!done) {
        done.error().what = rank_.describe(launch.slot, op) + ": " + done.error().what;
    }
    return done;
}

Result<void> CpuExecutor::run_launches(Walk walk, const LaunchPlan& plan) {
    if (walk != Walk::gather_parameters) {
        for (const TensorView& view : zeroed_) {
            clear(view);
        }
    }
    for (const Launch& launch : plan.launches) {
        if (const Result<void> done = run_launch(launch); !done) {
            return done;
        }
    }
    if (const Result<void> stored = rank_.wait_for_file(); !stored) {
        return stored;
    }
    const bool sends = communication_ != nullptr && walk != Walk::gather_parameters;
    return sends ? communication_->end_step() : Result<void>{};
}

}  // namespace orrery
