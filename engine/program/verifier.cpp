// SPDX-License-Identifier: Apache-2.0
#include "engine/program/verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/program/communication_check.h"
#include "engine/program/role_tape.h"

namespace orrery {

namespace {

constexpr std::size_t kVerifierErrorsMax = 20;

class Verifier {
public:
    explicit Verifier(const Program& program) : p_(program) {}

    Errors verify() {
        check_parties();
        if (!errors_.empty()) {
            return std::move(errors_);
        }
        for (const Group& group : p_.groups) {
            check_group(group);
        }
        check_peers();
        for (const CollectiveCall& call : p_.collectives) {
            if (index(call.group) >= p_.groups.size() || call.bytes < Bytes{}) {
                add("a collective names a group that does not exist, or negative bytes");
            }
        }
        for (const CopyCall& call : p_.copies) {
            check_copy(call);
        }
        for (const Segment& segment : p_.segments) {
            check_segment(segment);
        }
        if (errors_.empty()) {
            for (std::uint32_t r = 0; r < p_.roles.size(); ++r) {
                check_slots(to_id<RoleId>(r));
                check_exchanges(to_id<RoleId>(r));
            }
        }
        if (errors_.empty()) {
            errors_ = check_communication(p_);
        }
        return std::move(errors_);
    }

private:
    void add(std::string what, std::string hint = {}) {
        if (errors_.size() < kVerifierErrorsMax) {
            errors_.push_back({.where = {}, .what = std::move(what), .hint = std::move(hint)});
        }
    }

    // Checks that the ranks and roles of the parties are consecutive.
    void check_parties() {
        std::size_t rank = 0;
        std::size_t role = 0;
        for (const Party& party : p_.parties) {
            if (party.role_digit >= party.mesh.digits().size()) {
                add("the role digit is no digit of the mesh");
                return;
            }
            if (index(party.mesh.first_rank()) != rank || party.first_role != role) {
                add(fmt::format(
                    "party {} begins at rank {} and role {}, not at rank {} and role {}",
                    party.name,
                    index(party.mesh.first_rank()),
                    party.first_role,
                    rank,
                    role));
            }
            if (rank == 0 && party.continues_job) {
                add("the first party continues the job of none");
            }
            rank += party.mesh.num_ranks();
            role += party.mesh.size(party.role_digit);
        }
        if (p_.parties.empty()) {
            add("the program has no party");
        } else if (p_.roles.size() != role) {
            const Party& last = p_.parties.back();
            add(fmt::format("there are {} roles, but digit {} has size {}",
                            p_.roles.size(),
                            last.mesh.digits()[last.role_digit].name,
                            role));
        }
    }

    void check_peers() {
        for (std::size_t i = 0; i < p_.peers.size(); ++i) {
            for (const PeerTerm& term : p_.peers[i].terms) {
                if (term.stride == 0 || term.size == 0) {
                    add(fmt::format("peers {}: a term of stride or size 0", i));
                }
            }
        }
    }

    void check_group(const Group& group) {
        if (group.party >= p_.parties.size()) {
            add(fmt::format("group {} is of a party that does not exist", group.name));
            return;
        }
        const Mesh& mesh = p_.parties[group.party].mesh;
        const std::size_t digits = mesh.digits().size();
        if (!group.explicit_ranks.empty()) {
            std::set<RankId> seen;
            for (const std::vector<RankId>& ranks : group.explicit_ranks) {
                for (const RankId rank : ranks) {
                    if (index(rank) >= p_.num_ranks() || !seen.insert(rank).second) {
                        add(fmt::format("group {}: rank {} is outside the job or listed twice",
                                        group.name,
                                        index(rank)));
                    }
                }
            }
            return;
        }
        if (digits < 32 && (group.digits >> digits) != 0) {
            add(fmt::format("group {} ranges over a digit that the mesh does not have",
                            group.name));
            return;
        }
        std::set<std::uint32_t> seen;
        for (const std::uint32_t c : group.subset) {
            const bool inside = group.subset_digit < digits &&
                                (group.digits >> group.subset_digit & 1u) != 0 &&
                                c < mesh.size(group.subset_digit);
            if (!inside || !seen.insert(c).second) {
                add(
                    fmt::format("group {}: coordinate {} of its subset is outside the digit or "
                                "listed twice",
                                group.name,
                                c));
            }
        }
    }

    void check_copy(const CopyCall& call) {
        const auto from = static_cast<int>(call.from);
        const auto to = static_cast<int>(call.to);
        if ((from - to != 1 && to - from != 1) || call.bytes < Bytes{}) {
            add(fmt::format("a copy of {} B from {} to {}",
                            call.bytes.count(),
                            name(call.from),
                            name(call.to)),
                "copies go between hbm and dram, or dram and nvme, and have no negative bytes");
        }
    }

    void check_exchanges(RoleId role) {
        const std::size_t digits = p_.mesh_of(role).digits().size();
        std::set<SegmentId> checked;
        for (const Slot& slot : p_.roles[index(role)].slots) {
            if (index(slot.segment) >= p_.segments.size() || !checked.insert(slot.segment).second) {
                continue;
            }
            for (const Op& op : p_.segment_of(slot).ops) {
                if (op.kind() != OpKind::send_recv) {
                    continue;
                }
                for (const SendRecvPart& part : p_.send_recv(op).parts) {
                    if (part.digit >= digits || part.bytes < Bytes{}) {
                        add("a send or receive names a digit that does not exist, or negative "
                            "bytes");
                    }
                    if (part.peers >= static_cast<std::int32_t>(p_.peers.size())) {
                        add("a send or receive names peers that do not exist");
                    }
                    if (part.piece >= part.pieces) {
                        add(fmt::format("a message is piece {} of {}", part.piece, part.pieces));
                    }
                }
            }
        }
    }

    std::size_t table_size(OpKind kind) const {
        switch (kind) {
            case OpKind::kernel:
                return p_.kernels.size();
            case OpKind::collective:
                return p_.collectives.size();
            case OpKind::send_recv:
                return p_.send_recvs.size();
            case OpKind::copy:
                return p_.copies.size();
            case OpKind::host:
                return p_.host_works.size();
        }
        return 0;
    }

    void check_segment(const Segment& segment) {
        for (std::uint32_t o = 0; o < segment.ops.size(); ++o) {
            const Op& op = segment.ops[o];
            const auto where = [&] { return fmt::format("segment {}, op {}", segment.name, o); };
            if (op.payload.number() >= table_size(op.kind())) {
                add(where() + ": its payload lies outside its table");
            }
            if (index(op.stream) >= kStreamsMax) {
                add(fmt::format(
                    "{}: stream {} is not below {}", where(), index(op.stream), kStreamsMax));
            }
            if (std::size_t{op.first_operand} + op.num_operands > p_.operands.size() ||
                std::size_t{op.first_wait} + op.num_waits > p_.waits.size()) {
                add(where() + ": its waits or operands lie outside their table");
                continue;
            }
            for (std::uint32_t w = 0; w < op.num_waits; ++w) {
                if (p_.waits[op.first_wait + w] >= o) {
                    add(where() + ": waits on an op that is not earlier");
                }
            }
            for (std::uint32_t i = 0; i < op.num_operands; ++i) {
                if (index(p_.operands[op.first_operand + i].tensor) >= p_.tensors.size()) {
                    add(where() + ": an operand names a tensor that does not exist");
                }
            }
        }
    }

    void check_slots(RoleId id) {
        const Role& role = p_.roles[index(id)];
        for (std::uint32_t s = 0; s < role.slots.size(); ++s) {
            if (index(role.slots[s].segment) >= p_.segments.size()) {
                add(fmt::format("role {}, slot {}: its segment does not exist", role.name, s));
                return;
            }
        }
        for (std::uint32_t s = 0; s < role.slots.size(); ++s) {
            const std::size_t num_ops = p_.segment_of(role.slots[s]).ops.size();
            for (const SlotWait& wait : role.slots[s].waits) {
                const bool exists = wait.op < num_ops && wait.slot < role.slots.size() &&
                                    wait.slot_op < p_.segment_of(role.slots[wait.slot]).ops.size();
                if (!exists) {
                    add(fmt::format(
                        "role {}, slot {}: a wait names an op that does not exist", role.name, s));
                } else if (wait.carried) {
                    continue;  // on the step before, which waits on no later step: no cycle
                } else if (wait.slot > s || (wait.slot == s && wait.slot_op >= wait.op)) {
                    add(fmt::format("{} waits on {}, which is not earlier",
                                    describe_op(p_, id, s, wait.op),
                                    describe_op(p_, id, wait.slot, wait.slot_op)));
                }
            }
        }
        for (const SlotOp& read : role.host_reads) {
            if (read.slot >= role.slots.size() ||
                read.op >= p_.segment_of(role.slots[read.slot]).ops.size()) {
                add(fmt::format("role {}: its host reads what an op makes that does not exist",
                                role.name));
            }
        }
    }

    const Program& p_;
    Errors errors_;
};

}  // namespace

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

Errors verify(const Program& program) {
    return Verifier(program).verify();
}

}  // namespace orrery
