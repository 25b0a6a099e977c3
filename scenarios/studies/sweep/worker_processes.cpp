// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/worker_processes.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "engine/base/standard_error.h"

namespace orrery {
namespace {

using Work = std::function<Result<void>(std::uint32_t, std::int64_t)>;

constexpr int kExitTroubleTold = 3;

[[noreturn]] void be_worker(std::uint32_t worker,
                            std::int64_t points,
                            SharedMemoryQueue& queue,
                            const Work& work,
                            pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(128 + SIGKILL);  // the parent died before the line above
    }
    for (std::int64_t point = queue.next(); point < points; point = queue.next()) {
        queue.point_of(worker) = point;
        if (const Result<void> good = work(worker, point); !good) {
            print_to_stderr(fmt::format("{}\n", good.error().to_string()));
            std::fflush(stderr);
            _exit(kExitTroubleTold);
        }
        queue.point_of(worker) = SharedMemoryQueue::kIdle;
    }
    _exit(0);
}

class Workers {
public:
    Workers(std::uint32_t number, std::int64_t points, const Work& work)
        : points_(points), work_(work), queue_(number), running_(number, 0) {}
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;
    ~Workers() {
        for (const pid_t child : running_) {
            if (child > 0) {
                kill(child, SIGKILL);
                waitpid(child, nullptr, 0);
            }
        }
    }

    Result<void> start(std::uint32_t worker) {
        const pid_t self = getpid();
        std::fflush(nullptr);
        const pid_t child = fork();
        if (child == 0) {
            be_worker(worker, points_, queue_, work_, self);
        }
        if (child < 0) {
            return fail(fmt::format("worker {}", worker + 1),
                        fmt::format("cannot start a process: {}", std::strerror(errno)),
                        "fewer --jobs");
        }
        running_[worker] = child;
        return {};
    }

    // Whether a worker is still running.
    Result<bool> reap() {
        bool any = false;
        for (std::uint32_t worker = 0; worker < running_.size(); ++worker) {
            int status = 0;
            if (running_[worker] == 0 || waitpid(running_[worker], &status, WNOHANG) == 0) {
                any = any || running_[worker] != 0;
                continue;
            }
            running_[worker] = 0;
            if (const Result<void> good = ended(worker, status); !good) {
                return unexpected<Error>(good.error());
            }
            any = any || running_[worker] != 0;
        }
        return any;
    }

    std::int64_t taken() const { return std::min(queue_.taken(), points_); }
    std::vector<CrashedPoint> take_crashed() { return std::move(crashed_); }

private:
    Result<void> ended(std::uint32_t worker, int status) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            return {};
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == kExitTroubleTold) {
            return fail("", "a worker could not go on: the sweep stops", "start it again to go on");
        }
        const std::int64_t point = queue_.point_of(worker).exchange(SharedMemoryQueue::kIdle);
        if (point == SharedMemoryQueue::kIdle) {
            return fail("", "a worker was ended between two points", "start it again to go on");
        }
        crashed_.push_back({.point = point, .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0});
        return start(worker);
    }

    std::int64_t points_;
    const Work& work_;
    SharedMemoryQueue queue_;
    std::vector<pid_t> running_;
    std::vector<CrashedPoint> crashed_;
};

}  // namespace

Result<std::vector<CrashedPoint>> run_workers(std::uint32_t workers,
                                              std::int64_t points,
                                              const Work& work,
                                              const std::function<void(std::int64_t)>& done) {
    Workers all{workers, points, work};
    for (std::uint32_t worker = 0; worker < workers; ++worker) {
        if (const Result<void> started = all.start(worker); !started) {
            return unexpected<Error>(started.error());
        }
    }
    while (true) {
        const Result<bool> running = all.reap();
        if (!running) {
            return unexpected<Error>(running.error());
        }
        if (!*running) {
            return all.take_crashed();
        }
        done(all.taken());
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
}

}  // namespace orrery
