// SPDX-License-Identifier: Apache-2.0
#include "runtime/stepped_weights.h"

#include "engine/check.h"
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
        if (op.kind() == OpKind::copy && copied.reads == written) {
            return std::move(copied.writes);
        }
    }
    ORRERY_CHECK(false);
    return {};
}

}  // namespace orrery
