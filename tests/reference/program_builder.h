// SPDX-License-Identifier: Apache-2.0
// Writes test programs by hand: appends ops to segments and slots to roles.
#pragma once

#include <vector>

#include "engine/program/program.h"

namespace orrery::reference {

// Returns the op's position in the segment.
inline std::uint32_t append_op(Program& program,
                               SegmentId segment,
                               Op op,
                               const std::vector<std::uint32_t>& waits = {}) {
    op.first_wait = static_cast<std::uint32_t>(program.waits.size());
    op.num_waits = static_cast<std::uint32_t>(waits.size());
    program.waits.insert(program.waits.end(), waits.begin(), waits.end());
    std::vector<Op>& ops = program.segments[index(segment)].ops;
    ops.push_back(op);
    return static_cast<std::uint32_t>(ops.size() - 1);
}

// Adds an entry to one of the program's tables; returns its index.
template <class T>
std::uint32_t append(std::vector<T>& table, T entry) {
    table.push_back(std::move(entry));
    return static_cast<std::uint32_t>(table.size() - 1);
}

}  // namespace orrery::reference
