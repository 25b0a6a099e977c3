// SPDX-License-Identifier: Apache-2.0
// What this machine says of itself: /proc, /sys and the scheduler.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace orrery {

struct HostMachine {
    std::string host;         // its name
    std::string cpu = "CPU";  // "AMD EPYC 9654 96-Core Processor"
    std::uint32_t cores = 1;  // that this process may use
    std::uint32_t sockets = 1;
    std::int64_t memory_bytes = 0;
    bool amd = false;

    std::string words() const;  // "AMD EPYC, 2 cores"
};

// `root` is where /proc and /sys lie, for tests.
HostMachine host_machine(const std::filesystem::path& root = "/");

}  // namespace orrery
