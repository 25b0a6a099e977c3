// SPDX-License-Identifier: Apache-2.0
// Walks over a lowered Program and what they add up.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "engine/program/program.h"

namespace orrery {

// In program order.
inline void for_each_op(const Program& program,
                        const Role& role,
                        const std::function<void(const Slot&, const Op&)>& visit) {
    for (const Slot& slot : role.slots) {
        for (const Op& op : program.segment_of(slot).ops) {
            visit(slot, op);
        }
    }
}

inline std::int64_t ranks_of_a_role(const Program& program) {
    return program.num_ranks() / static_cast<std::int64_t>(program.roles.size());
}

// Of all ranks in a step.
inline double executed_flop(const Program& program, KernelKind kind) {
    double sum = 0;
    for (const Role& role : program.roles) {
        for_each_op(program, role, [&](const Slot&, const Op& op) {
            if (op.kind() == OpKind::kernel && program.kernel(op).kind == kind) {
                sum += program.kernel(op).flop;
            }
        });
    }
    return sum * static_cast<double>(ranks_of_a_role(program));
}

struct TrafficSum {
    std::int64_t count = 0;
    std::int64_t bytes = 0;
    bool operator==(const TrafficSum&) const = default;
};
// Collectives of one rank in a step by kind and group; sends by "send" and the op's name.
using TrafficTable = std::map<std::pair<std::string, std::string>, TrafficSum>;

inline TrafficTable traffic(const Program& program, const Role& role) {
    TrafficTable table;
    for_each_op(program, role, [&](const Slot&, const Op& op) {
        if (op.kind() == OpKind::collective) {
            const CollectiveCall& call = program.collective(op);
            TrafficSum& t =
                table[{std::string{name(call.kind)}, program.groups[index(call.group)].name}];
            t = {t.count + 1, t.bytes + call.bytes.count()};
        }
        if (op.kind() == OpKind::send_recv) {
            for (const SendRecvPart& part : program.send_recv(op).parts) {
                if (part.is_send) {
                    TrafficSum& t = table[{"send", program.names[op.name]}];
                    t = {t.count + 1, t.bytes + part.bytes.count()};
                }
            }
        }
    });
    return table;
}

}  // namespace orrery
