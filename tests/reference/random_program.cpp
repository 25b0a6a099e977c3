// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/random_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tests/reference/dice.h"
#include "tests/reference/program_builder.h"

namespace orrery::reference {
namespace {

using RoleSet = std::vector<std::uint32_t>;

class Generator {
public:
    explicit Generator(const RandomCaseOptions& options) : dice_(options.seed) {
        case_.options = options;
    }

    RandomCase run() {
        choose_mesh();
        choose_groups();
        choose_network();
        case_.launch_cost = Time::picoseconds(
            dice_.chance(40) ? 0 : dice_.between<std::int64_t>(500'000, 8'000'000));
        num_streams_ = dice_.between(1u, 3u);
        for (std::uint32_t s = 0; s < num_streams_; ++s) {
            program().stream_names.push_back(fmt::format("stream {}", s));
        }
        program().names = {"op"};
        while (blocks_.size() < case_.options.blocks) {
            add_block();
        }
        for (std::uint32_t s = 0; s < case_.options.slots; ++s) {
            add_slots(s < blocks_.size() ? blocks_[s] : dice_.pick(blocks_));
        }
        choose_devices();
        overlap_steps();
        return std::move(case_);
    }

private:
    // What one block gives each role: a segment, or nothing.
    using Block = std::vector<std::optional<SegmentId>>;

    Program& program() { return case_.program; }
    std::uint32_t num_roles() const {
        return static_cast<std::uint32_t>(case_.program.roles.size());
    }
    RoleSet all_roles() const {
        RoleSet all;
        for (std::uint32_t r = 0; r < num_roles(); ++r) {
            all.push_back(r);
        }
        return all;
    }
    RoleSet some_roles() {
        if (lone_role_) {
            return {*lone_role_};
        }
        return dice_.chance(60) ? all_roles() : RoleSet{dice_.between(0u, num_roles() - 1)};
    }
    StreamId any_stream() { return to_id<StreamId>(dice_.between(0u, num_streams_ - 1)); }
    // Kernels mostly run on stream 0, communication mostly elsewhere.
    StreamId kernel_stream() { return dice_.chance(80) ? StreamId{0} : any_stream(); }
    StreamId network_stream() {
        return dice_.chance(70) ? to_id<StreamId>(num_streams_ - 1) : any_stream();
    }

    // --- the surroundings ---

    void choose_mesh() {
        const std::uint32_t tp = dice_.pick(std::vector{1u, 2u, 4u, 4u, 8u});
        const std::uint32_t cp = dice_.pick(std::vector{1u, 1u, 2u});
        const std::uint32_t pp = dice_.pick(std::vector{1u, 2u, 2u, 3u, 4u});
        const std::uint32_t dp = std::max(1u, case_.options.num_ranks / (tp * cp * pp));
        const bool pp_last = dice_.chance(60);
        if (pp_last) {
            program().parties.front().mesh = Mesh{{{"tp", tp}, {"cp", cp}, {"dp", dp}, {"pp", pp}}};
        } else {
            program().parties.front().mesh = Mesh{{{"tp", tp}, {"cp", cp}, {"pp", pp}, {"dp", dp}}};
        }
        program().parties.front().role_digit = program().mesh().digit("pp");
        for (std::uint32_t r = 0; r < pp; ++r) {
            program().roles.push_back({.name = fmt::format("pp {}", r)});
        }
    }

    GroupId add_group(Group group) {
        return to_id<GroupId>(append(program().groups, std::move(group)));
    }

    void choose_groups() {
        const auto bit = [&](const char* name) { return 1u << program().mesh().digit(name); };
        const std::uint32_t tp = bit("tp");
        const std::uint32_t cp = bit("cp");
        const std::uint32_t dp = bit("dp");
        const std::uint32_t pp = bit("pp");
        role_groups_ = {add_group({.name = "tp", .digits = tp}),
                        add_group({.name = "tp-cp", .digits = tp | cp}),
                        add_group({.name = "dp", .digits = dp}),
                        add_group({.name = "dp-cp", .digits = dp | cp}),
                        add_group({.name = "tp-cp-dp", .digits = tp | cp | dp})};
        wide_groups_ = {add_group({.name = "pp", .digits = pp}),
                        add_group({.name = "tp-pp", .digits = tp | pp}),
                        add_group({.name = "world", .digits = tp | cp | dp | pp})};
        std::vector<std::uint32_t> ends{0};
        if (num_roles() > 1) {
            ends.push_back(num_roles() - 1);
        }
        ends_group_ = add_group({.name = "pp{first,last}",
                                 .digits = pp,
                                 .subset_digit = program().role_digit(),
                                 .subset = ends});
        if (!case_.options.symmetric && dice_.chance(25)) {
            Group ragged{.name = "ragged"};
            for (std::uint32_t r = 0; r < program().num_ranks();) {
                ragged.explicit_ranks.push_back({});
                const std::uint32_t size = dice_.between(1u, 9u);
                for (std::uint32_t i = 0; i < size && r < program().num_ranks(); ++i, ++r) {
                    ragged.explicit_ranks.back().push_back(to_id<RankId>(r));
                }
            }
            wide_groups_.push_back(add_group(std::move(ragged)));
        }
    }

    Bandwidth gigabits(std::int64_t low, std::int64_t high) {
        const std::int64_t giga = 1'000'000'000;
        return Bandwidth::bits_per_second(dice_.between(low * giga, high * giga));
    }

    void choose_network() {
        TableNetworkShape& shape = case_.network_shape;
        shape.num_ranks = program().num_ranks();
        shape.ranks_per_node = dice_.chance(50) ? 4 : 8;
        shape.nodes_per_leaf = dice_.between(1u, 4u);
        shape.uplinks_per_leaf = dice_.between(1u, 4u);
        shape.nvlink = gigabits(800, 3600);
        shape.nic = gigabits(50, 400);
        shape.uplink = dice_.chance(60) ? gigabits(50, 800) : gigabits(100'000, 200'000);
        shape.drive = gigabits(20, 200);
        shape.hashed = !case_.options.symmetric && dice_.chance(70);
        shape.contention = !dice_.chance(15);
        shape.channels = dice_.between(1u, 3u);
        shape.collective_sms = dice_.between(0u, 16u);
        shape.send_sms = dice_.between(0u, 6u);
        shape.hop_latency = Time::picoseconds(dice_.between<std::int64_t>(0, 3'000'000));
        shape.rate_max = dice_.chance(50) ? Bandwidth{} : gigabits(20, 400);
        shape.hierarchical = dice_.chance(50);
        shape.salt = dice_.next();
        case_.network = std::make_unique<TableNetwork>(shape);
    }

    void choose_devices() {
        DeviceTimings healthy{.num_sms = dice_.pick(std::vector{0u, 64u, 108u, 132u})};
        for (std::size_t k = 0; k < program().kernels.size(); ++k) {
            const std::int64_t high = dice_.chance(70) ? 60'000'000 : 2'000'000;
            const Time duration =
                dice_.chance(4) ? Time{} : Time::picoseconds(dice_.between<std::int64_t>(1, high));
            healthy.kernels.push_back({.duration = duration,
                                       .ideal = Time::picoseconds(duration.picoseconds() / 2),
                                       .sm_sensitivity_permille = dice_.between(0u, 1000u),
                                       .persistent = dice_.chance(30)});
        }
        healthy.communication_queues = dice_.chance(50);
        healthy.restart = Time::picoseconds(dice_.between<std::int64_t>(0, 40'000'000));
        case_.devices = {healthy};
        if (!case_.options.symmetric && dice_.chance(50)) {
            const std::int64_t percent = dice_.between<std::int64_t>(101, 160);
            for (KernelTime& kernel : healthy.kernels) {
                kernel.duration = Time::picoseconds(kernel.duration.picoseconds() * percent / 100);
            }
            case_.devices.push_back(healthy);
            case_.device_class.assign(program().num_ranks(), 0);
            case_.device_class[dice_.next() % program().num_ranks()] = 1;
        }
    }

    // --- blocks ---

    void add_block() {
        block_.assign(num_roles(), std::nullopt);
        lone_role_.reset();
        if (blocks_.empty()) {
            kernel_event(all_roles());  // no role stays empty
        } else if (dice_.chance(25)) {
            lone_role_ = dice_.between(0u, num_roles() - 1);
        }
        for (std::uint32_t e = 0; e < case_.options.events_per_block; ++e) {
            const std::uint32_t kind =
                lone_role_ ? dice_.pick(std::vector{0u, 35u, 50u, 90u}) : dice_.between(0u, 99u);
            if (kind < 33) {
                kernel_event(some_roles());
            } else if (kind < 40) {
                copy_event(some_roles());
            } else if (kind < 60) {
                collective_event(some_roles(), dice_.pick(role_groups_));
            } else if (kind < 66) {
                wide_collective_event();
            } else if (kind < 90 && num_roles() > 1) {
                message_event();
            } else if (kind < 95) {
                restart_event(some_roles());
            } else {
                const Time duration = Time::picoseconds(dice_.between<std::int64_t>(0, 20'000'000));
                append_to(
                    some_roles(),
                    {.payload = {OpKind::host, append(program().host_works, HostWork{duration})},
                     .stream = any_stream(),
                     .cause = Cause::host});
            }
        }
        blocks_.push_back(block_);
    }

    // One op of each of the roles, each with waits of its own.
    void append_to(const RoleSet& roles, Op op) {
        if (dice_.chance(20)) {
            op.launches = dice_.between<std::uint8_t>(0, 3);
        }
        for (const std::uint32_t role : roles) {
            if (!block_[role]) {
                block_[role] = to_id<SegmentId>(append(program().segments, Segment{"block"}));
            }
            const std::size_t so_far = program().segments[index(*block_[role])].ops.size();
            std::vector<std::uint32_t> waits;
            while (so_far > 0 && waits.size() < 3 && dice_.chance(35)) {
                waits.push_back(static_cast<std::uint32_t>(dice_.next() % so_far));
            }
            append_op(program(), *block_[role], op, waits);
        }
    }

    // With operands, it holds the host.
    void restart_event(const RoleSet& roles) {
        Op op{.payload = {OpKind::host,
                          append(program().host_works, HostWork{.kind = HostWorkKind::restart})},
              .stream = any_stream(),
              .cause = Cause::host};
        if (dice_.chance(60)) {
            if (program().tensors.empty()) {
                const std::size_t digits = program().parties.front().mesh.digits().size();
                append(program().tensors,
                       Tensor{.name = "read by the host",
                              .lifetime = Lifetime::persistent,
                              .global_shape = {1},
                              .layout = std::vector<DigitPlacement>(digits),
                              .bytes = Bytes{4},
                              .input = true});
            }
            op.first_operand = append(program().operands, Operand{.tensor = TensorId{0}});
            op.num_operands = 1;
        }
        append_to(roles, op);
    }

    void kernel_event(const RoleSet& roles) {
        append_to(roles,
                  {.payload = {OpKind::kernel, append(program().kernels, KernelCall{})},
                   .stream = kernel_stream()});
    }

    Bytes any_bytes() {
        return Bytes{dice_.chance(5) ? 0 : dice_.between<std::int64_t>(1, 6'000'000)};
    }

    void copy_event(const RoleSet& roles) {
        CopyCall call{.bytes = any_bytes()};
        if (dice_.chance(40)) {
            call = {.from = MemoryTier::dram, .to = MemoryTier::nvme, .bytes = call.bytes};
        }
        if (dice_.chance(50)) {
            std::swap(call.from, call.to);
        }
        append_to(roles,
                  {.payload = {OpKind::copy, append(program().copies, call)},
                   .stream = dice_.chance(50) ? network_stream() : any_stream(),
                   .cause = Cause::exposed_other});
    }

    Mover any_mover(CollectiveKind kind) {
        const bool adds =
            kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
        if (!adds && dice_.chance(20)) {
            return {.engine = TransferEngine::copy_engine};
        }
        return {.sm_limit = static_cast<std::uint16_t>(dice_.chance(20) ? 1 : 0)};
    }

    void collective_event(const RoleSet& roles, GroupId group) {
        CollectiveCall call{.kind = static_cast<CollectiveKind>(dice_.between(0, 4)),
                            .group = group,
                            .bytes = any_bytes(),
                            .communicator = static_cast<std::uint16_t>(dice_.chance(30) ? 1 : 0)};
        call.mover = any_mover(call.kind);
        append_to(roles,
                  {.payload = {OpKind::collective, append(program().collectives, call)},
                   .stream = network_stream(),
                   .cause = Cause::exposed_data});
    }

    void wide_collective_event() {
        if (num_roles() > 1 && dice_.chance(40)) {
            collective_event({0, num_roles() - 1}, ends_group_);
        } else {
            collective_event(all_roles(), dice_.pick(wide_groups_));
        }
    }

    void send_recv_op(std::uint32_t role, std::vector<SendRecvPart> parts) {
        append_to({role},
                  {.payload = {OpKind::send_recv,
                               append(program().send_recvs, {.parts = std::move(parts)})},
                   .stream = network_stream(),
                   .cause = Cause::exposed_pipeline});
    }

    SendRecvPart message(bool is_send, int delta, Bytes bytes, std::uint16_t communicator) {
        return {.is_send = is_send,
                .digit = program().role_digit(),
                .delta = delta,
                .bytes = bytes,
                .communicator = communicator};
    }

    void message_event() {
        const Bytes forth = any_bytes();
        const Bytes back = any_bytes();
        const auto communicator = static_cast<std::uint16_t>(dice_.chance(30) ? 1 : 0);
        const std::uint32_t from = dice_.between(0u, num_roles() - 2);
        const auto send = [&](int delta, Bytes b) { return message(true, delta, b, communicator); };
        const auto receive = [&](int delta, Bytes b) {
            return message(false, delta, b, communicator);
        };
        switch (dice_.between(0, 4)) {
            case 0:  // along the whole pipeline, with compute in between
                for (std::uint32_t r = 0; r + 1 < num_roles(); ++r) {
                    kernel_event({r});
                    send_recv_op(r, {send(1, forth)});
                    send_recv_op(r + 1, {receive(-1, forth)});
                }
                break;
            case 1:  // one message backward
                send_recv_op(from + 1, {send(-1, back)});
                send_recv_op(from, {receive(1, back)});
                break;
            case 2:  // both ways, one op each
                send_recv_op(from, {send(1, forth), receive(1, back)});
                send_recv_op(from + 1, {receive(-1, forth), send(-1, back)});
                break;
            case 3:  // both ways, one op here and two there
                send_recv_op(from, {receive(1, back), send(1, forth)});
                send_recv_op(from + 1, {receive(-1, forth)});
                send_recv_op(from + 1, {send(-1, back)});
                break;
            default:  // round the ring of stages, perhaps in both directions
                const bool both = dice_.chance(50);
                for (std::uint32_t r = 0; r < num_roles(); ++r) {
                    std::vector<SendRecvPart> parts{send(1, forth), receive(-1, forth)};
                    if (both) {
                        parts.push_back(send(-1, back));
                        parts.push_back(receive(1, back));
                    }
                    send_recv_op(r, std::move(parts));
                }
        }
    }

    // --- slots ---

    std::uint32_t num_ops(const Slot& slot) {
        return static_cast<std::uint32_t>(program().segment_of(slot).ops.size());
    }

    void add_slots(const Block& block) {
        for (std::uint32_t r = 0; r < num_roles(); ++r) {
            if (!block[r]) {
                continue;
            }
            std::vector<Slot>& slots = program().roles[r].slots;
            Slot slot{.segment = *block[r]};
            while (!slots.empty() && dice_.chance(40)) {
                const auto earlier = static_cast<std::uint32_t>(dice_.next() % slots.size());
                slot.waits.push_back({.op = dice_.between(0u, num_ops(slot) - 1),
                                      .slot = earlier,
                                      .slot_op = dice_.between(0u, num_ops(slots[earlier]) - 1)});
            }
            slots.push_back(std::move(slot));
        }
    }

    // In every third program some roles' hosts read a few ops only, and ops wait on ops of the step
    // before.
    void overlap_steps() {
        if (!dice_.chance(33)) {
            return;
        }
        const auto any_op = [&](const Role& role) {
            const auto slot = dice_.between(0u, static_cast<std::uint32_t>(role.slots.size()) - 1);
            return SlotOp{slot, dice_.between(0u, num_ops(role.slots[slot]) - 1)};
        };
        for (Role& role : program().roles) {
            for (std::uint32_t n = dice_.between(0u, 3u); n > 0; --n) {
                role.host_reads.push_back(any_op(role));
            }
            for (std::uint32_t n = dice_.between(0u, 8u); n > 0; --n) {
                const SlotOp waiting = any_op(role);
                const SlotOp target = any_op(role);
                role.slots[waiting.slot].waits.push_back(
                    {waiting.op, target.slot, target.op, true});
            }
        }
    }

    Dice dice_;
    RandomCase case_;
    std::uint32_t num_streams_ = 1;
    std::vector<GroupId> role_groups_;  // whose members have one role
    std::vector<GroupId> wide_groups_;  // that all roles take part in
    GroupId ends_group_{};              // of the first and the last role
    std::vector<Block> blocks_;
    Block block_;                             // under construction
    std::optional<std::uint32_t> lone_role_;  // the only one with a part in this block
};

}  // namespace

SimulationInput RandomCase::input(bool fold, bool trace_all) const {
    SimulationInput input{.program = &program,
                          .network = network.get(),
                          .devices = devices,
                          .device_class = device_class,
                          .launch_cost = launch_cost,
                          .steps = options.steps};
    input.accelerations.fold(fold);
    input.accelerations.step_barrier = false;
    for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
        if (trace_all || r == 0 || r + 1 == program.num_ranks()) {
            input.traced_ranks.push_back(to_id<RankId>(r));
        }
    }
    return input;
}

std::string RandomCase::describe() const {
    std::string text = fmt::format("seed {}: {} ranks,", options.seed, program.num_ranks());
    for (const MeshDigit& axis : program.mesh().digits()) {
        text += fmt::format(" {} {}", axis.name, axis.size);
    }
    const auto slow = std::ranges::find(device_class, 1);
    if (slow != device_class.end()) {
        text += fmt::format(", slow rank {}", slow - device_class.begin());
    }
    return text + fmt::format(", {} streams, {}{}, {} ops, launch {} ps",
                              program.stream_names.size(),
                              network_shape.hashed ? "hashed" : "by place",
                              network_shape.contention ? "" : ", no contention",
                              num_ops(program),
                              launch_cost.picoseconds());
}

RandomCase random_case(const RandomCaseOptions& options) {
    return Generator{options}.run();
}

}  // namespace orrery::reference
