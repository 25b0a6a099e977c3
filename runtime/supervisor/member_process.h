// SPDX-License-Identifier: Apache-2.0
// A member of a supervised job from the supervisor's side: its process and the two pipes. The
// process ends with the supervisor, and with this object.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "runtime/supervisor/member_messages.h"

namespace orrery {

class MemberProcess {
public:
    // Runs `command` with the variables that Member::join() reads. If `place` is not empty, its
    // words run a shell command on another machine.
    static Result<std::unique_ptr<MemberProcess>> start(const std::vector<std::string>& command,
                                                        std::uint32_t node,
                                                        const std::vector<std::string>& place = {});
    ~MemberProcess();
    MemberProcess(const MemberProcess&) = delete;
    MemberProcess& operator=(const MemberProcess&) = delete;

    pid_t pid() const { return pid_; }
    int descriptor() const { return from_; }  // to poll for reports
    void send(const Order& order) const;
    // The reports since the last call; of a dead process all remaining ones.
    std::vector<MemberReport> reports();
    // The exit status of an ended process, as in a shell.
    std::optional<int> ended();
    void kill() const;

private:
    MemberProcess(pid_t pid, int to, int from) : pid_(pid), to_(to), from_(from) {}

    pid_t pid_;
    int to_;
    int from_;
    std::string text_;
    std::optional<int> status_;
};

}  // namespace orrery
