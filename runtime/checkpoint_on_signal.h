// SPDX-License-Identifier: Apache-2.0
// Ends a training that keeps checkpoints with a checkpoint when SIGINT, SIGTERM or SIGHUP comes:
// Ctrl-C, or a batch system that takes the node away. The step that is under way is finished first.
#pragma once

#include <optional>

#include "engine/base/result.h"
#include "runtime/supervisor/stop_signals.h"
#include "runtime/trainer.h"

namespace orrery {

class CheckpointOnSignal {
public:
    // Before any thread is made, which inherits that the signals are kept. Without a
    // job.checkpoint_folder signals stay as they are.
    explicit CheckpointOnSignal(const TrainingJob& job);

    // Every rank calls it before each step. After a signal to any of them all save the same step,
    // and get an error.
    Result<void> before_step(Trainer& trainer);
    // The signal after which the ranks have saved, or 0.
    int signal() const { return signal_; }

private:
    std::optional<StopSignals> signals_;
    int signal_ = 0;
    std::int64_t first_step_ = -1;
};

}  // namespace orrery
