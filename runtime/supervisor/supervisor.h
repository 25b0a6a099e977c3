// SPDX-License-Identifier: Apache-2.0
// Keeps a real training job alive. A member (member.h) represents a node. The supervisor watches
// the members, passes its observations to the recovery machine, and executes its orders; the
// machine and its policies are those of a simulated campaign. Observations:
//   a process that ends       at once: the node is lost
//   no sign of life           after `detection.heartbeat`: the node is lost
//   a member's own error      at once: a bug
//   no step of any member     after the watchdog: a hang; the node that computes instead of waiting
//                             is sick
//   a member that computes longer than the others: a slow node
// If a policy asks for it, all members are tested before they train
// (runtime/measure/node_checks.h). Every wait is bounded: a member that does not obey within
// `patience` is killed. Nodes may be on other machines (places.h).
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/faults/detection.h"
#include "engine/recovery/policies/policies.h"
#include "engine/recovery/recovery_machine.h"
#include "runtime/supervisor/places.h"

namespace orrery {

struct SupervisedJob {
    std::vector<std::string> command;  // command line of a member
    Places places{};
    JobShape shape;
    std::uint32_t nodes = 1;  // including hot spares
    std::vector<PolicySpec> policies;
    RecoveryLimits limits;
    DetectionSpec detection;
    std::chrono::milliseconds repair{1000};      // time until an evicted node returns
    std::chrono::milliseconds patience{10'000};  // for starts, stops and exits
    std::chrono::milliseconds reminder{60'000};  // between two lines about what the job waits for
    bool keeps_copies = false;                   // members keep copies of their state in memories
    std::int64_t steps = 0;
    std::filesystem::path checkpoint_folder;
    std::filesystem::path event_file;  // empty: no log
    bool resume = false;               // from the folder's contents; false: start anew
    std::function<void(const std::string&)> line;
    // The predicted time to connect, by number of processes; empty: unknown.
    std::function<double(std::uint32_t)> predicted_meeting_s{};
};

// Failures within this time count as one, because a dead member breaks its neighbours' exchanges.
inline constexpr std::chrono::milliseconds kSettle{150};

// One interruption of the training.
struct RunInterruption {
    std::string what;
    std::int64_t step = 0;     // the last finished step
    std::int64_t told_us = 0;  // time of the report to the recovery machine
    double detect_s = 0;       // from the injection to that report, in a drill
};

// The consecutive parts of a start.
struct StartTimes {
    std::uint32_t ranks = 0;
    double processes_s = 0;  // until all members wait for their order
    double meeting_s = 0;    // rendezvous and connections, from the last member's arrival on
    double predicted_meeting_s = 0;
    double state_s = 0;    // the rest: each member's own preparation, which includes
    double drawing_s = 0;  // … drawing first weights, if there was no state
};

struct SupervisedRun {
    int status = 0;
    std::vector<RunInterruption> interruptions;
    std::vector<StartTimes> starts;
    std::vector<RecoveryExchange> log{};  // of the recovery machine
    double step_s = 0;                    // mean duration of a step
    double ettr = 0;                      // time in kept steps over the time since the first start
};

Result<SupervisedRun> supervise(const SupervisedJob& job);

}  // namespace orrery
