// SPDX-License-Identifier: Apache-2.0
// The wish to stop (SIGINT, SIGTERM, SIGHUP), to be asked for instead of ending the process. A
// signal that the process ignores stays ignored, as SIGHUP under nohup.
#pragma once

#include <csignal>

namespace orrery {

class StopSignals {
public:
    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    int pending() const;  // the first that has come, or 0

private:
    sigset_t before_{};
    int descriptor_ = -1;
};

}  // namespace orrery
