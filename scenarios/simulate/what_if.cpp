// SPDX-License-Identifier: Apache-2.0
#include "scenarios/simulate/what_if.h"

#include <algorithm>
#include <map>

namespace orrery {
namespace {

// A copy of table[payload] behind all others, one for each payload.
template <class Call>
std::uint32_t copy_of(std::uint32_t payload,
                      std::vector<Call>& table,
                      std::map<std::uint32_t, std::uint32_t>& copies) {
    const auto [copy, added] = copies.emplace(payload, static_cast<std::uint32_t>(table.size()));
    if (added) {
        table.push_back(Call{table[payload]});
    }
    return copy->second;
}

}  // namespace

Program program_without(const Program& program, Cause cause) {
    Program without = program;
    std::map<std::uint32_t, std::uint32_t> kernels;
    std::map<std::uint32_t, std::uint32_t> collectives;
    std::map<std::uint32_t, std::uint32_t> exchanges;
    for (Segment& segment : without.segments) {
        for (Op& op : segment.ops) {
            if (op.cause != cause) {
                continue;
            }
            if (op.kind == OpKind::kernel) {
                op.payload = copy_of(op.payload, without.kernels, kernels);
            } else if (op.kind == OpKind::collective) {
                op.payload = copy_of(op.payload, without.collectives, collectives);
                without.collectives[op.payload].bytes = Bytes{};
            } else if (op.kind == OpKind::send_recv) {
                op.payload = copy_of(op.payload, without.send_recvs, exchanges);
                for (SendRecvPart& part : without.send_recvs[op.payload].parts) {
                    part.bytes = Bytes{};
                }
            }
        }
    }
    return without;
}

TransferPlan SilentNetwork::plan_collective(const CollectiveCall& call,
                                            std::span<const RankId> members) const {
    return call.bytes == Bytes{} ? TransferPlan{} : network_.plan_collective(call, members);
}

TransferPlan SilentNetwork::plan_send(RankId from, RankId to, Bytes bytes) const {
    return bytes == Bytes{} ? TransferPlan{} : network_.plan_send(from, to, bytes);
}

void remove_kernel_time(const Program& program, Cause cause, DeviceTimings& timings) {
    const bool useful = cause != Cause::recomputation && cause != Cause::optimizer;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (op.kind == OpKind::kernel && op.cause == cause) {
                KernelTime& time = timings.kernels[op.payload];
                time.ideal = useful ? std::min(time.ideal, time.duration) : Time{};
                time.duration = time.ideal;
            }
        }
    }
}

}  // namespace orrery
