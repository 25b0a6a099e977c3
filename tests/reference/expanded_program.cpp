// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/expanded_program.h"

#include <array>
#include <optional>
#include <tuple>

namespace orrery::reference {
namespace {

class Expansion {
public:
    explicit Expansion(const SimulationInput& input)
        : program_(*input.program),
          network_(*input.network),
          input_(input),
          one_stream_(input.in_program_order) {}

    ExpandedProgram run() {
        for (std::uint32_t r = 0; r < program_.num_ranks(); ++r) {
            const auto rank = to_id<RankId>(r);
            const PartyRun run = input_.run_of(program_.party_of(rank));
            launch_cost_ = run.launch_cost;
            for (std::uint32_t step = 0; step < run.steps; ++step) {
                add_rank_step(rank, step);
            }
        }
        for (OpInstance& op : out_.ops) {
            for (const std::size_t t : op.transfers) {
                const TransferPlan* plan = out_.transfers[t].plan;
                op.sms += plan == nullptr ? 0 : plan->sms;
            }
        }
        return std::move(out_);
    }

private:
    using Place = std::tuple<std::uint32_t, RankId, std::uint32_t, std::uint32_t>;

    // Where the ops of (step, rank, slot) begin in out_.ops.
    std::size_t instance(const Place& place) const {
        const auto [step, rank, slot, position] = place;
        return slot_begin_.at({step, rank, slot}) + position;
    }

    void add_rank_step(RankId rank, std::uint32_t step) {
        const Role& role = program_.roles[index(program_.role_of(rank))];
        Time launch_offset;
        hold_.reset();
        for (std::uint32_t s = 0; s < role.slots.size(); ++s) {
            const Segment& segment = program_.segment_of(role.slots[s]);
            slot_begin_[{step, rank, s}] = out_.ops.size();
            for (std::uint32_t p = 0; p < segment.ops.size(); ++p) {
                const Op& op = segment.ops[p];
                launch_offset += launch_cost_ * op.launches;
                out_.ops.push_back({.rank = rank,
                                    .step = step,
                                    .slot = s,
                                    .position = p,
                                    .op = &op,
                                    .launch_offset = launch_offset});
                add_waits(role.slots[s]);
                add_hold();
                draw_ = input_.load == nullptr ? 0 : input_.load->draw_of(role.slots[s], p);
                find_kernel();
                add_transfers();
            }
        }
    }

    // The host launches later ops of the step when this one has ended.
    void add_hold() {
        OpInstance& self = out_.ops.back();
        if (hold_) {
            self.waits_on.push_back(*hold_);
        }
        self.holds_host = self.op->num_operands > 0 && is_restart(program_, *self.op);
        if (self.holds_host) {
            hold_ = out_.ops.size() - 1;
        }
    }

    void find_kernel() {
        OpInstance& self = out_.ops.back();
        if (self.op->kind() != OpKind::kernel) {
            return;
        }
        const KernelId kernel = self.op->payload.kernel();
        self.kernel = index(kernel);
        if (draw_ != 0) {
            const RoleId role = program_.role_of(self.rank);
            self.kernel =
                input_.load->kernel(kernel, input_.load->of(self.rank, role, draw_).level);
        }
    }

    void add_waits(const Slot& slot) {
        OpInstance& self = out_.ops.back();
        bool on_its_own = self.op->kind() == OpKind::send_recv;
        if (on_its_own) {
            for (const SendRecvPart& part : program_.send_recv(*self.op).parts) {
                on_its_own = on_its_own && part.is_send;
            }
        }
        const StreamId stream = one_stream_ && !on_its_own ? StreamId{0} : self.op->stream;
        const auto previous = last_of_stream_.find({self.rank, stream});
        if (previous != last_of_stream_.end()) {
            self.waits_on.push_back(previous->second);
        }
        last_of_stream_[{self.rank, stream}] = out_.ops.size() - 1;
        for (std::uint32_t w = 0; w < self.op->num_waits; ++w) {
            const std::uint32_t position = program_.waits[self.op->first_wait + w];
            self.waits_on.push_back(instance({self.step, self.rank, self.slot, position}));
        }
        for (const SlotWait& wait : slot.waits) {
            if (wait.op != self.position) {
                continue;
            }
            if (!wait.carried) {
                self.waits_on.push_back(instance({self.step, self.rank, wait.slot, wait.slot_op}));
            } else if (self.step > 0) {
                self.waits_on.push_back(
                    instance({self.step - 1, self.rank, wait.slot, wait.slot_op}));
            }
        }
        for (const std::size_t earlier : self.waits_on) {
            ORRERY_CHECK(earlier < out_.ops.size() - 1);
        }
    }

    void add_transfers() {
        OpInstance& self = out_.ops.back();
        if (self.op->kind() == OpKind::collective) {
            self.transfers.push_back(join_collective(self.rank, self.op->payload.collective()));
        } else if (self.op->kind() == OpKind::send_recv) {
            for (const SendRecvPart& part : program_.send_recv(*self.op).parts) {
                self.transfers.push_back(join_message(self.rank, part));
            }
        }
        if (self.op->kind() == OpKind::copy) {
            self.transfers.push_back(begin_copy(self.rank, self.op->payload.copy()));
        }
        for (const std::size_t t : self.transfers) {
            out_.transfers[t].ops.push_back(out_.ops.size() - 1);
        }
    }

    // The rank's k-th op on a (group, communicator) joins its peers' k-th.
    std::size_t join_collective(RankId rank, CollectiveId id) {
        const CollectiveCall& call = program_.collectives[index(id)];
        const std::vector<RankId> members =
            program_.mesh_of(rank).members(program_.groups[index(call.group)], rank);
        ORRERY_CHECK(!members.empty());
        const std::uint32_t k = collectives_of_rank_[{rank, call.group, call.communicator}]++;
        const auto [found, is_new] = collective_transfer_.try_emplace(
            {call.group, call.communicator, members.front(), k}, out_.transfers.size());
        if (!is_new) {
            return found->second;
        }
        TransferInstance transfer{.num_sides = members.size()};
        if (members.size() > 1) {
            const auto key = std::tuple{id, members.front(), draw_};
            if (!out_.collective_plans.contains(key)) {
                TransferCall own = call;
                if (draw_ != 0) {
                    own = input_.load->call(own, draw_, program_.role_of(rank), members);
                }
                out_.collective_plans[key] = network_.plan(own, members);
            }
            transfer.plan = &out_.collective_plans[key];
        }
        out_.transfers.push_back(transfer);
        return found->second;
    }

    // The k-th send from a to b on a communicator pairs with the k-th receive of b from a.
    std::size_t join_message(RankId rank, const SendRecvPart& part) {
        const RankId peer = program_.peer_of(rank, part);
        const RankId from = part.is_send ? rank : peer;
        const RankId to = part.is_send ? peer : rank;
        const std::uint32_t k = messages_of_side_[{from, to, part.communicator, part.is_send}]++;
        const auto [found, is_new] =
            message_transfer_.try_emplace({from, to, part.communicator, k}, out_.transfers.size());
        if (is_new) {
            TransferInstance transfer{.num_sides = 2};
            if (from != to) {
                const std::uint32_t ranks =
                    part.peers < 0 ? program_.mesh_of(rank).size(part.digit) : 2;
                const auto key = std::tuple{from, to, part.bytes, ranks};
                if (!out_.send_plans.contains(key)) {
                    out_.send_plans[key] = network_.plan(
                        SendCall{.bytes = part.bytes, .ranks = ranks}, std::array{from, to});
                }
                transfer.plan = &out_.send_plans[key];
            }
            out_.transfers.push_back(transfer);
        }
        return found->second;
    }

    // Every copy is a transfer of its own, without a peer.
    std::size_t begin_copy(RankId rank, CopyId id) {
        const auto [plan, is_new] = out_.copy_plans.try_emplace({id, rank});
        if (is_new) {
            plan->second = network_.plan(program_.copies[index(id)], std::array{rank});
        }
        out_.transfers.push_back({.plan = &plan->second, .num_sides = 1, .ops = {}});
        return out_.transfers.size() - 1;
    }

    const Program& program_;
    const NetworkModel& network_;
    const SimulationInput& input_;
    std::uint32_t draw_ = 0;  // of the op that is being expanded
    Time launch_cost_;       // of the rank that is being expanded
    const bool one_stream_;  // for all but messages that are only sent
    ExpandedProgram out_;
    std::map<std::tuple<std::uint32_t, RankId, std::uint32_t>, std::size_t> slot_begin_;
    std::map<std::pair<RankId, StreamId>, std::size_t> last_of_stream_;
    std::optional<std::size_t> hold_;  // the last op of the rank's step that held the host
    std::map<std::tuple<RankId, GroupId, std::uint16_t>, std::uint32_t> collectives_of_rank_;
    std::map<std::tuple<GroupId, std::uint16_t, RankId, std::uint32_t>, std::size_t>
        collective_transfer_;
    std::map<std::tuple<RankId, RankId, std::uint16_t, bool>, std::uint32_t> messages_of_side_;
    std::map<std::tuple<RankId, RankId, std::uint16_t, std::uint32_t>, std::size_t>
        message_transfer_;
};

}  // namespace

ExpandedProgram expand(const SimulationInput& input) {
    return Expansion{input}.run();
}

}  // namespace orrery::reference
