// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/what_if.h"

#include <algorithm>
#include <map>

namespace orrery {
namespace {

// Appends a copy of table[id] for each id.
template <class Id, class Call>
Id copy_of(Id id, std::vector<Call>& table, std::map<Id, Id>& copies) {
    const auto [copy, added] = copies.emplace(id, to_id<Id>(table.size()));
    if (added) {
        table.push_back(Call{table[index(id)]});
    }
    return copy->second;
}

}  // namespace

Program program_without(const Program& program, Cause cause) {
    Program without = program;
    std::map<KernelId, KernelId> kernels;
    std::map<CollectiveId, CollectiveId> collectives;
    std::map<SendRecvId, SendRecvId> exchanges;
    std::map<CopyId, CopyId> copies;
    for (Segment& segment : without.segments) {
        for (Op& op : segment.ops) {
            if (op.cause != cause) {
                continue;
            }
            if (op.kind() == OpKind::kernel) {
                op.payload = copy_of(op.payload.kernel(), without.kernels, kernels);
            } else if (op.kind() == OpKind::collective) {
                op.payload = copy_of(op.payload.collective(), without.collectives, collectives);
                without.collectives[index(op.payload.collective())].bytes = Bytes{};
            } else if (op.kind() == OpKind::send_recv) {
                op.payload = copy_of(op.payload.send_recv(), without.send_recvs, exchanges);
                for (SendRecvPart& part : without.send_recvs[index(op.payload.send_recv())].parts) {
                    part.bytes = Bytes{};
                }
            } else if (op.kind() == OpKind::copy) {
                op.payload = copy_of(op.payload.copy(), without.copies, copies);
                without.copies[index(op.payload.copy())].bytes = Bytes{};
            }
        }
    }
    return without;
}

TransferPlan SilentNetwork::plan(const TransferCall& call, std::span<const RankId> members) const {
    return bytes_of(call) == Bytes{} ? TransferPlan{} : network_.plan(call, members);
}

namespace {

void leave_ideal(KernelTime& time, Cause cause) {
    const bool useful = cause != Cause::recomputation && cause != Cause::optimizer;
    time.ideal = useful ? std::min(time.ideal, time.duration) : Time{};
    time.duration = time.ideal;
}

}  // namespace

void remove_kernel_time(const Program& program, Cause cause, DeviceTimings& timings) {
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (op.kind() == OpKind::kernel && op.cause == cause) {
                leave_ideal(timings.kernels[index(op.payload.kernel())], cause);
            }
        }
    }
}

void remove_kernel_time(const RoutedStep& routed, Cause cause, DeviceTimings& timings) {
    const StepLoad& load = routed.load;
    for (std::size_t i = 0; i < load.kernels.size(); ++i) {
        if (routed.causes[i / load.num_levels] == cause) {
            leave_ideal(timings.kernels[load.kernels[i]], cause);
        }
    }
}

}  // namespace orrery
