// SPDX-License-Identifier: Apache-2.0
#include "runtime/stepped_weights.h"

#include "engine/base/check.h"
#include "runtime/operand_lists.h"

namespace orrery {

std::vector<TensorId> stepped_weights(const Program& program,
                                      const Segment& segment,
                                      const Op& optimizer) {
    std::vector<TensorId> written = operands_of(program, optimizer).writes;
    if (program.kernel(optimizer).tier == MemoryTier::hbm) {
        return written;
    }
    ORRERY_CHECK(written.size() == 1);
    for (const Op& op : segment.ops) {
        OperandLists copied = operands_of(program, op);
        const bool behind = op.first_operand > optimizer.first_operand;
        if (op.kind() == OpKind::copy && behind && copied.reads == written) {
            return std::move(copied.writes);
        }
    }
    ORRERY_CHECK(false);
    return {};
}

TensorId stepped_state(const Program& program, const Segment& segment, const Op& optimizer) {
    const TensorId state = operands_of(program, optimizer).accumulates.front();
    TensorId kept = state;
    for (const Op& op : segment.ops) {
        const bool reads_it = op.kind() == OpKind::copy &&
                              program.copy(op).from == MemoryTier::nvme &&
                              op.first_operand < optimizer.first_operand;
        if (reads_it && operands_of(program, op).writes.front() == state) {
            kept = operands_of(program, op).reads.front();
        }
    }
    return kept;
}

}  // namespace orrery
