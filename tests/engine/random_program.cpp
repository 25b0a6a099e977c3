// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/random_program.h"

#include <random>

#include "tests/reference/program_builder.h"

namespace orrery {

namespace {

class Generator {
public:
    Generator(std::uint64_t seed, bool symmetric) : engine_(seed), symmetric_(symmetric) {}

    RandomCase generate() {
        const std::uint32_t tp = 1u << below(3);
        const std::uint32_t dp = 1 + below(4);
        const std::uint32_t pp = 1 + below(3);
        Program& p = out_.program;
        p.parties.front().mesh = Mesh({{"tp", tp}, {"dp", dp}, {"pp", pp}});
        p.parties.front().role_digit = 2;
        p.names = {"kernel", "collective", "exchange", "copy", "host"};
        p.groups = {{"tp", 1u, 0, {}, {}},
                    {"dp", 2u, 0, {}, {}},
                    {"tp-dp", 3u, 0, {}, {}},
                    {"pp", 4u, 0, {}, {}},
                    {"ends", 4u, 2, {0, pp - 1}, {}}};
        if (pp == 1) {
            p.groups.pop_back();
        }
        for (std::uint32_t r = 0; r < pp; ++r) {
            p.roles.push_back({"stage " + std::to_string(r), {}});
            p.segments.push_back({"segment", {}});
            p.roles.back().slots.push_back(Slot{.segment = to_id<SegmentId>(r), .waits = {}});
        }
        for (std::uint32_t k = 0; k < 6; ++k) {
            p.kernels.push_back({});
            p.host_works.push_back({Time::picoseconds(1 + below(2'000'000))});
        }
        const std::uint32_t num_events = 10 + below(40);
        for (std::uint32_t e = 0; e < num_events; ++e) {
            add_event(pp);
        }
        split_into_slots();
        make_input();
        if (below(3) == 0) {
            overlap_steps();
        }
        return std::move(out_);
    }

private:
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }

    void add(std::uint32_t role, OpKind kind, std::uint32_t payload) {
        Op op{.payload = {kind, payload},
              .stream = to_id<StreamId>(below(3)),
              .cause = static_cast<Cause>(1 + below(10)),
              .launches = static_cast<std::uint8_t>(below(3)),
              .name = static_cast<std::uint32_t>(kind)};
        const std::size_t size = out_.program.segments[role].ops.size();
        std::vector<std::uint32_t> waits;
        for (std::uint32_t w = below(3); size > 0 && w > 0; --w) {
            waits.push_back(static_cast<std::uint32_t>(size) - 1 -
                            below(std::min(8u, static_cast<std::uint32_t>(size))));
        }
        reference::append_op(out_.program, to_id<SegmentId>(role), op, waits);
    }

    void add_event(std::uint32_t pp) {
        Program& p = out_.program;
        const std::uint32_t choice = below(10);
        if (choice < 5) {
            const std::uint32_t role = below(pp);
            if (choice == 3) {
                add(role, OpKind::copy, add_copy());
            } else {
                add(role, choice < 3 ? OpKind::kernel : OpKind::host, below(6));
            }
        } else if (choice < 8) {
            const auto group = below(static_cast<std::uint32_t>(p.groups.size()));
            const std::uint32_t payload = reference::append(
                p.collectives,
                CollectiveCall{.kind = CollectiveKind::all_reduce,
                               .group = to_id<GroupId>(group),
                               .bytes = Bytes{below(4) * 600'000ll},
                               .communicator = static_cast<std::uint16_t>(below(2))});
            const std::uint32_t only = below(pp);
            for (std::uint32_t role = 0; role < pp; ++role) {
                const bool takes_part =
                    group < 3 ? role == only : group == 3 || role == 0 || role == pp - 1;
                if (takes_part) {
                    add(role, OpKind::collective, payload);
                }
            }
        } else {
            add_exchange(pp);
        }
    }

    std::uint32_t add_copy() {
        CopyCall call{.bytes = Bytes{below(4) * 400'000ll}};
        if (below(3) == 0) {
            call.from = MemoryTier::nvme;
        }
        if (below(2) == 0) {
            std::swap(call.from, call.to);
        }
        return reference::append(out_.program.copies, call);
    }

    void add_exchange(std::uint32_t pp) {
        Program& p = out_.program;
        const Bytes bytes{below(5) * 250'000ll};
        const auto communicator = static_cast<std::uint16_t>(below(2));
        const std::uint32_t axis = below(3);
        const auto part = [&](bool is_send, int delta) {
            return SendRecvPart{is_send, axis, delta, bytes, communicator};
        };
        if (axis != 2) {  // a ring inside a role
            const int delta = below(2) == 0 ? 1 : -1;
            add(below(pp),
                OpKind::send_recv,
                reference::append(p.send_recvs, {{part(true, delta), part(false, -delta)}}));
        } else if (pp > 1) {  // from one stage to the next or the one before, maybe both at once
            const std::uint32_t from = below(pp - 1);
            const bool both = below(3) == 0;
            const bool forward = both || below(2) == 0;
            SendRecvCall low{{part(forward, 1)}};
            SendRecvCall high{{part(!forward, -1)}};
            if (both) {
                low.parts.push_back(part(false, 1));
                high.parts.push_back(part(true, -1));
            }
            add(from, OpKind::send_recv, reference::append(p.send_recvs, low));
            add(from + 1, OpKind::send_recv, reference::append(p.send_recvs, high));
        }
    }

    // Cuts every role's segment in two slots: waits over the cut become SlotWaits.
    void split_into_slots() {
        Program& p = out_.program;
        for (std::uint32_t r = 0; r < p.roles.size(); ++r) {
            std::vector<Op>& ops = p.segments[r].ops;
            const std::uint32_t cut = below(static_cast<std::uint32_t>(ops.size()) + 1);
            Segment second{"second", {ops.begin() + cut, ops.end()}};
            ops.resize(cut);
            Slot slot{.segment = to_id<SegmentId>(p.segments.size()), .waits = {}};
            for (std::uint32_t o = 0; o < second.ops.size(); ++o) {
                Op& op = second.ops[o];
                std::vector<std::uint32_t> inside;
                for (std::uint32_t w = 0; w < op.num_waits; ++w) {
                    const std::uint32_t target = p.waits[op.first_wait + w];
                    if (target < cut) {
                        slot.waits.push_back({o, 0, target});
                    } else {
                        inside.push_back(target - cut);
                    }
                }
                op.first_wait = static_cast<std::uint32_t>(p.waits.size());
                op.num_waits = static_cast<std::uint32_t>(inside.size());
                p.waits.insert(p.waits.end(), inside.begin(), inside.end());
            }
            p.segments.push_back(std::move(second));
            p.roles[r].slots.push_back(std::move(slot));
        }
    }

    // Hosts read a few ops only, and ops wait on ops of the step before.
    void overlap_steps() {
        Program& p = out_.program;
        for (Role& role : p.roles) {
            std::vector<SlotOp> ops;
            for (std::uint32_t s = 0; s < role.slots.size(); ++s) {
                const std::size_t size = p.segment_of(role.slots[s]).ops.size();
                for (std::uint32_t o = 0; o < size; ++o) {
                    ops.push_back({s, o});
                }
            }
            const auto any_op = [&] { return ops[below(static_cast<std::uint32_t>(ops.size()))]; };
            for (std::uint32_t n = ops.empty() ? 0 : below(4); n > 0; --n) {
                role.host_reads.push_back(any_op());
                const SlotOp waiting = any_op();
                const SlotOp target = any_op();
                role.slots[waiting.slot].waits.push_back(
                    {waiting.op, target.slot, target.op, true});
            }
        }
    }

    void make_input() {
        const std::uint32_t ranks = out_.program.num_ranks();
        out_.network = {.num_ranks = ranks,
                        .ranks_per_node = 1u << below(4),
                        .uplinks = 1 + below(3),
                        .hashed = !symmetric_,
                        .port_bps = 100'000'000'000 + 7 * below(1'000'000'000),
                        .uplink_bps = 50'000'000'000 + 13ll * below(4'000'000'000),
                        .rate_max_bps = below(2) * 70'000'000'000,
                        .channels = 1 + below(3),
                        .phases = 1 + below(2),
                        .collective_sms = below(3) * 12,
                        .send_sms = below(3) * 4,
                        .latency = Time::picoseconds(below(3) * 700'000),
                        .contention = below(6) != 0};
        SimulationInput& input = out_.input;
        for (std::uint32_t d = 0; d < (symmetric_ ? 1u : 2u); ++d) {
            DeviceTimings device;
            device.num_sms = below(4) == 0 ? 0 : 132;
            for (std::uint32_t k = 0; k < 6; ++k) {
                const std::uint32_t duration = below(20) == 0 ? 0 : 1 + below(20'000'000);
                device.kernels.push_back({.duration = Time::picoseconds(duration),
                                          .ideal = Time::picoseconds(duration / 2),
                                          .sm_sensitivity_permille = below(1001)});
            }
            input.devices.push_back(device);
        }
        if (!symmetric_) {
            for (std::uint32_t r = 0; r < ranks; ++r) {
                input.device_class.push_back(below(8) == 0 ? 1 : 0);
            }
        }
        input.launch_cost = Time::picoseconds(below(3) * 3'000'000);
        input.steps = 1 + below(3);
        for (std::uint32_t r = 0; r < ranks; ++r) {
            input.traced_ranks.push_back(to_id<RankId>(r));
        }
    }

    std::mt19937_64 engine_;
    bool symmetric_;
    RandomCase out_;
};

}  // namespace

RandomCase random_case(std::uint64_t seed, bool symmetric) {
    return Generator(seed, symmetric).generate();
}

}  // namespace orrery
