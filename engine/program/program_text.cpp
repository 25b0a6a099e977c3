// SPDX-License-Identifier: Apache-2.0
#include "engine/program/program_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "engine/base/text_columns.h"
#include "engine/program/shown_entries.h"

namespace orrery {
namespace {

std::string_view name(Reduction reduction) {
    return reduction == Reduction::sum ? "sum" : "max";
}

// Prints invalid Programs, too (engine/program/verifier.h): an index beyond a table's end is
// printed as "?7".
class ProgramText {
public:
    ProgramText(const Program& program, std::optional<RoleId> role)
        : p_(program), role_(role), shown_(program, role) {
        std::map<std::string_view, int> uses;
        for (const Tensor& tensor : p_.tensors) {
            ++uses[tensor.name];
        }
        for (std::size_t t = 0; t < p_.tensors.size(); ++t) {
            const std::string& own = p_.tensors[t].name;
            names_.push_back(uses[own] > 1 || own.empty() ? fmt::format("{}#{}", own, t) : own);
        }
        find_parties();
    }

    std::string text() const {
        std::string text = head() + groups() + peers() + tensors() + calls();
        for (std::size_t s = 0; s < p_.segments.size(); ++s) {
            if (shown_.segment(s)) {
                text += segment(s);
            }
        }
        for (std::size_t r = 0; r < p_.roles.size(); ++r) {
            if (!role_ || index(*role_) == r) {
                text += slots(r);
            }
        }
        return text;
    }

private:
    // Tensors and messages name digits of the party whose roles use them.
    void find_parties() {
        tensor_party_.resize(p_.tensors.size(), 0);
        message_party_.resize(p_.send_recvs.size(), 0);
        for (std::size_t r = 0; p_.parties.size() > 1 && r < p_.roles.size(); ++r) {
            const std::uint32_t party = p_.party_of(to_id<RoleId>(r));
            for (const Slot& slot : p_.roles[r].slots) {
                if (index(slot.segment) >= p_.segments.size()) {
                    continue;
                }
                for (const Op& op : p_.segment_of(slot).ops) {
                    if (op.kind() == OpKind::send_recv &&
                        op.payload.number() < message_party_.size()) {
                        message_party_[op.payload.number()] = party;
                    }
                    for (std::size_t i = op.first_operand;
                         i < std::min<std::size_t>(op.first_operand + op.num_operands,
                                                   p_.operands.size());
                         ++i) {
                        const std::size_t tensor = index(p_.operands[i].tensor);
                        if (tensor < tensor_party_.size()) {
                            tensor_party_[tensor] = party;
                        }
                    }
                }
            }
        }
    }

    const std::vector<MeshDigit>& digits_of(std::uint32_t party) const {
        static const std::vector<MeshDigit> kNone;
        return party < p_.parties.size() ? p_.parties[party].mesh.digits() : kNone;
    }
    std::string digit(std::size_t a, std::uint32_t party) const {
        const std::vector<MeshDigit>& all = digits_of(party);
        return a < all.size() ? all[a].name : fmt::format("?{}", a);
    }
    std::string digits(std::uint32_t bits, std::uint32_t party) const {
        std::vector<std::string> found;
        for (std::uint32_t a = 0; a < 32; ++a) {
            if ((bits >> a & 1U) != 0) {
                found.push_back(digit(a, party));
            }
        }
        return fmt::format("{}", fmt::join(found, " "));
    }
    std::string group_name(GroupId id) const {
        return index(id) < p_.groups.size() ? p_.groups[index(id)].name
                                            : fmt::format("?{}", index(id));
    }
    std::string stream(StreamId id) const {
        return index(id) < p_.stream_names.size() ? p_.stream_names[index(id)]
                                                  : fmt::format("?{}", index(id));
    }

    std::string mesh(std::uint32_t party) const {
        std::vector<std::string> sizes;
        for (const MeshDigit& one : digits_of(party)) {
            sizes.push_back(fmt::format("{} {}", one.name, one.size));
        }
        std::string text = fmt::format("mesh: {}\n", fmt::join(sizes, ", "));
        for (const MeshAxis& one : p_.parties[party].mesh.axes()) {
            const std::string parts = digits(one.digits, party);
            text += parts == one.name ? "" : fmt::format("axis {}: {}\n", one.name, parts);
        }
        return text;
    }

    std::string head() const {
        std::string text =
            fmt::format("program of {} ranks, {} roles", p_.num_ranks(), p_.roles.size());
        for (std::uint32_t i = 0; i < p_.parties.size(); ++i) {
            const Party& party = p_.parties[i];
            if (p_.parties.size() > 1 || !party.name.empty() || party.first_role != 0 ||
                party.continues_job) {
                text += fmt::format("\nparty {}: {} ranks from {} on, roles from {} on",
                                    party.name,
                                    party.mesh.num_ranks(),
                                    index(party.mesh.first_rank()),
                                    party.first_role);
                text += party.continues_job ? ", in one job with the party before it," : "";
            }
            text += " along " + digit(party.role_digit, i) + "\n" + mesh(i);
        }
        return text + fmt::format("streams: {}\n", fmt::join(p_.stream_names, ", "));
    }

    std::string groups() const {
        TextColumns rows;
        for (std::size_t g = 0; g < p_.groups.size(); ++g) {
            const Group& group = p_.groups[g];
            std::string members = group.party == 0 ? "" : fmt::format("party {} ", group.party);
            members += "along " + digits(group.digits, group.party);
            if (!group.subset.empty() || group.subset_digit != 0) {
                members += fmt::format(", of {} {}",
                                       digit(group.subset_digit, group.party),
                                       fmt::join(group.subset, " "));
            }
            for (const std::vector<RankId>& ranks : group.explicit_ranks) {
                members += ", ranks";
                for (const RankId rank : ranks) {
                    members += fmt::format(" {}", index(rank));
                }
            }
            rows.add({std::to_string(g), group.name, std::move(members)});
        }
        return "\ngroups\n" + rows.text();
    }

    std::string peers() const {
        TextColumns rows;
        for (std::size_t i = 0; i < p_.peers.size(); ++i) {
            std::string terms = fmt::format("rank {}", index(p_.peers[i].first));
            for (const PeerTerm& term : p_.peers[i].terms) {
                terms += fmt::format(
                    " + place / {} % {} * {}", term.stride, term.size, term.peer_stride);
            }
            rows.add({std::to_string(i), std::move(terms)});
        }
        return p_.peers.empty() ? "" : "\npeers\n" + rows.text();
    }

    std::string layout(const std::vector<DigitPlacement>& layout, std::uint32_t party) const {
        std::string text;
        for (std::size_t a = 0; a < layout.size(); ++a) {
            const DigitPlacement& one = layout[a];
            if (one == DigitPlacement{}) {
                continue;
            }
            text += (text.empty() ? "" : " ") + digit(a, party);
            constexpr std::array<std::string_view, 5> kMarks{"=", "/", "+", "/flat", "/routed"};
            text += kMarks[static_cast<std::size_t>(one.placement)];
            text += one.dim == -1 ? "" : std::to_string(one.dim);
            text += one.mirrored ? "m" : "";
            text += one.shift == 0 ? "" : fmt::format(">{}", one.shift);
        }
        text = text.empty() ? "whole" : text;
        const bool of_all = layout.size() == digits_of(party).size();
        return of_all ? text : fmt::format("{} of {} digits", text, layout.size());
    }

    std::string tensors() const {
        TextColumns rows;
        for (std::size_t t = 0; t < p_.tensors.size(); ++t) {
            if (!shown_.tensor(t)) {
                continue;
            }
            const Tensor& tensor = p_.tensors[t];
            std::string shape = fmt::format("{}", fmt::join(tensor.global_shape, "x"));
            if (!tensor.column_parts.empty()) {
                shape += fmt::format("({})", fmt::join(tensor.column_parts, "+"));
            }
            std::string rest = tensor.input ? "input " : "";
            if (tensor.sequence_blocks != 1) {
                rest += fmt::format("blocks {} ", tensor.sequence_blocks);
            }
            if (tensor.random_purpose != -1 || tensor.random_stream != 0) {
                rest += fmt::format("random {}.{} ", tensor.random_purpose, tensor.random_stream);
            }
            if (!tensor.step_layout.empty()) {
                rest += fmt::format("steps {} ", layout(tensor.step_layout, tensor_party_[t]));
            }
            if (!tensor.parameter.empty()) {
                rest +=
                    tensor.parameter == tensor.name ? "parameter" : "parameter " + tensor.parameter;
            }
            rows.add({std::to_string(t),
                      tensor.name,
                      std::string{orrery::name(tensor.dtype)},
                      std::move(shape),
                      layout(tensor.layout, tensor_party_[t]),
                      fmt::format("{} B", tensor.bytes.count()),
                      std::string{orrery::name(tensor.kind)},
                      std::string{name(tensor.lifetime)} + in_tier(tensor.tier),
                      std::move(rest)});
        }
        return "\ntensors\n" + rows.text();
    }

    // Leaves out work and variant of a kernel, which only the table of calls shows.
    std::string kernel(const KernelCall& call) const {
        auto used = call.dims.size();
        while (used > 1 && call.dims[used - 1] == 0) {
            --used;
        }
        return fmt::format("{} {} {}{}",
                           orrery::name(call.kind),
                           orrery::name(call.dtype),
                           fmt::join(call.dims.begin(), call.dims.begin() + used, "x"),
                           in_tier(call.tier));
    }

    static std::string in_tier(MemoryTier tier) {
        return tier == MemoryTier::hbm ? "" : fmt::format(" in {}", orrery::name(tier));
    }

    std::string collective(const CollectiveCall& call) const {
        std::string text = fmt::format("{} {} {} B {} comm {} {}",
                                       orrery::name(call.kind),
                                       group_name(call.group),
                                       call.bytes.count(),
                                       orrery::name(call.wire),
                                       call.communicator,
                                       orrery::name(call.mover.engine));
        if (call.mover.sm_limit != 0) {
            text += fmt::format(" <= {}", call.mover.sm_limit);
        }
        text += rows(call.rows);
        return text +
               (call.reduction == Reduction::sum ? "" : fmt::format(" {}", name(call.reduction)));
    }

    static std::string rows(const RowExchange& rows) {
        if (rows.dispatcher == 0) {
            return "";
        }
        return fmt::format(
            " {} {} of {} tokens to {}{} of {} experts, {} B by dispatcher {}{}",
            rows.combine ? "rows back" : "rows",
            rows.server_limit > 0 ? fmt::format("<= {} nodes", rows.server_limit) : "all nodes",
            rows.tokens,
            rows.choices,
            rows.consecutive ? " consecutive" : "",
            rows.experts,
            rows.row.count(),
            rows.dispatcher,
            rows.shares.empty() ? "" : fmt::format(" shares {}", fmt::join(rows.shares, ",")));
    }

    std::string messages(const SendRecvCall& call, std::uint32_t party) const {
        std::vector<std::string> parts;
        for (const SendRecvPart& part : call.parts) {
            const std::string peer =
                part.peers < 0 ? fmt::format("{}{:+d}", digit(part.digit, party), part.delta)
                               : fmt::format("peers {}", part.peers);
            parts.push_back(fmt::format(
                "{} {} {} B comm {}{}{}",
                part.is_send ? "send" : "receive",
                peer,
                part.bytes.count(),
                part.communicator,
                part.slice_digits == 0 ? "" : " slices " + digits(part.slice_digits, party),
                part.piece == 0 && part.pieces == 1
                    ? ""
                    : fmt::format(" piece {}/{}", part.piece, part.pieces)));
        }
        return fmt::format("{}", fmt::join(parts, " and "));
    }

    std::string copy(const CopyCall& c) const {
        return fmt::format("copy {} to {} {} B", name(c.from), name(c.to), c.bytes.count());
    }

    std::string host(const HostWork& work) const {
        const bool given = work.kind == HostWorkKind::given;
        return given || work.duration != Time{}
                   ? fmt::format(
                         "{} {} ps", given ? "given" : "restart", work.duration.picoseconds())
                   : "restart";
    }

    // The letter, the title and the number of entries of a table.
    using Table = std::tuple<char, std::string_view, std::size_t>;
    Table table(OpKind kind) const {
        const std::array<Table, kNumOpKinds> tables{{{'k', "kernels", p_.kernels.size()},
                                                     {'c', "collectives", p_.collectives.size()},
                                                     {'m', "messages", p_.send_recvs.size()},
                                                     {'d', "copies", p_.copies.size()},  // DMA
                                                     {'h', "host work", p_.host_works.size()}}};
        return tables[static_cast<std::size_t>(kind)];
    }

    std::string call(OpKind kind, std::size_t i) const {
        const auto [letter, title, entries] = table(kind);
        if (i >= entries) {
            return fmt::format("{}?{}", letter, i);
        }
        const std::string text = kind == OpKind::kernel       ? kernel(p_.kernels[i])
                                 : kind == OpKind::collective ? collective(p_.collectives[i])
                                 : kind == OpKind::send_recv
                                     ? messages(p_.send_recvs[i], message_party_[i])
                                 : kind == OpKind::copy ? copy(p_.copies[i])
                                                        : host(p_.host_works[i]);
        return fmt::format("{}{} {}", letter, i, text);
    }

    std::string calls() const {
        std::string text;
        for (const OpKind kind :
             {OpKind::kernel, OpKind::collective, OpKind::send_recv, OpKind::copy, OpKind::host}) {
            TextColumns rows;
            const auto [letter, title, entries] = table(kind);
            for (std::size_t i = 0; i < entries; ++i) {
                if (!shown_.call(kind, i)) {
                    continue;
                }
                std::vector<std::string> row{call(kind, i)};
                if (kind == OpKind::kernel) {
                    const KernelCall& one = p_.kernels[i];
                    row.push_back(fmt::format("{} FLOP", one.flop));
                    row.push_back(fmt::format("{} B", one.bytes));
                    row.push_back(one.variant == 0 ? "" : fmt::format("variant {}", one.variant));
                }
                rows.add(std::move(row));
            }
            if (const std::string found = rows.text(); !found.empty()) {
                text += fmt::format("\n{}\n{}", title, found);
            }
        }
        return text;
    }

    std::string operand(const Operand& operand) const {
        const std::size_t t = index(operand.tensor);
        std::string text = t < names_.size() ? names_[t] : fmt::format("?{}", t);
        text += operand.transposed ? "^T" : "";
        text += operand.part == -1 ? "" : fmt::format("[{}]", operand.part);
        const bool whole = operand.piece == 0 && operand.pieces == 1;
        return whole ? text : fmt::format("{}{{{}/{}}}", text, operand.piece, operand.pieces);
    }

    std::string operands(const Op& op) const {
        std::string text;
        std::optional<Access> access;
        std::vector<TensorId> read;
        for (std::size_t i = 0; i < op.num_operands; ++i) {
            if (op.first_operand + i >= p_.operands.size()) {
                return text + fmt::format(" ?{}", op.first_operand + i);
            }
            const Operand& one = p_.operands[op.first_operand + i];
            if (access == one.access) {
                text += ", ";
            } else {
                text += one.access == Access::write        ? (text.empty() ? "-> " : " -> ")
                        : one.access == Access::accumulate ? (text.empty() ? "+> " : " +> ")
                                                           : (text.empty() ? "" : " <- ");
            }
            access = one.access;
            text += operand(one);
            if (one.access == Access::read) {
                read.push_back(one.tensor);
            } else if (one.access == Access::write &&
                       std::ranges::find(read, one.tensor) != read.end()) {
                text += " (alias)";
            }
        }
        return text;
    }

    std::string waits(const Op& op) const {
        std::vector<std::string> found;
        for (std::size_t i = 0; i < op.num_waits; ++i) {
            const std::size_t place = op.first_wait + i;
            found.push_back(place < p_.waits.size() ? std::to_string(p_.waits[place])
                                                    : fmt::format("?{}", place));
        }
        return found.empty() ? "" : fmt::format("after {}", fmt::join(found, ", "));
    }

    std::string segment(std::size_t s) const {
        TextColumns rows;
        const Segment& segment = p_.segments[s];
        for (std::size_t o = 0; o < segment.ops.size(); ++o) {
            const Op& op = segment.ops[o];
            rows.add({std::to_string(o),
                      stream(op.stream),
                      op.name < p_.names.size() ? p_.names[op.name] : fmt::format("?{}", op.name),
                      call(op.kind(), op.payload.number()),
                      op.launches == 1 ? "" : fmt::format("{} launches", op.launches),
                      std::string{orrery::name(op.cause)},
                      waits(op),
                      operands(op)});
        }
        return fmt::format("\nsegment {}: {}\n", s, segment.name) + rows.text();
    }

    std::string slots(std::size_t r) const {
        TextColumns rows;
        const auto number = [](std::string_view what, std::int32_t n) {
            return n == -1 ? "" : fmt::format("{} {}", what, n);
        };
        for (std::size_t s = 0; s < p_.roles[r].slots.size(); ++s) {
            const Slot& slot = p_.roles[r].slots[s];
            std::vector<std::string> waits;
            for (const SlotWait& wait : slot.waits) {
                waits.push_back(fmt::format("{} after {}.{}{}",
                                            wait.op,
                                            wait.slot,
                                            wait.slot_op,
                                            wait.carried ? " of the step before" : ""));
            }
            rows.add({std::to_string(s),
                      std::string{orrery::name(slot.pass)},
                      number("chunk", slot.chunk),
                      number("micro-batch", slot.micro_batch),
                      fmt::format("segment {}", index(slot.segment)),
                      fmt::format("{}", fmt::join(waits, ", "))});
        }
        std::vector<std::string> reads;
        for (const SlotOp& read : p_.roles[r].host_reads) {
            reads.push_back(fmt::format("{}.{}", read.slot, read.op));
        }
        const std::string host =
            reads.empty() ? "" : fmt::format("the host reads {}\n", fmt::join(reads, ", "));
        return fmt::format("\nrole {}: {}\n", r, p_.roles[r].name) + rows.text() + host;
    }

    const Program& p_;
    std::optional<RoleId> role_;
    ShownEntries shown_;
    std::vector<std::string> names_;  // unique names of the tensors
    std::vector<std::uint32_t> tensor_party_;
    std::vector<std::uint32_t> message_party_;
};

}  // namespace

std::string to_text(const Program& program) {
    return ProgramText{program, std::nullopt}.text();
}

std::string to_text(const Program& program, RoleId role) {
    return ProgramText{program, role}.text();
}

}  // namespace orrery
