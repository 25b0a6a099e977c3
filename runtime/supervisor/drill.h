// SPDX-License-Identifier: Apache-2.0
// Faults that a member does to itself on purpose, in a run that is marked as a drill: each in the
// middle of one step, once. Of the schedule that a campaign simulates:
//   node_crash              the process is killed
//   host_fault              it is stopped (SIGSTOP): no more signs of life
//   gpu_hang                a step never ends, and the process lives
//   software_bug            an error
//   slow_gpu, slow_host     each step computes `factor` times as long
//   slow_nic                each exchange takes `factor` times as long
//   nic_down                no message gets through any more
//   silent_corruption       a bit of the next large message flips
//   store_outage            checkpoints can't be written for `duration`, or for an hour
//   store_full              so much of them fits as one file
//   store_slow              writing one takes `factor` times as long
//   torn_checkpoint         of the next file of a checkpoint one half arrives, without an error
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/result.h"
#include "engine/faults/fault_process.h"
#include "runtime/communication/transport.h"
#include "runtime/state/file_system.h"
#include "runtime/supervisor/member.h"

namespace orrery {

// Whether a fault of the schedule can be done to a real run.
Result<void> check_injectable(const FaultEvent& event);

class Drill {
public:
    // `faults`: of the whole job. The member injects the faults of its node; the first rank also
    // injects the faults that stand at no node. `struck` faults have come already; `lasting` ones
    // still slow the node.
    Drill(Member& member,
          std::vector<FaultEvent> faults,
          std::uint32_t rank,
          const std::vector<std::uint32_t>& struck,
          const std::vector<std::uint32_t>& lasting = {});

    std::unique_ptr<Transport> harm(std::unique_ptr<Transport> transport);
    FileSystem& store() { return *store_; }
    // Strikes with what is due after `steps_done` steps.
    Result<void> before_step(std::int64_t steps_done);
    // Prolongs a step that has computed for this time.
    void after_step(std::chrono::microseconds computed) const;

private:
    class Harmed;
    class Store;
    struct Harm {
        bool cut = false;
        bool flip = false;
        double slow_messages = 1;
        std::chrono::steady_clock::time_point down_until{};
        std::chrono::steady_clock::time_point full_until{};
        std::chrono::steady_clock::time_point busy_until{};
        double slow_store = 1;
        bool tear = false;
    };
    void slow_down(const FaultEvent& fault);
    Result<void> strike(const FaultEvent& fault, std::int64_t step, std::uint32_t index);

    Member& member_;
    std::vector<FaultEvent> faults_;
    std::uint32_t rank_;
    std::vector<bool> struck_;
    Harm harm_;
    double slow_ = 1;
    std::unique_ptr<FileSystem> store_;
};

}  // namespace orrery
