// SPDX-License-Identifier: Apache-2.0
// The operands of an op by access.
#pragma once

#include <vector>

#include "engine/program/program.h"

namespace orrery {

struct OperandLists {
    std::vector<TensorId> reads;
    std::vector<TensorId> writes;
    std::vector<TensorId> accumulates;
};

// Appends make(operand) for each operand to the list of its access.
template <class Lists, class Make>
void add_operands(const Program& program, const Op& op, Lists& lists, const Make& make) {
    for (std::uint32_t i = 0; i < op.num_operands; ++i) {
        const Operand& operand = program.operands[op.first_operand + i];
        auto& list = operand.access == Access::read    ? lists.reads
                     : operand.access == Access::write ? lists.writes
                                                       : lists.accumulates;
        list.push_back(make(operand));
    }
}

inline OperandLists operands_of(const Program& program, const Op& op) {
    OperandLists lists;
    add_operands(program, op, lists, [](const Operand& operand) { return operand.tensor; });
    return lists;
}

}  // namespace orrery
