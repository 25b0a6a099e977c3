// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/stage_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "engine/base/standard_error.h"

namespace orrery {
namespace {

using StageClock = std::chrono::steady_clock;
using StageMilliseconds = std::chrono::milliseconds;

constexpr StageMilliseconds kGrace{2'000};  // between SIGTERM and SIGKILL
constexpr int kCannotStart = 127;

// Starts the stage in its own process group, so that its children end with it.
[[noreturn]] void become_stage(const StageCommand& command, int output, pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(128 + SIGKILL);
    }
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    for (const auto& [name, value] : command.environment) {
        setenv(name.c_str(), value.c_str(), 1);
    }
    std::vector<char*> words;
    for (const std::string& word : command.words) {
        words.push_back(const_cast<char*>(word.c_str()));  // NOLINT(*-const-cast)
    }
    words.push_back(nullptr);
    execvp(words[0], words.data());
    print_to_stderr(fmt::format("{}: error: cannot start: {}\n", words[0], std::strerror(errno)));
    std::fflush(stderr);
    _exit(kCannotStart);
}

class StageProcess {
public:
    StageProcess(pid_t pid, int output) : pid_(pid), output_(output) {}
    StageProcess(const StageProcess&) = delete;
    StageProcess& operator=(const StageProcess&) = delete;
    ~StageProcess() {
        kill(-pid_, SIGKILL);  // processes that outlived the stage
        close(output_);
    }

    // Output that arrives within `wait`; empty if none does. Sets `over` at the end of the output.
    std::string read_for(StageMilliseconds wait, bool& over) const {
        pollfd descriptor{.fd = output_, .events = POLLIN, .revents = 0};
        if (poll(&descriptor, 1, static_cast<int>(std::max(StageMilliseconds{0}, wait).count())) <=
            0) {
            return {};
        }
        std::array<char, 4096> part{};
        const ssize_t bytes = read(output_, part.data(), part.size());
        over = bytes == 0 || (bytes < 0 && errno != EINTR);
        return bytes > 0 ? std::string{part.data(), static_cast<std::size_t>(bytes)} : "";
    }
    bool has_ended(int& status) {
        if (!ended_ && waitpid(pid_, &status_, WNOHANG) == pid_) {
            ended_ = true;
        }
        status = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
        return ended_;
    }
    void stop() {
        int status = 0;
        for (const int signal : {SIGTERM, SIGKILL}) {
            kill(-pid_, signal);
            const StageClock::time_point end = StageClock::now() + kGrace;
            while (!has_ended(status) && StageClock::now() < end) {
                poll(nullptr, 0, 10);
            }
        }
    }

private:
    pid_t pid_;
    int output_;
    int status_ = 0;
    bool ended_ = false;
};

}  // namespace

std::string StageEnd::words() const {
    return timed_out      ? fmt::format("had not ended after {:.0f} s", seconds)
           : status == 0  ? "ended well"
           : status > 128 ? fmt::format("was ended by signal {}", status - 128)
                          : fmt::format("ended with status {}", status);
}

Result<StageEnd> run_stage(const StageCommand& command,
                           const std::function<void(const std::string&)>& output) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return fail("", fmt::format("a process cannot be started: {}", std::strerror(errno)));
    }
    const StageClock::time_point begin = StageClock::now();
    const pid_t self = getpid();
    const pid_t child = fork();
    if (child == 0) {
        become_stage(command, ends[1], self);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return fail("", fmt::format("a process cannot be started: {}", std::strerror(errno)));
    }
    setpgid(child, child);  // parent and child both set it, because either may come first
    StageProcess process{child, ends[0]};
    StageEnd end;
    StageClock::time_point heard = begin;
    bool over = false;
    while (!process.has_ended(end.status)) {
        const StageClock::time_point now = StageClock::now();
        const StageClock::time_point latest =
            std::min(begin + command.limit, heard + command.quiet_limit);
        if (now >= latest) {
            end.timed_out = true;
            process.stop();
            process.has_ended(end.status);
            break;
        }
        // A process that has closed its output is polled.
        const StageMilliseconds wait =
            std::min(StageMilliseconds{50}, std::chrono::ceil<StageMilliseconds>(latest - now));
        if (over) {
            poll(nullptr, 0, static_cast<int>(wait.count()));
            continue;
        }
        const std::string text = process.read_for(wait, over);
        if (!text.empty()) {
            heard = StageClock::now();
            output(text);
        }
    }
    // Read the rest of the output.
    for (std::string text = "more"; !over && !text.empty();) {
        text = process.read_for(StageMilliseconds{0}, over);
        if (!text.empty()) {
            output(text);
        }
    }
    end.seconds = std::chrono::duration<double>(StageClock::now() - begin).count();
    return end;
}

}  // namespace orrery
