// SPDX-License-Identifier: Apache-2.0
// Faults that a member injects into itself in a run marked as a drill: each once, in the middle of
// one step. These kinds of a campaign's schedule are supported:
//   node_crash              the process is killed
//   host_fault              it is stopped (SIGSTOP): no further sign of life
//   gpu_hang                a step never ends, and the process lives
//   software_bug            an error
//   slow_gpu, slow_host     each step computes `factor` times as long
//   slow_nic                each exchange takes `factor` times as long
//   nic_down                no message gets through
//   silent_corruption       a bit of the next large message flips
//   store_outage            checkpoints cannot be written for `duration`, or for an hour
//   store_full              the same, as on a full disk: a file is written only in part
//   store_slow              writing one takes `factor` times as long
//   torn_checkpoint         only half of the next checkpoint file is written, without an error
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

// Whether a fault of the schedule can be injected into a real run.
Result<void> check_injectable(const FaultEvent& event);

class Drill {
public:
    // `faults` are those of the whole job. The member injects the faults of its node; the first
    // rank also injects the faults without a node. The faults in `struck` were injected earlier;
    // those in `lasting` still slow the node.
    Drill(Member& member,
          std::vector<FaultEvent> faults,
          std::uint32_t rank,
          const std::vector<std::uint32_t>& struck,
          const std::vector<std::uint32_t>& lasting = {});

    std::unique_ptr<Transport> harm(std::unique_ptr<Transport> transport);
    FileSystem& store() { return *store_; }
    // Injects the faults that are due after `steps_done` steps.
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
