// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/step_waits.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {
namespace {

// The first rank at the fault.
std::optional<RankId> rank_at(const FaultEvent& fault, const Scenario& scenario, std::uint32_t n) {
    const std::uint32_t per_node = scenario.cluster.gpus_per_server();
    std::uint32_t gpu = fault.nodes.first * per_node;
    if (fault.at.scope == Scope::gpu) {
        gpu = fault.at.index;
    } else if (fault.at.scope == Scope::nic) {
        const std::uint32_t nics = std::max(1U, scenario.cluster.nics_per_server());
        gpu += fault.at.index % nics * per_node / nics;
    }
    const std::vector<std::uint32_t>& placed = scenario.cluster.gpu_of_rank;
    if (placed.empty()) {
        return gpu < n ? std::optional{to_id<RankId>(gpu)} : std::nullopt;
    }
    const auto found = std::find(placed.begin(), placed.end(), gpu);
    return found == placed.end()
               ? std::nullopt
               : std::optional{to_id<RankId>(static_cast<std::size_t>(found - placed.begin()))};
}

}  // namespace

std::vector<WatchedRank> watched_ranks(const Program& program,
                                       const Scenario& scenario,
                                       const std::vector<FaultEvent>& faults) {
    if (faults.empty()) {
        return {};
    }
    const std::optional<RankId> at = rank_at(faults.front(), scenario, program.num_ranks());
    if (!at) {
        return {};
    }
    std::vector<WatchedRank> watched{{*at, std::string{name(faults.front().kind)}}};
    RankId far = *at;
    std::uint32_t digits = 0;
    const Mesh& mesh = program.mesh_of(*at);
    for (std::uint32_t digit = 0; digit < mesh.digits().size(); ++digit) {
        if (mesh.size(digit) < 2) {
            continue;
        }
        ++digits;
        far = mesh.shifted(far, digit, 1);
        watched.push_back(
            {mesh.shifted(*at, digit, 1), fmt::format("{} neighbour", mesh.digits()[digit].name)});
    }
    if (digits > 1) {
        watched.push_back({far, "no common group"});
    }
    return watched;
}

std::vector<RankWait> rank_waits(const Program& program,
                                 const std::vector<TracedOp>& trace,
                                 const std::vector<WatchedRank>& watched) {
    std::vector<RankWait> waits;
    for (const WatchedRank& one : watched) {
        RankWait wait{.rank = one.rank, .relation = one.relation};
        const auto begin = std::lower_bound(
            trace.begin(), trace.end(), one.rank, [](const TracedOp& op, RankId rank) {
                return index(op.rank) < index(rank);
            });
        const Role& role = program.roles[index(program.role_of(one.rank))];
        for (auto op = begin; op != trace.end() && op->rank == one.rank; ++op) {
            const Op& of = program.segment_of(role.slots[op->slot]).ops[op->op];
            if (of.kind() == OpKind::kernel) {
                wait.kernels += op->end - op->start;
            } else {
                wait.waits[of.cause] += op->data_start - op->start;
            }
        }
        waits.push_back(std::move(wait));
    }
    return waits;
}

}  // namespace orrery
