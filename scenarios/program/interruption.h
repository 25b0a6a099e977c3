// SPDX-License-Identifier: Apache-2.0
// Ctrl-C in a command that has something to show before its end.
#pragma once

#include <optional>
#include <utility>

#include "runtime/supervisor/stop_signals.h"

namespace orrery {

// The first SIGINT, SIGTERM or SIGHUP ends the work with what it has found, another one the
// process.
class Interruption {
public:
    // Whether a signal has come.
    bool come();

private:
    // Until the first signal has come.
    std::optional<StopSignals> signals_{std::in_place};
    bool come_ = false;
};

}  // namespace orrery
