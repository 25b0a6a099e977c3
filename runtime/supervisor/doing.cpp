// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/doing.h"

#include <fmt/format.h>

namespace orrery {

std::string doing(const Executor& executor) {
    const std::uint64_t running = executor.running();
    if (running == Executor::kNothing) {
        return {};
    }
    const Program& program = executor.program();
    const auto slot = static_cast<std::size_t>(running >> 32);
    const auto number = static_cast<std::size_t>(running & 0xFFFF'FFFF);
    const Segment& segment = program.segment_of(executor.role().slots[slot]);
    const Op& op = segment.ops[number];
    const std::string name =
        op.name < program.names.size() ? program.names[op.name] : "an op without a name";
    if (op.kind() == OpKind::collective) {
        const CollectiveCall& call = program.collective(op);
        return fmt::format(
            "{} in group {} ({})", name, program.groups[index(call.group)].name, segment.name);
    }
    return fmt::format("{} ({})", name, segment.name);
}

}  // namespace orrery
