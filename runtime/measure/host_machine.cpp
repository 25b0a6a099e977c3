// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/host_machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <set>

namespace orrery {
namespace {

// The text after the colon in a line of /proc.
std::string value_of(const std::string& line) {
    const std::size_t colon = line.find(':');
    const std::size_t first =
        colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    return first == std::string::npos ? std::string{} : line.substr(first);
}

std::int64_t number_at_start(const std::string& text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::uint32_t usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return static_cast<std::uint32_t>(std::max(count, 1));
}

}  // namespace

std::string HostMachine::words() const {
    return fmt::format("{}, {} core{}", cpu, cores, cores == 1 ? "" : "s");
}

HostMachine host_machine(const std::filesystem::path& root) {
    HostMachine machine;
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    machine.host = name.data();
    machine.cores = usable_cores();
    std::set<std::string> sockets;
    std::ifstream cpus(root / "proc/cpuinfo");
    for (std::string line; std::getline(cpus, line);) {
        if (line.starts_with("model name")) {
            machine.cpu = value_of(line);
        } else if (line.starts_with("vendor_id")) {
            machine.amd = value_of(line) == "AuthenticAMD";
        } else if (line.starts_with("physical id")) {
            sockets.insert(value_of(line));
        }
    }
    machine.sockets = static_cast<std::uint32_t>(std::clamp<std::size_t>(sockets.size(), 1, 2));
    std::ifstream memory(root / "proc/meminfo");
    for (std::string line; std::getline(memory, line);) {
        if (line.starts_with("MemTotal")) {
            machine.memory_bytes = number_at_start(value_of(line)) * 1024;
        }
    }
    return machine;
}

}  // namespace orrery
