// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/host_machine.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(HostMachine, ReadsWhatTheKernelSays) {
    const TestFolder folder;
    std::filesystem::create_directories(folder.path() / "proc");
    std::ofstream{folder.path() / "proc/cpuinfo"}
        << "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9654\n"
           "physical id\t: 0\n\nprocessor\t: 1\nmodel name\t: AMD EPYC 9654\nphysical id\t: 1\n";
    std::ofstream{folder.path() / "proc/meminfo"} << "MemTotal:       24622288 kB\nMemFree: 1 kB\n";
    const HostMachine machine = host_machine(folder.path());
    EXPECT_EQ(machine.cpu, "AMD EPYC 9654");
    EXPECT_EQ(machine.sockets, 2U);
    EXPECT_EQ(machine.memory_bytes, 24622288LL * 1024);
    EXPECT_TRUE(machine.amd);
    EXPECT_GE(machine.cores, 1U);
}

TEST(HostMachine, NeedsNoneOfIt) {
    const TestFolder folder;
    const HostMachine machine = host_machine(folder.path());
    EXPECT_EQ(machine.cpu, "CPU");
    EXPECT_EQ(machine.sockets, 1U);
    EXPECT_EQ(machine.memory_bytes, 0);
    EXPECT_EQ(machine.words().substr(0, 5), "CPU, ");
}

}  // namespace
}  // namespace orrery
