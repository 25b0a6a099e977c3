// SPDX-License-Identifier: Apache-2.0
// A member of a supervised job, seen by the supervisor: its process and the two pipes. It dies with
// the supervisor, and with this object.
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
    // `command` runs with the variables that Member::join() reads; elsewhere than here if `place`
    // has words that run a shell command there.
    static Result<std::unique_ptr<MemberProcess>> start(const std::vector<std::string>& command,
                                                        std::uint32_t node,
                                                        const std::vector<std::string>& place = {});
    ~MemberProcess();
    MemberProcess(const MemberProcess&) = delete;
    MemberProcess& operator=(const MemberProcess&) = delete;

    pid_t pid() const { return pid_; }
    int descriptor() const { return from_; }  // to poll for reports
    void send(const Order& order) const;
    // What has come since, and of a dead process all that it ever said.
    std::vector<MemberReport> reports();
    // Of a process that has ended: its status as a shell tells it.
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
