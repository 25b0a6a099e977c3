// SPDX-License-Identifier: Apache-2.0
// Ends a training that keeps checkpoints with a final checkpoint on SIGINT, SIGTERM or SIGHUP:
// Ctrl-C, or a batch system that reclaims the node. The current step is finished first.
#pragma once

#include <optional>

#include "engine/base/result.h"
#include "runtime/supervisor/stop_signals.h"
#include "runtime/trainer.h"

namespace orrery {

class CheckpointOnSignal {
public:
    // Construct it before any thread, because threads inherit the blocked signals. Without
    // job.checkpoint_folder signals are not changed.
    explicit CheckpointOnSignal(const TrainingJob& job);

    // Every rank calls it before each step. After a signal to any rank, all ranks save the same
    // step and get an error.
    Result<void> before_step(Trainer& trainer);
    // The signal that led to the checkpoint, or 0.
    int signal() const { return signal_; }

private:
    std::optional<StopSignals> signals_;
    int signal_ = 0;
    std::int64_t first_step_ = -1;
};

}  // namespace orrery
