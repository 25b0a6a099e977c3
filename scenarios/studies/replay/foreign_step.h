// SPDX-License-Identifier: Apache-2.0
// One step of a job as other tools describe it: for each rank a graph of compute of a known
// duration, collectives of a number of bytes, and messages. It becomes a Program whose roles are
// its ranks, which the simulated executor then runs on the network of a scenario.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/program.h"

namespace orrery {

struct ForeignOp {
    enum class Kind : std::uint8_t { compute, collective, send, receive };

    Kind kind = Kind::compute;
    std::uint64_t id = 0;
    std::string name;
    Time duration;  // of compute
    CollectiveKind collective = CollectiveKind::all_reduce;
    Bytes bytes;             // as CollectiveCall counts them
    std::string group;       // empty: all ranks
    std::uint32_t peer = 0;  // of a message
    std::int64_t tag = 0;
    std::string stream;                // empty: one for each kind and group
    std::vector<std::uint64_t> after;  // ids of the same rank
    std::string where;                 // "trace.3.et, node 17"
};

struct ForeignStep {
    std::vector<std::vector<ForeignOp>> ranks;
    std::map<std::string, std::vector<RankId>> groups;
};

// Ops in an order in which each comes after what it waits for, by id where that leaves a choice.
ResultOrErrors<Program> program_of(const ForeignStep& step);

}  // namespace orrery
