// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/member_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "engine/base/standard_error.h"
#include "runtime/supervisor/member.h"
#include "runtime/supervisor/places.h"

namespace orrery {
namespace {

struct Pipes {
    int in = 0;
    int out = 0;
    bool are_input_and_output = false;
};

[[noreturn]] void become(const std::vector<std::string>& command,
                         std::uint32_t node,
                         Pipes pipes,
                         pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(128 + SIGKILL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (pipes.are_input_and_output) {
        dup2(pipes.in, STDIN_FILENO);
        dup2(pipes.out, STDOUT_FILENO);
    } else {
        fcntl(pipes.in, F_SETFD, 0);
        fcntl(pipes.out, F_SETFD, 0);
        setenv(kMemberVariable, fmt::format("{},{}", pipes.in, pipes.out).c_str(), 1);
        setenv(kNodeVariable, std::to_string(node).c_str(), 1);
    }
    std::vector<char*> arguments;
    for (const std::string& text : command) {
        arguments.push_back(const_cast<char*>(text.c_str()));  // NOLINT(*-const-cast)
    }
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    print_to_stderr(
        fmt::format("{}: error: cannot start: {}\n", arguments[0], std::strerror(errno)));
    _exit(127);
}

}  // namespace

Result<std::unique_ptr<MemberProcess>> MemberProcess::start(const std::vector<std::string>& command,
                                                            std::uint32_t node,
                                                            const std::vector<std::string>& place) {
    std::vector<std::string> words = place.empty() ? command : place;
    if (!place.empty()) {
        std::error_code unknown;
        words.push_back(
            shell_command(command, std::filesystem::current_path(unknown).string(), node));
    }
    int to[2];
    int from[2];
    const auto cannot = [&] {
        return fail(fmt::format("node {}", node),
                    fmt::format("cannot start a process: {}", std::strerror(errno)));
    };
    if (pipe2(to, O_CLOEXEC) != 0) {
        return cannot();
    }
    if (pipe2(from, O_CLOEXEC) != 0) {
        close(to[0]);
        close(to[1]);
        return cannot();
    }
    const pid_t self = getpid();
    const pid_t child = fork();
    if (child == 0) {
        become(words, node, {to[0], from[1], !place.empty()}, self);
    }
    close(to[0]);
    close(from[1]);
    if (child < 0) {
        close(to[1]);
        close(from[0]);
        return cannot();
    }
    fcntl(from[0], F_SETFL, O_NONBLOCK);
    fcntl(to[1], F_SETFL, O_NONBLOCK);  // a member that does not read must not block the supervisor
    return std::unique_ptr<MemberProcess>{new MemberProcess{child, to[1], from[0]}};
}

MemberProcess::~MemberProcess() {
    kill();
    if (!status_) {
        waitpid(pid_, nullptr, 0);
    }
    close(to_);
    close(from_);
}

void MemberProcess::send(const Order& order) const {
    const std::string line = to_line(order) + "\n";
    [[maybe_unused]] const ssize_t written = write(to_, line.data(), line.size());
}

std::vector<MemberReport> MemberProcess::reports() {
    char bytes[65536];
    for (;;) {
        const ssize_t count = read(from_, bytes, sizeof bytes);
        if (count <= 0) {
            break;
        }
        text_.append(bytes, static_cast<std::size_t>(count));
    }
    std::vector<MemberReport> reports;
    std::size_t begin = 0;
    for (std::size_t end = text_.find('\n'); end != std::string::npos;
         end = text_.find('\n', begin)) {
        if (auto report = parse_report(std::string_view{text_}.substr(begin, end - begin))) {
            reports.push_back(std::move(*report));
        }
        begin = end + 1;
    }
    text_.erase(0, begin);
    return reports;
}

std::optional<int> MemberProcess::ended() {
    int status = 0;
    if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) {
        status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    return status_;
}

void MemberProcess::kill() const {
    if (!status_) {
        ::kill(pid_, SIGKILL);
    }
}

}  // namespace orrery
