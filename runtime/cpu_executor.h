// SPDX-License-Identifier: Apache-2.0
// Executes a Program on the CPU as one of its ranks: slots in order, the ops of each in order. On
// one processor that order satisfies every wait, since a wait names an op that is earlier in
// program order. Memory is one arena by MemoryPlan.
//
// Before a step the host writes the tensors that are marked `input`. Gradients that persist and
// tensors of the step start it as zeros. Where data-parallel ranks share the optimizer's work
// (runtime/parameter_shards.h) its kernels get this rank's parts of gradients and weights.
#pragma once

#include <memory>
#include <set>
#include <span>

#include "engine/program.h"
#include "engine/result.h"
#include "kernels/tensor_view.h"
#include "runtime/bound_op.h"
#include "runtime/collective_ops.h"
#include "runtime/memory_plan.h"
#include "runtime/op_times.h"
#include "runtime/parameter_shards.h"

namespace orrery {

class CpuExecutor {
public:
    // Fails if the Program has ops that can't be executed here. `transport` joins the Program's
    // ranks and must outlive the executor; a Program of one rank needs none.
    static Result<std::unique_ptr<CpuExecutor>> create(const Program& program,
                                                       RankId rank,
                                                       Transport* transport = nullptr);

    const Program& program() const { return program_; }
    const Role& role() const { return role_; }
    const MemoryPlan& plan() const { return plan_; }

    // A tensor that outlives slots; empty if this rank has none.
    TensorView view(TensorId tensor, std::int32_t micro_batch = -1);

    RankId rank() const { return rank_; }
    const ParameterShards& shards() const { return shards_; }
    // For what the loop around the Program has to agree on; empty for one rank.
    CollectiveOps* communication() { return communication_.get(); }

    // From now on kernels are timed; null: no longer.
    void measure(OpTimes* times) { times_ = times; }

    // Fail if another rank does not answer: this executor is of no further use then.
    Result<void> run_step();
    // Only the forward passes: for evaluation. Weights and optimizer state stay as they are.
    Result<void> run_forward();
    // Brings the weights up to date where the Program does so only at the start of the next step.
    Result<void> gather_parameters();

private:
    CpuExecutor(const Program& program, RankId rank);
    std::string why_not(const Op& op) const;
    void begin_step();
    void begin_sums(std::uint32_t slot, const Op& op, std::set<TensorId>& touched);
    Result<void> run_slot(std::uint32_t slot);
    void run_kernel(std::uint32_t slot, const Op& op);
    BoundOperand bind(std::uint32_t slot, const Operand& operand);
    BoundOp bind_kernel(std::uint32_t slot, const Op& op);
    BoundTransfer bind_transfer(std::uint32_t slot, const Op& op);
    TensorView at(std::int64_t offset, const Tensor& tensor);

    struct FreeArena {
        void operator()(std::byte* arena) const;
    };

    const Program& program_;
    RankId rank_;
    const Role& role_;
    MemoryPlan plan_;
    ParameterShards shards_;
    std::unique_ptr<CollectiveOps> communication_;
    std::unique_ptr<std::byte[], FreeArena> arena_;
    std::vector<TensorView> zeroed_;  // at the begin of a step
    OpTimes* times_ = nullptr;
};

}  // namespace orrery
