// SPDX-License-Identifier: Apache-2.0
#include "engine/verifier.h"

#include <fmt/format.h>

namespace orrery {

std::string describe_op(const Program& program, RoleId role, std::uint32_t slot, std::uint32_t op) {
    const Role& r = program.roles[index(role)];
    const Segment& segment = program.segment_of(r.slots[slot]);
    const std::uint32_t name = segment.ops[op].name;
    return fmt::format("role {}, slot {} ({}), op {} ({})",
                       r.name.empty() ? std::to_string(index(role)) : r.name,
                       slot,
                       segment.name,
                       op,
                       name < program.names.size() ? program.names[name] : "unnamed");
}

Errors verify(const Program&) {
    return {};
}

}  // namespace orrery
