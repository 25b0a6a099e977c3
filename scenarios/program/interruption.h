// SPDX-License-Identifier: Apache-2.0
// Ctrl-C in commands that can show a result before their end.
#pragma once

#include <optional>
#include <utility>

#include "runtime/supervisor/stop_signals.h"

namespace orrery {

// The first SIGINT, SIGTERM or SIGHUP ends the work with its present result. A second one ends the
// process.
class Interruption {
public:
    // Whether a signal has come.
    bool come();

private:
    // Empty after the first signal.
    std::optional<StopSignals> signals_{std::in_place};
    bool come_ = false;
};

}  // namespace orrery
