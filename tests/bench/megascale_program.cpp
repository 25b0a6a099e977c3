// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/megascale_program.h"

#include <algorithm>

namespace orrery {

namespace {

constexpr std::uint32_t kTensorParallel = 8;

// Streams: one for compute and tensor-parallel collectives, one for each kind of exchange.
enum : std::uint8_t { kCompute, kSend, kReceive, kData };

class Builder {
public:
    explicit Builder(const MegascaleShape& shape) : shape_(shape) {}

    Program build() {
        p_.parties.front().mesh =
            Mesh({{"tp", kTensorParallel}, {"dp", shape_.data_parallel}, {"pp", shape_.stages}});
        p_.parties.front().role_digit = 2;
        p_.groups = {{"tp", 1u, 0, {}, {}}, {"dp", 2u, 0, {}, {}}};
        p_.kernels.resize(6);
        p_.names = {"op"};
        p_.stream_names = {"compute", "send", "receive", "data"};
        CollectiveCall gather;
        gather.kind = CollectiveKind::all_gather;
        gather.bytes = Bytes{50'331'648};
        CollectiveCall sync;
        sync.group = to_id<GroupId>(1);
        sync.bytes = Bytes{1'000'000'000};
        p_.collectives = {gather, sync};
        const auto message = [](bool is_send, int delta, std::uint16_t communicator) {
            return SendRecvCall{{{.is_send = is_send,
                                  .digit = 2,
                                  .delta = delta,
                                  .bytes = Bytes{6'291'456},
                                  .communicator = communicator}}};
        };
        p_.send_recvs = {
            message(true, 1, 0), message(false, -1, 0), message(true, -1, 1), message(false, 1, 1)};
        for (std::uint32_t s = 0; s < shape_.stages; ++s) {
            add_stage(s);
        }
        return std::move(p_);
    }

private:
    std::uint32_t add(OpKind kind, std::uint8_t stream, std::uint32_t payload, Cause cause) {
        Op op;
        op.stream = to_id<StreamId>(stream);
        op.cause = cause;
        op.payload = {kind, payload};
        op.first_wait = static_cast<std::uint32_t>(p_.waits.size());
        p_.segments.back().ops.push_back(op);
        return static_cast<std::uint32_t>(p_.segments.back().ops.size() - 1);
    }

    void wait_on(std::uint32_t op) {
        p_.waits.push_back(op);
        ++p_.segments.back().ops.back().num_waits;
    }

    SegmentId add_segment(const char* name, bool receives, bool sends, bool forward) {
        p_.segments.push_back({name, {}});
        if (receives) {
            add(OpKind::send_recv, kReceive, forward ? 1 : 3, Cause::exposed_pipeline);
        }
        for (std::uint32_t c = 0; c < shape_.collectives_a_slot; ++c) {
            for (std::uint32_t k = 0; k < 3; ++k) {
                add(OpKind::kernel, kCompute, forward ? k : k + 3, Cause::gemm_inefficiency);
                if (receives && c == 0 && k == 0) {
                    wait_on(0);
                }
            }
            add(OpKind::collective, kCompute, 0, Cause::exposed_tensor);
        }
        if (sends) {
            const auto last = static_cast<std::uint32_t>(p_.segments.back().ops.size() - 1);
            add(OpKind::send_recv, kSend, forward ? 0 : 2, Cause::exposed_pipeline);
            wait_on(last);
        }
        return to_id<SegmentId>(p_.segments.size() - 1);
    }

    void add_stage(std::uint32_t s) {
        const bool first = s == 0;
        const bool last = s + 1 == shape_.stages;
        const SegmentId forward = add_segment("forward", !first, !last, true);
        const SegmentId backward = add_segment("backward", !last, !first, false);
        p_.segments.push_back({"sync", {}});
        add(OpKind::collective, kCompute, 1, Cause::exposed_data);
        const SegmentId sync = to_id<SegmentId>(p_.segments.size() - 1);
        Role role;
        role.name = "pp " + std::to_string(s);
        const auto slot = [&](SegmentId segment) {
            role.slots.emplace_back();
            role.slots.back().segment = segment;
        };
        const std::uint32_t warm_up = std::min(shape_.stages - s - 1, shape_.micro_batches);
        for (std::uint32_t m = 0; m < shape_.micro_batches + warm_up; ++m) {
            if (m < shape_.micro_batches) {
                slot(forward);
            }
            if (m >= warm_up) {
                slot(backward);
            }
        }
        slot(sync);
        p_.roles.push_back(std::move(role));
    }

    MegascaleShape shape_;
    Program p_;
};

TransferPlan plan_of(std::vector<LinkShare> footprint, Bytes bytes, Time latency) {
    std::sort(footprint.begin(), footprint.end(), [](const LinkShare& a, const LinkShare& b) {
        return a.link < b.link;
    });
    TransferPart part;
    part.footprint = std::move(footprint);
    part.bytes = bytes;
    TransferPlan plan;
    plan.phases.push_back({latency, {std::move(part)}});
    return plan;
}

}  // namespace

Program megascale_program(const MegascaleShape& shape) {
    return Builder(shape).build();
}

// Links: NVLink out, NVLink in, NIC out, NIC in, each by rank.
RailNetwork::RailNetwork(std::uint32_t num_ranks) : num_ranks_(num_ranks) {
    links_.resize(std::size_t{4} * num_ranks);
    for (std::size_t l = 0; l < links_.size(); ++l) {
        const bool nic = l >= std::size_t{2} * num_ranks;
        links_[l] = {nic ? Bandwidth::bytes_per_second(25'000'000'000)
                         : Bandwidth::bytes_per_second(300'000'000'000),
                     nic ? std::uint16_t{1} : std::uint16_t{0}};
    }
}

TransferPlan RailNetwork::plan(const TransferCall& call, std::span<const RankId> members) const {
    const std::size_t nics = std::size_t{2} * num_ranks_;
    if (std::holds_alternative<SendCall>(call)) {
        return plan_of({{to_id<LinkId>(nics + index(members[0])), 1},
                        {to_id<LinkId>(nics + num_ranks_ + index(members[1])), 1}},
                       bytes_of(call),
                       Time::picoseconds(6'000'000));
    }
    const std::size_t base = members.size() <= kTensorParallel ? 0 : nics;
    std::vector<LinkShare> footprint;
    for (const RankId rank : members) {
        footprint.push_back({to_id<LinkId>(base + index(rank)), 1});
        footprint.push_back({to_id<LinkId>(base + num_ranks_ + index(rank)), 1});
    }
    TransferPlan plan =
        plan_of(std::move(footprint), bytes_of(call), Time::picoseconds(10'000'000));
    plan.sms = 16;
    return plan;
}

SimulationInput megascale_input(const Program& program, const NetworkModel& network) {
    DeviceTimings device;
    for (std::size_t k = 0; k < program.kernels.size(); ++k) {
        KernelTime time;
        time.duration = Time::picoseconds(150'000'000 + static_cast<std::int64_t>(k) * 31'000'007);
        time.ideal = Time::picoseconds(100'000'000);
        device.kernels.push_back(time);
    }
    device.num_sms = 108;
    SimulationInput input;
    input.program = &program;
    input.network = &network;
    input.devices = {device};
    input.launch_cost = Time::picoseconds(4'000'000);
    input.steps = 2;
    return input;
}

}  // namespace orrery
