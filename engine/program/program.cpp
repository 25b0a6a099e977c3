// SPDX-License-Identifier: Apache-2.0
#include "engine/program/program.h"

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {

std::string_view name(CollectiveKind kind) {
    static constexpr std::array<std::string_view, 5> kNames{
        "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(TransferEngine engine) {
    static constexpr std::array<std::string_view, 3> kNames{"sm", "copy_engine", "host"};
    return kNames[static_cast<std::size_t>(engine)];
}

std::string_view name(MemoryTier tier) {
    static constexpr std::array<std::string_view, kNumMemoryTiers> kNames{"hbm", "dram", "nvme"};
    return kNames[static_cast<std::size_t>(tier)];
}

std::string_view name(TensorKind kind) {
    static constexpr std::array<std::string_view, kNumTensorKinds> kNames{
        "weights", "gradients", "optimizer", "activations", "communication", "workspace"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(Lifetime lifetime) {
    static constexpr std::array<std::string_view, 4> kNames{
        "slot", "micro_batch", "step", "persistent"};
    return kNames[static_cast<std::size_t>(lifetime)];
}

std::string_view name(Pass pass) {
    static constexpr std::array<std::string_view, 15> kNames{"receive",
                                                             "forward",
                                                             "send",
                                                             "backward_input",
                                                             "backward_weight",
                                                             "backward",
                                                             "loss_input",
                                                             "loss_forward",
                                                             "loss_backward",
                                                             "embedding_forward",
                                                             "embedding_gradient",
                                                             "embedding_backward",
                                                             "gradient_sync",
                                                             "parameter_sync",
                                                             "optimizer"};
    return kNames[static_cast<std::size_t>(pass)];
}

bool only_sends(const Program& program, const Op& op) {
    return op.kind() == OpKind::send_recv &&
           std::ranges::all_of(program.send_recv(op).parts, &SendRecvPart::is_send);
}

std::uint32_t Program::num_ranks() const {
    const Mesh& last = parties.back().mesh;
    return static_cast<std::uint32_t>(index(last.first_rank())) + last.num_ranks();
}

std::uint32_t Program::party_of(RankId rank) const {
    auto party = static_cast<std::uint32_t>(parties.size() - 1);
    while (party > 0 && rank < parties[party].mesh.first_rank()) {
        --party;
    }
    return party;
}

std::uint32_t Program::party_of(RoleId role) const {
    auto party = static_cast<std::uint32_t>(parties.size() - 1);
    while (party > 0 && index(role) < parties[party].first_role) {
        --party;
    }
    return party;
}

RoleId Program::role_of(RankId rank) const {
    const Party& party = parties[party_of(rank)];
    return to_id<RoleId>(party.first_role + party.mesh.coordinate(rank, party.role_digit));
}

std::uint32_t Program::ranks_of_role(RoleId role) const {
    const Party& party = parties[party_of(role)];
    return party.mesh.num_ranks() / party.mesh.size(party.role_digit);
}

std::vector<std::uint32_t> Program::jobs() const {
    std::vector<std::uint32_t> jobs;
    for (std::uint32_t party = 0; party < parties.size(); ++party) {
        if (!parties[party].continues_job) {
            jobs.push_back(party);
        }
    }
    return jobs;
}

RankId Program::peer_of(RankId rank, const SendRecvPart& part) const {
    const Mesh& mesh = mesh_of(rank);
    if (part.peers < 0) {
        return mesh.shifted(rank, part.digit, part.delta);
    }
    const std::size_t place = index(rank) - index(mesh.first_rank());
    return peers[static_cast<std::size_t>(part.peers)].peer_of(static_cast<std::uint32_t>(place));
}

const Mesh& Program::mesh() const {
    ORRERY_CHECK(parties.size() == 1);
    return parties.front().mesh;
}

std::uint32_t Program::role_digit() const {
    ORRERY_CHECK(parties.size() == 1);
    return parties.front().role_digit;
}

std::int64_t num_ops(const Program& program) {
    std::int64_t ops = 0;
    for (std::uint32_t party = 0; party < program.parties.size(); ++party) {
        ops += num_ops(program, party);
    }
    return ops;
}

std::int64_t num_ops(const Program& program, std::uint32_t party) {
    std::int64_t ops = 0;
    for (std::uint32_t r = 0; r < program.roles.size(); ++r) {
        const auto role = to_id<RoleId>(r);
        if (program.party_of(role) != party) {
            continue;
        }
        for (const Slot& slot : program.roles[r].slots) {
            ops += static_cast<std::int64_t>(program.segment_of(slot).ops.size()) *
                   program.ranks_of_role(role);
        }
    }
    return ops;
}

}  // namespace orrery
