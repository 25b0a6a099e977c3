// SPDX-License-Identifier: Apache-2.0
// Turns the signals SIGINT, SIGTERM and SIGHUP into a state that can be queried, instead of ending
// the process. Signals that the process ignores stay ignored, as SIGHUP under nohup.
#pragma once

#include <csignal>

namespace orrery {

class StopSignals {
public:
    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    int pending() const;  // the first received signal, or 0

private:
    sigset_t before_{};
    int descriptor_ = -1;
};

}  // namespace orrery
