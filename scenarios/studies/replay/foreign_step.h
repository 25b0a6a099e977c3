// SPDX-License-Identifier: Apache-2.0
// One step of a job as other tools describe it. Each rank has a graph of compute of known duration,
// collectives of a number of bytes, and messages. The step becomes a Program with one role for each
// rank, which the simulated executor runs on a scenario's network.
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
    Bytes bytes;             // counted as in CollectiveCall
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

// Each op comes after the ops that it waits for; other ops are ordered by id.
ResultOrErrors<Program> program_of(const ForeignStep& step);

}  // namespace orrery
