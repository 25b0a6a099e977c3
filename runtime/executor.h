// SPDX-License-Identifier: Apache-2.0
// Executes a Program as one of its ranks. What runs, in which order, with which operands and after
// what is the same on every device (runtime/launch_plan.h); how a kernel or a message is run is the
// device's: runtime/cpu/cpu_executor.h, runtime/cuda/cuda_executor.h.
//
// Before a step the host writes the tensors that are marked `input`. Gradients that persist and
// tensors of the step start it as zeros.
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

    // Whether this rank has the tensor, which must outlive slots.
    bool has(TensorId tensor, std::int32_t micro_batch = -1) const {
        return plan().offset_of_instance(tensor, micro_batch) >= 0;
    }
    // A tensor that outlives slots as the host sees it; empty if this rank has none. The view is
    // valid, and what is written to it counts, until the next run.
    virtual TensorView view(TensorId tensor, std::int32_t micro_batch = -1) = 0;
    // The same for a host that writes every element: what was in the tensor is not brought here.
    virtual TensorView overwrite(TensorId tensor, std::int32_t micro_batch = -1) {
        return view(tensor, micro_batch);
    }
    // The same for reading only.
    virtual ConstTensorView read(TensorId tensor, std::int32_t micro_batch = -1) = 0;

    // Of all ranks, for what the loop around the Program has to agree on; null for one rank.
    virtual Communicator* world() = 0;
    // Of the device, in words.
    virtual std::string device_name() const = 0;
    // Whether ops of several streams run at the same time, beside the process.
    virtual bool overlaps() const { return false; }
    // What a report may tell of how the device runs the Program: memory, graphs. Lines.
    virtual std::vector<std::string> notes() const { return {}; }
    // Kernels that the device was found to compute wrongly, and others therefore run for. Lines.
    virtual std::vector<std::string> wrong_ways() const { return {}; }

    // From now on kernels are timed, where that costs time only on some of the steps; null: no
    // longer.
    void measure(OpTimes* times, bool on_every_step = false) {
        times_ = times;
        time_every_step_ = on_every_step;
    }
    // From now on every op of a step is written down, communication too; null: no longer.
    void record(StepRecorder* recorder) { recorder_ = recorder; }
    StepRecorder* recorder() { return recorder_; }
    // What runs now, or ran last, for watchers on other threads: slot * 2^32 + op; kNothing before.
    static constexpr std::uint64_t kNothing = ~std::uint64_t{0};
    std::uint64_t running() const { return running_.load(std::memory_order_relaxed); }

    // Fail if another rank does not answer: this executor is of no further use then.
    Result<void> run_step() { return run(Walk::step); }
    // Only the forward passes: for evaluation. Weights and optimizer state stay as they are.
    Result<void> run_forward() { return run(Walk::forward); }
    // The same of the first micro-batch.
    Result<void> run_first_forward() { return run(Walk::first_forward); }
    // Brings the weights up to date where the Program does so only at the start of the next step.
    Result<void> gather_parameters() { return run(Walk::gather_parameters); }

protected:
    Executor(const Program& program, RankId rank) : rank_(program, rank) {}

    // Runs all launches of the plan; has them ended, as far as the host sees, when it returns.
    virtual Result<void> run_launches(Walk walk, const LaunchPlan& plan) = 0;

    RankProgram rank_;
    OpTimes* times_ = nullptr;
    bool time_every_step_ = false;
    StepRecorder* recorder_ = nullptr;
    std::atomic<std::uint64_t> running_{kNothing};

private:
    Result<void> run(Walk walk);

    std::array<std::unique_ptr<LaunchPlan>, 4> plans_;  // by Walk, made when needed
};

}  // namespace orrery
