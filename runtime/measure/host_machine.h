// SPDX-License-Identifier: Apache-2.0
// The properties of this machine from /proc, /sys and the scheduler.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace orrery {

struct HostMachine {
    std::string host;         // its name
    std::string cpu = "CPU";  // "AMD EPYC 9654 96-Core Processor"
    std::uint32_t cores = 1;  // cores that this process may use
    std::uint32_t sockets = 1;
    std::int64_t memory_bytes = 0;
    bool amd = false;

    std::string words() const;  // "AMD EPYC, 2 cores"
};

// `root` is the parent of /proc and /sys, for tests.
HostMachine host_machine(const std::filesystem::path& root = "/");

}  // namespace orrery
