// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <initializer_list>

namespace orrery {

StopSignals::StopSignals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction now {};
        if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
            sigaddset(&wanted, signal);
        }
    }
    sigprocmask(SIG_BLOCK, &wanted, &before_);
    descriptor_ = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

StopSignals::~StopSignals() {
    close(descriptor_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int StopSignals::pending() const {
    signalfd_siginfo info{};
    return read(descriptor_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                                : 0;
}

}  // namespace orrery
