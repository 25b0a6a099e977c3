// SPDX-License-Identifier: Apache-2.0
#include "runtime/communication/launcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "engine/base/standard_error.h"
#include "runtime/communication/job.h"
#include "runtime/communication/tcp_store.h"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;

// Receives the signals about children and stop requests through a file descriptor.
class Signals {
public:
    Signals() {
        sigset_t wanted;
        sigemptyset(&wanted);
        for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) {
            sigaddset(&wanted, signal);
        }
        sigprocmask(SIG_BLOCK, &wanted, &before_);
        descriptor_ = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    ~Signals() {
        close(descriptor_);
        sigprocmask(SIG_SETMASK, &before_, nullptr);
    }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    const sigset_t& mask_before() const { return before_; }
    // The next signal, or 0 after `timeout`.
    int next(std::chrono::milliseconds timeout) const {
        pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
        poll(&waiting, 1, static_cast<int>(timeout.count()));
        signalfd_siginfo info{};
        return read(descriptor_, &info, sizeof info) == sizeof info
                   ? static_cast<int>(info.ssi_signo)
                   : 0;
    }

private:
    sigset_t before_{};
    int descriptor_ = -1;
};

[[noreturn]] void become(const LaunchOptions& options,
                         std::uint32_t rank,
                         const std::string& store,
                         const sigset_t& mask,
                         pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(128 + SIGKILL);  // the launcher died before the line above
    }
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    setenv("RANK", std::to_string(rank).c_str(), 1);
    setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
    setenv("WORLD_SIZE", std::to_string(options.num_processes).c_str(), 1);
    setenv("ORRERY_STORE", store.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& text : options.command) {
        arguments.push_back(const_cast<char*>(text.c_str()));  // NOLINT(*-const-cast)
    }
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    print_to_stderr(
        fmt::format("{}: error: cannot start: {}\n", arguments[0], std::strerror(errno)));
    _exit(127);
}

class Processes {
public:
    explicit Processes(const LaunchOptions& options) : options_(options) {}
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;
    ~Processes() {
        signal_all(SIGKILL);
        while (!running_.empty() && waitpid(running_.back(), nullptr, 0) > 0) {
            running_.pop_back();
        }
    }

    Result<void> start(const std::string& store, const Signals& signals) {
        const pid_t self = getpid();
        for (std::uint32_t rank = 0; rank < options_.num_processes; ++rank) {
            const pid_t child = fork();
            if (child == 0) {
                become(options_, rank, store, signals.mask_before(), self);
            }
            if (child < 0) {
                return fail(fmt::format("rank {}", rank),
                            fmt::format("cannot start a process: {}", std::strerror(errno)));
            }
            running_.push_back(child);
        }
        return {};
    }

    int wait_for_all(const Signals& signals) {
        while (true) {
            reap();
            if (running_.empty()) {
                return status_;
            }
            if (Clock::now() >= stop_by_) {
                signal_all(SIGKILL);
                killed_all_ = true;
                stop_by_ = Clock::time_point::max();
            }
            const int signal = signals.next(std::chrono::milliseconds{100});
            if (signal != 0 && signal != SIGCHLD) {
                told_to_stop(signal);
            }
        }
    }

private:
    void reap() {
        for (std::size_t i = running_.size(); i-- > 0;) {
            int status = 0;
            if (waitpid(running_[i], &status, WNOHANG) != running_[i]) {
                continue;
            }
            running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
            const int exit = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
            const bool killed = WIFSIGNALED(status) && WTERMSIG(status) != SIGTERM && !killed_all_;
            if (exit != 0) {
                failed(exit);
            }
            // A killed rank ended before the ranks that report it: its sockets close before it can
            // be reaped.
            if (killed && status_ < 128) {
                status_ = exit;
            }
        }
    }

    void failed(int status) { end_all(status, options_.grace); }

    void told_to_stop(int signal) {
        if (told_) {
            stop_by_ = Clock::now();
        }
        told_ = true;
        end_all(128 + signal, options_.stop_grace);
    }

    void end_all(int status, std::chrono::milliseconds grace) {
        if (status_ == 0) {
            status_ = status;
            signal_all(SIGTERM);
            stop_by_ = Clock::now() + grace;
        }
    }

    void signal_all(int signal) const {
        for (const pid_t child : running_) {
            kill(child, signal);
        }
    }

    const LaunchOptions& options_;
    std::vector<pid_t> running_;
    int status_ = 0;
    bool killed_all_ = false;
    bool told_ = false;
    Clock::time_point stop_by_ = Clock::time_point::max();
};

}  // namespace

Result<int> launch_processes(const LaunchOptions& options) {
    if (options.num_processes == 0 || options.command.empty()) {
        return fail("--nproc", "needs at least one process", "e.g. --nproc 4");
    }
    // Before the store's thread, so that the thread inherits the blocked signals
    const Signals signals;
    const auto store = TcpStoreServer::start("127.0.0.1", 0);
    if (!store) {
        return unexpected<Error>(store.error());
    }
    Processes processes{options};
    if (const Result<void> started = processes.start(local_store((*store)->port()), signals);
        !started) {
        return unexpected<Error>(started.error());
    }
    return processes.wait_for_all(signals);
}

}  // namespace orrery
