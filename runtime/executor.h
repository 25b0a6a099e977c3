// SPDX-License-Identifier: Apache-2.0
// Executes a Program as one of its ranks. The ops, their order, their operands and their waits are
// the same on every device (runtime/launch_plan.h). Only the execution of a kernel or a message
// depends on the device: runtime/cpu/cpu_executor.h, runtime/cuda/cuda_executor.h.
//
// Before a step the host writes the tensors marked `input`. Gradients that persist, and tensors of
// the step, start it as zeros.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/program.h"
#include "kernels/tensor_view.h"
#include "runtime/communication/communicator.h"
#include "runtime/launch_plan.h"
#include "runtime/measure/op_times.h"
#include "runtime/measure/step_recorder.h"
#include "runtime/rank_program.h"

namespace orrery {

class Executor {
public:
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;
    virtual ~Executor() = default;

    const Program& program() const { return rank_.program(); }
    const Role& role() const { return rank_.role(); }
    const MemoryPlan& plan() const { return rank_.plan(); }
    RankId rank() const { return rank_.rank(); }
    const ParameterShards& shards() const { return rank_.shards(); }

    // Whether this rank has the tensor, whose lifetime must be longer than a slot.
    bool has(TensorId tensor, std::int32_t micro_batch = -1) const {
        return plan().offset_of_instance(tensor, micro_batch) >= 0;
    }
    // The host's view of a tensor that outlives slots; empty if this rank has none. The view is
    // valid, and writes to it take effect, until the next run.
    virtual TensorView view(TensorId tensor, std::int32_t micro_batch = -1) = 0;
    // The same for a host that writes every element: the old contents are not copied to the host.
    virtual TensorView overwrite(TensorId tensor, std::int32_t micro_batch = -1) {
        return view(tensor, micro_batch);
    }
    // The same for reading only.
    virtual ConstTensorView read(TensorId tensor, std::int32_t micro_batch = -1) = 0;

    // The communicator of all ranks, for decisions outside the Program; null for one rank.
    virtual Communicator* world() = 0;
    // The name of the device.
    virtual std::string device_name() const = 0;
    // Whether ops of several streams run concurrently, independent of the process.
    virtual bool overlaps() const { return false; }
    // Notes for reports on how the device runs the Program (memory, graphs), one a line.
    virtual std::vector<std::string> notes() const { return {}; }
    // Kernels that computed wrong results on the device and were replaced by others, one a line.
    virtual std::vector<std::string> wrong_ways() const { return {}; }

    // Times kernels from now on, on some of the steps only if timing costs time; null: stops.
    void measure(OpTimes* times, bool on_every_step = false) {
        times_ = times;
        time_every_step_ = on_every_step;
    }
    // Records every op of a step from now on, including communication; null: stops.
    void record(StepRecorder* recorder) { recorder_ = recorder; }
    StepRecorder* recorder() { return recorder_; }
    // The current or last op, for watchers on other threads: slot * 2^32 + op; before the first,
    // kNothing.
    static constexpr std::uint64_t kNothing = ~std::uint64_t{0};
    std::uint64_t running() const { return running_.load(std::memory_order_relaxed); }

    // Runs a step. If it fails because another rank does not answer, the executor cannot be used
    // any more.
    Result<void> run_step() { return run(Walk::step); }
    // Runs only the forward passes, for evaluation. Weights and optimizer state do not change.
    Result<void> run_forward() { return run(Walk::forward); }
    // Runs the forward pass of the first micro-batch only.
    Result<void> run_first_forward() { return run(Walk::first_forward); }
    // Updates the weights, if the Program gathers them only at the start of the next step.
    Result<void> gather_parameters() { return run(Walk::gather_parameters); }

protected:
    Executor(const Program& program, RankId rank) : rank_(program, rank) {}

    // Runs all launches of the plan. For the host all of them have ended when it returns.
    virtual Result<void> run_launches(Walk walk, const LaunchPlan& plan) = 0;

    RankProgram rank_;
    OpTimes* times_ = nullptr;
    bool time_every_step_ = false;
    StepRecorder* recorder_ = nullptr;
    std::atomic<std::uint64_t> running_{kNothing};

private:
    Result<void> run(Walk walk);

    std::array<std::unique_ptr<LaunchPlan>, 4> plans_;  // by Walk, created on first use
};

}  // namespace orrery
