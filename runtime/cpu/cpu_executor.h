// SPDX-License-Identifier: Apache-2.0
// Executes a Program on the CPU: its launches one after the other. On one processor this order
// satisfies every wait, because a wait names an earlier op in program order.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/collective_ops.h"
#include "runtime/executor.h"
#include "runtime/host_options.h"

namespace orrery {

class CpuExecutor final : public Executor {
public:
    // Fails if the CPU cannot execute an op of the Program. `transport` joins the Program's ranks
    // and must outlive the executor; a Program of one rank needs none.
    static Result<std::unique_ptr<CpuExecutor>> create(const Program& program,
                                                       RankId rank,
                                                       Transport* transport = nullptr,
                                                       const HostOptions& host = {});

    TensorView view(TensorId tensor, std::int32_t micro_batch = -1) override {
        return rank_.instance(tensor, micro_batch);
    }
    ConstTensorView read(TensorId tensor, std::int32_t micro_batch = -1) override {
        return rank_.instance(tensor, micro_batch);
    }
    Communicator* world() override { return communication_ ? &communication_->world() : nullptr; }
    std::string device_name() const override { return "CPU"; }

    // Runs kernels by `run` from now on, on memory of this process, instead of the CPU kernels.
    // Tests use it to train with device code.
    using KernelRunner = std::function<void(const BoundOp&)>;
    void run_kernels_with(KernelRunner run) { run_on_device_ = std::move(run); }

private:
    CpuExecutor(const Program& program, RankId rank);
    Result<void> run_launches(Walk walk, const LaunchPlan& plan) override;
    Result<void> run_launch(const Launch& launch);
    Result<void> run_kernel(const Launch& launch, const Op& op);
    Result<void> run_copy(const Op& op, const BoundTransfer& bound);
    std::string why_not(const Op& op) const;

    struct FreeArena {
        void operator()(std::byte* arena) const;
    };

    std::unique_ptr<CollectiveOps> communication_;
    std::unique_ptr<std::byte[], FreeArena> arena_;
    std::vector<TensorView> zeroed_;  // cleared at the begin of a step
    KernelRunner run_on_device_;
};

}  // namespace orrery
