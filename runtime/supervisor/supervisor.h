// SPDX-License-Identifier: Apache-2.0
// Keeps a real training job alive. Members (member.h) stand for nodes; the supervisor watches them,
// tells the recovery machine what it sees, and does what that orders: the machine and its policies
// are those of a simulated campaign. What is seen:
//   a process that ends       at once: the node is lost
//   no sign of life           after `detection.heartbeat`: the node is lost
//   a member's own error      at once: a bug
//   no step from anybody      after the watchdog: a hang; who computes instead of waiting is sick
//   a member that computes longer than the others: a slow node
// Where a policy wants it, all members are tested before they train
// (runtime/measure/node_checks.h). Every wait has an end: a member that does not do as told in
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
    std::vector<std::string> command;  // of a member
    Places places{};
    JobShape shape;
    std::uint32_t nodes = 1;  // hot spares included
    std::vector<PolicySpec> policies;
    RecoveryLimits limits;
    DetectionSpec detection;
    std::chrono::milliseconds repair{1000};      // of a node that was evicted
    std::chrono::milliseconds patience{10'000};  // for starts, stops and good-byes
    std::chrono::milliseconds reminder{60'000};  // between two lines that say what is waited for
    bool keeps_copies = false;                   // members keep copies of the state in memories
    std::int64_t steps = 0;
    std::filesystem::path checkpoint_folder;
    std::filesystem::path event_file;  // empty: none
    bool resume = false;               // from what is in the folder, else anew
    std::function<void(const std::string&)> line;
    // By the number of processes: what they need to meet and connect; none: not known.
    std::function<double(std::uint32_t)> predicted_meeting_s{};
};

// Failures that come together are one: a member that dies takes its neighbours' exchanges along.
inline constexpr std::chrono::milliseconds kSettle{150};

// One stop of the training.
struct RunInterruption {
    std::string what;
    std::int64_t step = 0;     // that had been reached
    std::int64_t told_us = 0;  // when the recovery machine heard of it
    double detect_s = 0;       // until then from the injection, where it was one
};

// What a start was made of, one after the other.
struct StartTimes {
    std::uint32_t ranks = 0;
    double processes_s = 0;  // until all that take part wait for their order
    double meeting_s = 0;    // rendezvous and connections of all, from the last one's arrival on
    double predicted_meeting_s = 0;
    double state_s = 0;    // the rest: what each prepares alone, of which
    double drawing_s = 0;  // … first weights, where no state was there
};

struct SupervisedRun {
    int status = 0;
    std::vector<RunInterruption> interruptions;
    std::vector<StartTimes> starts;
    std::vector<RecoveryExchange> log{};  // of the recovery machine
    double step_s = 0;  // mean of the steps
    double ettr = 0;    // time in steps that were kept, of the time since the first start
};

Result<SupervisedRun> supervise(const SupervisedJob& job);

}  // namespace orrery
