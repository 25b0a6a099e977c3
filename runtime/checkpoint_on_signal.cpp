// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint_on_signal.h"

#include "kernels/tensor_view.h"
#include "runtime/communication/communicator.h"

namespace orrery {

CheckpointOnSignal::CheckpointOnSignal(const TrainingJob& job) {
    if (!job.checkpoint_folder.empty()) {
        signals_.emplace();
    }
}

Result<void> CheckpointOnSignal::before_step(Trainer& trainer) {
    if (!signals_) {
        return {};
    }
    first_step_ = first_step_ < 0 ? trainer.steps_done() : first_step_;
    auto signal = static_cast<float>(signals_->pending());
    if (Communicator* ranks = trainer.executor().world()) {
        if (Result<void> asked = ranks->all_reduce_max(view_of({&signal, 1})); !asked) {
            return asked;
        }
    }
    if (signal == 0) {
        return {};
    }
    // Before the first step all state is already saved.
    if (trainer.steps_done() > first_step_) {
        if (Result<void> saved = trainer.save(); !saved) {
            return saved;
        }
    }
    signal_ = static_cast<int>(signal);
    return fail("", "stopped by a signal");
}

}  // namespace orrery
