// SPDX-License-Identifier: Apache-2.0
#include "engine/program/communication_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/program/verifier.h"

namespace orrery {

namespace {

constexpr std::size_t kCommunicationErrorsMax = 20;

// One call of a role: the value that must equal its partner's, and the place of the op.
struct Call {
    std::uint64_t kind = 0;  // collectives: kind, wire format, mover
    Bytes bytes{};
    std::uint32_t slot = 0;
    std::uint32_t op = 0;
};

using Calls = std::vector<Call>;
using CollectiveKey = std::pair<GroupId, std::uint16_t>;  // and communicator
// Digit and distance (or Program::peers), communicator, and whether it is a send.
struct ExchangeKey {
    std::uint32_t digit = 0;
    std::uint32_t delta = 0;
    std::int32_t peers = -1;
    std::uint16_t communicator = 0;
    bool is_send = false;
    auto operator<=>(const ExchangeKey&) const = default;
};

struct RoleCalls {
    std::map<CollectiveKey, Calls> collectives;
    std::map<ExchangeKey, Calls> exchanges;
};

class CommunicationCheck {
public:
    explicit CommunicationCheck(const Program& program) : p_(program) {}

    Errors check() {
        for (const Role& role : p_.roles) {
            collect(role);
        }
        std::map<CollectiveKey, bool> keys;
        for (const RoleCalls& role : roles_) {
            for (const auto& [key, calls] : role.collectives) {
                keys[key] = true;
            }
        }
        for (const auto& [key, used] : keys) {
            check_collectives(key);
        }
        for (std::uint32_t r = 0; r < roles_.size(); ++r) {
            for (const auto& [key, calls] : roles_[r].exchanges) {
                if (key.peers < 0) {
                    check_exchange(r, key, calls);
                } else {
                    check_exchange_of_parties(r, key, calls);
                }
            }
        }
        return std::move(errors_);
    }

private:
    void add(std::string what, std::string hint = {}) {
        if (errors_.size() < kCommunicationErrorsMax) {
            errors_.push_back({.where = {}, .what = std::move(what), .hint = std::move(hint)});
        }
    }

    void collect(const Role& role) {
        RoleCalls calls;
        const Mesh& mesh = p_.mesh_of(to_id<RoleId>(roles_.size()));
        for (std::uint32_t s = 0; s < role.slots.size(); ++s) {
            const std::vector<Op>& ops = p_.segment_of(role.slots[s]).ops;
            for (std::uint32_t o = 0; o < ops.size(); ++o) {
                if (ops[o].kind() == OpKind::collective) {
                    const CollectiveCall& call = p_.collective(ops[o]);
                    const auto kind = static_cast<std::uint64_t>(call.mover.engine) << 32 |
                                      static_cast<std::uint64_t>(call.mover.sm_limit) << 16 |
                                      static_cast<std::uint64_t>(call.kind) << 8 |
                                      static_cast<std::uint64_t>(call.wire);
                    calls.collectives[{call.group, call.communicator}].push_back(
                        {kind, call.bytes, s, o});
                    check_mover(call, calls.collectives[{call.group, call.communicator}].back());
                } else if (ops[o].kind() == OpKind::send_recv) {
                    for (const SendRecvPart& part : p_.send_recv(ops[o]).parts) {
                        calls.exchanges[key_of(mesh, part)].push_back({0, part.bytes, s, o});
                    }
                }
            }
        }
        roles_.push_back(std::move(calls));
    }

    // Checks the mover of a collective of the current role.
    void check_mover(const CollectiveCall& call, const Call& at) {
        const Mover& mover = call.mover;
        const bool adds =
            call.kind == CollectiveKind::all_reduce || call.kind == CollectiveKind::reduce_scatter;
        const auto role = static_cast<std::uint32_t>(roles_.size());
        if (mover.engine == TransferEngine::copy_engine && adds) {
            add(describe(role, at) + ": copy engines cannot add", "SMs move what is reduced");
        } else if (mover.engine == TransferEngine::host) {
            add(describe(role, at) + ": the host moves only what devices without SMs exchange",
                "ask for SMs or copy engines");
        } else if (mover.engine != TransferEngine::sm && mover.sm_limit > 0) {
            add(describe(role, at) + ": copy engines hold no SMs that a limit could be on");
        }
    }

    static ExchangeKey key_of(const Mesh& mesh, const SendRecvPart& part) {
        ExchangeKey key{
            .peers = part.peers, .communicator = part.communicator, .is_send = part.is_send};
        if (part.peers >= 0) {
            return key;
        }
        const auto size = static_cast<int>(mesh.size(part.digit));
        const auto delta = static_cast<std::uint32_t>((part.delta % size + size) % size);
        key.digit = delta == 0 ? 0 : part.digit;
        key.delta = delta;
        return key;
    }

    std::string describe(std::uint32_t role, const Call& call) const {
        return describe_op(p_, to_id<RoleId>(role), call.slot, call.op);
    }

    const Calls& collectives_of(std::uint32_t role, const CollectiveKey& key) const {
        static const Calls kNone;
        const auto found = roles_[role].collectives.find(key);
        return found == roles_[role].collectives.end() ? kNone : found->second;
    }

    void check_collectives(const CollectiveKey& key) {
        const Group& group = p_.groups[index(key.first)];
        if (!group.explicit_ranks.empty()) {
            check_listed(group, key);
            return;
        }
        const Party& party = p_.parties[group.party];
        const bool spans_roles = (group.digits >> party.role_digit & 1u) != 0;
        const bool some_roles = !group.subset.empty() && group.subset_digit == party.role_digit;
        std::optional<std::uint32_t> first;
        for (std::uint32_t r = 0; r < roles_.size(); ++r) {
            const Calls& calls = collectives_of(r, key);
            if (p_.party_of(to_id<RoleId>(r)) != group.party) {
                if (!calls.empty()) {
                    add(fmt::format(
                        "{}: group {} is another party's", describe(r, calls.front()), group.name));
                }
                continue;
            }
            const std::uint32_t coordinate = r - party.first_role;
            const bool inside =
                !some_roles || std::find(group.subset.begin(), group.subset.end(), coordinate) !=
                                   group.subset.end();
            const bool cuts_role = !group.subset.empty() && !some_roles &&
                                   group.subset.size() < party.mesh.size(group.subset_digit);
            if (!calls.empty() && (!inside || cuts_role)) {
                add(fmt::format("{}: not every rank of the role is in group {}",
                                describe(r, calls.front()),
                                group.name));
            }
            if (spans_roles && inside) {
                if (first) {
                    compare(group, key, *first, r);
                }
                first = first.value_or(r);
            }
        }
    }

    void check_listed(const Group& group, const CollectiveKey& key) {
        std::vector<std::size_t> listed(roles_.size(), 0);
        for (const std::vector<RankId>& ranks : group.explicit_ranks) {
            for (const RankId rank : ranks) {
                ++listed[index(p_.role_of(rank))];
                const auto a = static_cast<std::uint32_t>(index(p_.role_of(ranks.front())));
                const auto b = static_cast<std::uint32_t>(index(p_.role_of(rank)));
                if (a != b) {
                    compare(group, key, a, b);
                }
            }
        }
        for (std::uint32_t r = 0; r < roles_.size(); ++r) {
            const Calls& calls = collectives_of(r, key);
            if (!calls.empty() && listed[r] < p_.ranks_of_role(to_id<RoleId>(r))) {
                add(fmt::format("{}: not every rank of the role is in group {}",
                                describe(r, calls.front()),
                                group.name));
            }
        }
    }

    void compare(const Group& group, const CollectiveKey& key, std::uint32_t a, std::uint32_t b) {
        const Calls& left = collectives_of(a, key);
        const Calls& right = collectives_of(b, key);
        const std::size_t both = std::min(left.size(), right.size());
        for (std::size_t k = 0; k < both; ++k) {
            if (left[k].kind != right[k].kind || left[k].bytes != right[k].bytes) {
                add(fmt::format("group {}: collective {} of its members differs: {} with {} bytes "
                                "against {} with {} bytes",
                                group.name,
                                k,
                                describe(a, left[k]),
                                left[k].bytes.count(),
                                describe(b, right[k]),
                                right[k].bytes.count()),
                    "members must make the same collectives in the same order");
                return;
            }
        }
        if (left.size() != right.size()) {
            const bool left_more = left.size() > right.size();
            add(fmt::format("group {}: {} has no partner on role {}, which makes {} of {} calls",
                            group.name,
                            left_more ? describe(a, left[both]) : describe(b, right[both]),
                            p_.roles[left_more ? b : a].name,
                            both,
                            std::max(left.size(), right.size())));
        }
    }

    void check_exchange(std::uint32_t role, const ExchangeKey& key, const Calls& calls) {
        const Party& party = p_.parties[p_.party_of(to_id<RoleId>(role))];
        const std::uint32_t size = party.mesh.size(key.digit);
        const std::uint32_t peer =
            key.digit == party.role_digit
                ? party.first_role + (role - party.first_role + key.delta) % size
                : role;
        ExchangeKey mirrored = key;
        mirrored.delta = (size - key.delta) % size;
        mirrored.is_send = !key.is_send;
        static const Calls kNone;
        const auto found = roles_[peer].exchanges.find(mirrored);
        compare_sides(role,
                      calls,
                      peer,
                      found == roles_[peer].exchanges.end() ? kNone : found->second,
                      fmt::format("digit {}, {} further, communicator {}",
                                  party.mesh.digits()[key.digit].name,
                                  key.delta,
                                  key.communicator),
                      key.is_send);
    }

    // Checks for each rank of the role that its peer has one matching exchange, and that this
    // exchange leads back to the rank.
    void check_exchange_of_parties(std::uint32_t role, const ExchangeKey& key, const Calls& calls) {
        const std::string where =
            fmt::format("peers {}, communicator {}", key.peers, key.communicator);
        std::set<const Calls*> compared;
        for (std::uint32_t r = 0; r < p_.num_ranks(); ++r) {
            const auto rank = to_id<RankId>(r);
            if (index(p_.role_of(rank)) != role) {
                continue;
            }
            const RankId peer = p_.peer_of(rank, {.peers = key.peers});
            if (index(peer) >= p_.num_ranks()) {
                add(fmt::format("{}: rank {} has no peer", describe(role, calls.front()), r));
                return;
            }
            const auto other = static_cast<std::uint32_t>(index(p_.role_of(peer)));
            const Calls& others = other_side(other, peer, key, rank);
            if (compared.insert(&others).second) {
                compare_sides(role, calls, other, others, where, key.is_send);
            }
        }
    }

    // The calls of rank `peer` whose peer is `rank`; empty if there are none.
    const Calls& other_side(std::uint32_t role, RankId peer, const ExchangeKey& key, RankId rank) {
        static const Calls kNone;
        for (const auto& [have, calls] : roles_[role].exchanges) {
            if (have.peers >= 0 && have.is_send != key.is_send &&
                have.communicator == key.communicator &&
                p_.peer_of(peer, {.peers = have.peers}) == rank) {
                return calls;
            }
        }
        return kNone;
    }

    void compare_sides(std::uint32_t role,
                       const Calls& calls,
                       std::uint32_t peer,
                       const Calls& others,
                       const std::string& where,
                       bool is_send) {
        const std::size_t both = std::min(calls.size(), others.size());
        for (std::size_t k = 0; is_send && k < both; ++k) {
            if (calls[k].bytes != others[k].bytes) {
                add(fmt::format("{} sends {} bytes, but {} receives {}",
                                describe(role, calls[k]),
                                calls[k].bytes.count(),
                                describe(peer, others[k]),
                                others[k].bytes.count()));
                return;
            }
        }
        if (calls.size() > others.size()) {
            add(fmt::format("{}: nothing on role {} {} it ({})",
                            describe(role, calls[both]),
                            p_.roles[peer].name,
                            is_send ? "receives" : "sends",
                            where));
        }
    }

    const Program& p_;
    std::vector<RoleCalls> roles_;
    Errors errors_;
};

}  // namespace

Errors check_communication(const Program& program) {
    return CommunicationCheck(program).check();
}

}  // namespace orrery
