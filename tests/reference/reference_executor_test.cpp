// SPDX-License-Identifier: Apache-2.0
// Programs small enough to work out by hand, at least one for each rule of
// engine/world/simulation.h.
#include "tests/reference/reference_executor.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "tests/reference/max_min.h"
#include "tests/reference/program_builder.h"

namespace orrery::reference {
namespace {

using namespace orrery::literals;

constexpr StreamId kCompute = to_id<StreamId>(0);
constexpr StreamId kNet = to_id<StreamId>(1);

// Answers what the test wrote down.
class ScriptedNetwork final : public NetworkModel {
public:
    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override {
        return std::holds_alternative<SendCall>(call)   ? sends.at({members[0], members[1]})
               : std::holds_alternative<CopyCall>(call) ? copies.at(members[0])
                                                        : collective;
    }
    std::span<const LinkInfo> links() const override { return link_table; }
    std::span<const std::string> link_class_names() const override { return class_names; }
    bool has_contention() const override { return contention; }

    TransferPlan collective;
    std::map<std::pair<RankId, RankId>, TransferPlan> sends;
    std::map<RankId, TransferPlan> copies;
    std::vector<LinkInfo> link_table;
    std::vector<std::string> class_names{"link"};
    bool contention = true;
};

// To the next rank along pp, and from the one before; the script holds the bytes.
SendRecvPart send() {
    return {.is_send = true, .digit = 1, .delta = 1, .bytes = {}};
}
SendRecvPart receive() {
    return {.is_send = false, .digit = 1, .delta = -1, .bytes = {}};
}

TransferPart part_over(std::vector<std::uint32_t> links, Bytes bytes, Bandwidth rate_max = {}) {
    TransferPart part{.bytes = bytes, .rate_max = rate_max};
    for (const std::uint32_t link : links) {
        part.footprint.push_back({.link = to_id<LinkId>(link)});
    }
    return part;
}

TransferPlan one_phase(Time latency, std::vector<TransferPart> parts, std::uint32_t sms = 0) {
    return {.phases = {{.latency = latency, .parts = std::move(parts)}}, .sms = sms};
}

// A program of `roles` roles with one rank each (or `ranks` each), one segment and slot a role.
struct Bench {
    explicit Bench(std::uint32_t roles, std::uint32_t ranks_per_role = 1) {
        program.parties.front().mesh = Mesh{{{"dp", ranks_per_role}, {"pp", roles}}};
        program.parties.front().role_digit = 1;
        program.groups = {{.name = "dp", .digits = 1}, {.name = "pp", .digits = 2}};
        for (std::uint32_t r = 0; r < roles; ++r) {
            program.segments.push_back({});
            program.roles.push_back({.name = "", .slots = {{.segment = to_id<SegmentId>(r)}}});
        }
        input.steps = 1;
        input.devices.resize(1);
        for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
            input.traced_ranks.push_back(to_id<RankId>(r));
        }
    }

    using Waits = std::vector<std::uint32_t>;

    std::uint32_t add(std::uint32_t role, Op op, const Waits& waits) {
        return append_op(program, to_id<SegmentId>(role), op, waits);
    }
    std::uint32_t kernel(std::uint32_t role,
                         Time duration,
                         StreamId stream = kCompute,
                         const Waits& waits = {},
                         std::uint32_t sensitivity = 1000) {
        program.kernels.push_back({});
        const std::uint32_t id = append(
            input.devices[0].kernels,
            {.duration = duration, .ideal = duration, .sm_sensitivity_permille = sensitivity});
        return add(role, {.payload = KernelId{id}, .stream = stream}, waits);
    }
    std::uint32_t collective(std::uint32_t role, GroupId group, const Waits& waits = {}) {
        const std::uint32_t id = append(program.collectives, {.group = group, .bytes = 1_B});
        return add(role, {.payload = CollectiveId{id}, .stream = kNet}, waits);
    }
    std::uint32_t send_recv(std::uint32_t role,
                            std::vector<SendRecvPart> parts,
                            StreamId stream = kNet) {
        const std::uint32_t id = append(program.send_recvs, {.parts = std::move(parts)});
        return add(role, {.payload = SendRecvId{id}, .stream = stream}, {});
    }

    SimulationResult run() {
        input.program = &program;
        input.network = &network;
        SimulationOutcome outcome = reference_simulate(input);
        EXPECT_TRUE(outcome.has_value()) << outcome.error().to_string();
        return outcome ? *outcome : SimulationResult{};
    }

    Program program;
    ScriptedNetwork network;
    SimulationInput input;
};

TracedOp traced(const SimulationResult& result,
                std::uint32_t rank,
                std::uint32_t op,
                std::uint32_t step = 0) {
    for (const TracedOp& t : result.trace) {
        if (t.rank == to_id<RankId>(rank) && t.op == op && t.step == step) {
            return t;
        }
    }
    ADD_FAILURE() << "no op " << op << " of rank " << rank << " in the trace";
    return {};
}

constexpr GroupId kDp = to_id<GroupId>(0);
constexpr GroupId kPp = to_id<GroupId>(1);

TEST(ReferenceStreams, KernelsOfAStreamFollowEachOther) {
    Bench bench{1};
    bench.kernel(0, 3_ns);
    bench.kernel(0, 4_ns);
    bench.kernel(0, 5_ns, kNet);
    const SimulationResult result = bench.run();
    EXPECT_EQ(traced(result, 0, 1).start, 3_ns);
    EXPECT_EQ(traced(result, 0, 1).end, 7_ns);
    EXPECT_EQ(traced(result, 0, 2).start, 0_ns);
    EXPECT_EQ(result.iteration, 7_ns);
    EXPECT_EQ(result.simulated_ops, 3);
}

TEST(ReferenceWaits, HoldAnOpOfAnotherStreamUntilTheLastOneEnds) {
    Bench bench{1};
    const std::uint32_t a = bench.kernel(0, 3_ns);
    const std::uint32_t b = bench.kernel(0, 4_ns);
    const std::uint32_t c = bench.kernel(0, 5_ns, kNet, {a, b});
    EXPECT_EQ(traced(bench.run(), 0, c).start, 7_ns);
}

TEST(ReferenceWaits, AcrossSlotsNameTheSlotsOp) {
    Bench bench{1};
    const std::uint32_t a = bench.kernel(0, 3_ns);
    bench.kernel(0, 4_ns, kNet);
    Slot again = bench.program.roles[0].slots[0];
    again.waits = {{.op = 1, .slot = 0, .slot_op = a}, {.op = 1, .slot = 1, .slot_op = a}};
    bench.program.roles[0].slots.push_back(again);
    const SimulationResult result = bench.run();
    EXPECT_EQ(result.trace.back().slot, 1u);  // the second kNet kernel starts last
    EXPECT_EQ(result.trace.back().start, 6_ns);
    EXPECT_EQ(result.iteration, 10_ns);
}

TEST(ReferenceHost, LaunchesInProgramOrderEvenAcrossStreams) {
    Bench bench{1};
    bench.kernel(0, 1_ns);
    bench.kernel(0, 30_ns, kNet);
    bench.kernel(0, 1_ns);
    bench.program.segments[0].ops[1].launches = 3;
    bench.input.launch_cost = 10_ns;
    bench.input.steps = 2;
    const SimulationResult result = bench.run();
    EXPECT_EQ(traced(result, 0, 0).start, 10_ns);
    EXPECT_EQ(traced(result, 0, 1).start, 40_ns);
    EXPECT_EQ(traced(result, 0, 2).start, 50_ns);
    EXPECT_EQ(traced(result, 0, 0, 1).start, 80_ns);  // the last op of step 0 ended at 70
    EXPECT_EQ(result.iteration, 70_ns);
}

TEST(ReferenceCollectives, StartWithTheLastMemberAndEndForAllTogether) {
    Bench bench{2};
    bench.network.link_table = {{.capacity = 8_GBps}};  // 1000 bytes: 125 ns
    bench.network.collective =
        one_phase(7_ns, {part_over({0}, Bytes{1000}), part_over({}, Bytes{0})});
    bench.kernel(0, 5_ns);
    bench.collective(0, kPp, {0});
    bench.kernel(1, 20_ns);
    bench.collective(1, kPp, {0});
    const SimulationResult result = bench.run();
    EXPECT_EQ(traced(result, 0, 1).start, 5_ns);
    EXPECT_EQ(traced(result, 1, 1).start, 20_ns);
    for (const std::uint32_t rank : {0u, 1u}) {
        EXPECT_EQ(traced(result, rank, 1).data_start, 20_ns);
        EXPECT_EQ(traced(result, rank, 1).end, 152_ns);
    }
    EXPECT_EQ(result.slowest_rank, to_id<RankId>(0));
}

TEST(ReferenceCollectives, RunTheirPhasesOneAfterTheOtherEachUntilItsLastPart) {
    Bench bench{1, 2};
    bench.network.link_table = {{.capacity = 8_GBps}, {.capacity = 4_GBps}};
    bench.network.collective.phases = {
        {.latency = 1_ns, .parts = {part_over({0}, 80_B), part_over({1}, 80_B)}},  // 10, 20 ns
        {.latency = 2_ns},
        {.latency = 3_ns, .parts = {part_over({0, 1}, 40_B, 2_GBps)}}};  // 20 ns
    bench.collective(0, kDp);
    EXPECT_EQ(bench.run().iteration, 46_ns);
}

TEST(ReferenceCollectives, OfOneRankEndOnArrival) {
    Bench bench{1};
    bench.kernel(0, 5_ns);
    bench.collective(0, kDp, {0});
    const SimulationResult result = bench.run();
    EXPECT_EQ(traced(result, 0, 1).start, 5_ns);
    EXPECT_EQ(traced(result, 0, 1).end, 5_ns);
}

TEST(ReferenceCollectives, MatchByTheirNumberOnTheGroup) {
    Bench bench{1, 2};
    bench.network.collective = one_phase(10_ns, {});
    bench.collective(0, kDp);
    bench.collective(0, kDp);
    bench.input.steps = 2;
    EXPECT_EQ(bench.run().step_end, (std::vector<Time>{20_ns, 40_ns}));
}

// Both cross the link of 8 GB/s: 4 GB/s each. 800 bytes end at 200 ns; by then the other one has
// 800 of its 1600 bytes left and takes 100 ns for them.
TEST(ReferenceSends, ShareALinkAndSpeedUpWhenOneEnds) {
    Bench bench{4};
    bench.network.link_table = {{.capacity = 8_GBps}};
    const auto rank = [](std::uint32_t r) { return to_id<RankId>(r); };
    bench.network.sends = {{{rank(0), rank(1)}, one_phase(0_ns, {part_over({0}, 800_B)})},
                           {{rank(2), rank(3)}, one_phase(0_ns, {part_over({0}, 1600_B)})}};
    for (const std::uint32_t r : {0u, 2u}) {
        bench.send_recv(r, {send()});
        bench.send_recv(r + 1, {receive()});
    }
    const SimulationResult result = bench.run();
    EXPECT_EQ(traced(result, 0, 0).end, 200_ns);
    EXPECT_EQ(traced(result, 1, 0).end, 200_ns);
    EXPECT_EQ(traced(result, 3, 0).end, 300_ns);
    bench.network.contention = false;
    const SimulationResult alone = bench.run();
    EXPECT_EQ(traced(alone, 0, 0).end, 100_ns);
    EXPECT_EQ(traced(alone, 3, 0).end, 200_ns);
}

// Rank 0 exchanges with rank 1, which sends 30 ns after it has begun to receive.
TEST(ReferenceSends, PartsRunOnTheirOwnAndTheOpEndsWithTheLast) {
    Bench bench{2};
    bench.network.sends = {
        {{to_id<RankId>(0), to_id<RankId>(1)}, one_phase(10_ns, {})},
        {{to_id<RankId>(1), to_id<RankId>(0)}, one_phase(15_ns, {})},
    };
    bench.send_recv(0, {send(), receive()});
    bench.send_recv(1, {receive()});
    bench.kernel(1, 30_ns);
    bench.send_recv(1, {send()}, kCompute);
    const SimulationResult result = bench.run();
    EXPECT_EQ(traced(result, 1, 0).end, 10_ns);
    EXPECT_EQ(traced(result, 1, 2).data_start, 30_ns);
    EXPECT_EQ(traced(result, 0, 0).end, 45_ns);
}

// The scripted network would fail if it were asked for such a send.
TEST(ReferenceSends, ToTheRankItselfEndWhenBothSidesHaveArrived) {
    Bench bench{1};
    bench.send_recv(0, {send()});
    bench.kernel(0, 30_ns);
    bench.send_recv(0, {receive()}, kCompute);
    const SimulationResult result = bench.run();
    EXPECT_EQ(traced(result, 0, 0).end, 30_ns);
    EXPECT_EQ(traced(result, 0, 2).end, 30_ns);
}

TEST(ReferenceSends, WithoutAReceiverAreNoProgress) {
    Bench bench{2};
    bench.network.sends = {{{to_id<RankId>(0), to_id<RankId>(1)}, one_phase(10_ns, {})}};
    bench.send_recv(0, {send()});
    bench.input.program = &bench.program;
    bench.input.network = &bench.network;
    const SimulationOutcome outcome = reference_simulate(bench.input);
    ASSERT_FALSE(outcome.has_value());
    EXPECT_NE(outcome.error().what.find("rank 0 step 0 slot 0 op 0"), std::string::npos);
}

// 25 of 100 SMs are held until 400 ns: three quarters of the rate. By then 300 of 1000 ns are done.
TEST(ReferenceInterference, SlowsKernelsByTheSmsThatCommunicationHolds) {
    Bench bench{1, 2};
    bench.input.devices[0].num_sms = 100;
    bench.network.collective = one_phase(400_ns, {}, 25);
    bench.kernel(0, 1000_ns);
    bench.collective(0, kDp);
    const SimulationResult result = bench.run();
    EXPECT_EQ(traced(result, 0, 0).end, 1100_ns);
}

TEST(ReferenceInterference, CountsFromArrivalAndByTheKernelsSensitivity) {
    Bench bench{2};
    bench.input.devices[0].num_sms = 100;
    bench.network.collective = one_phase(100_ns, {}, 50);
    bench.collective(0, kPp);                     // 0 … 500 ns, 400 of them waiting
    bench.kernel(0, 1000_ns, kCompute, {}, 500);  // 3/4 of its rate
    bench.kernel(1, 400_ns);
    bench.collective(1, kPp, {0});
    const SimulationResult result = bench.run();
    EXPECT_EQ(traced(result, 0, 0).end, 500_ns);
    EXPECT_EQ(traced(result, 0, 1).end, 1125_ns);
}

TEST(ReferenceInterference, NeverTakesMoreThanThreeQuartersOfTheDevice) {
    Bench bench{1, 2};
    bench.input.devices[0].num_sms = 100;
    bench.network.collective = one_phase(400_ns, {}, 96);
    bench.kernel(0, 1000_ns);
    bench.collective(0, kDp);
    EXPECT_EQ(traced(bench.run(), 0, 0).end, 1300_ns);
}

TEST(ReferenceQueues, HoldCommunicationBackUntilEarlierKernelsEnd) {
    Bench bench{1, 2};
    bench.input.devices[0].num_sms = 100;
    bench.input.devices[0].communication_queues = true;
    bench.network.collective = one_phase(400_ns, {}, 50);
    bench.kernel(0, 1000_ns);
    bench.collective(0, kDp);
    bench.kernel(0, 1000_ns);
    const SimulationResult result = bench.run();
    EXPECT_EQ(traced(result, 0, 0).end, 1000_ns);
    EXPECT_EQ(traced(result, 0, 1).start, 1000_ns);
    EXPECT_EQ(traced(result, 0, 1).end, 1400_ns);
    EXPECT_EQ(traced(result, 0, 2).end, 2200_ns);  // half of the SMs for 400 ns
}

TEST(ReferenceInterference, RoundsTheEndUpToAWholePicosecond) {
    Bench bench{1, 2};
    bench.input.devices[0].num_sms = 3;
    bench.network.collective = one_phase(1_ns, {}, 1);
    bench.kernel(0, 10_ps);
    bench.collective(0, kDp);
    // rate = 2^20 - floor(2^20/3) = 699051; 10 * 2^20 / 699051 = 14.99999
    EXPECT_EQ(traced(bench.run(), 0, 0).end, 15_ps);
}

TEST(ReferenceDevices, EachClassHasItsOwnTimes) {
    Bench bench{1, 2};
    bench.kernel(0, 10_ns);
    bench.input.devices.push_back(bench.input.devices[0]);
    bench.input.devices[1].kernels[0].duration = 13_ns;
    bench.input.device_class = {0, 1};
    const SimulationResult result = bench.run();
    EXPECT_EQ(traced(result, 0, 0).end, 10_ns);
    EXPECT_EQ(traced(result, 1, 0).end, 13_ns);
    EXPECT_EQ(result.slowest_rank, to_id<RankId>(1));
}

TEST(ReferenceHost, WorkTakesItsDurationAndARestartTheDevices) {
    Bench bench{1};
    bench.input.devices[0].restart = 8_ns;
    bench.program.host_works = {{.duration = 5_ns}, {.kind = HostWorkKind::restart}};
    bench.add(0, {.payload = HostWorkId{0}}, {});
    bench.add(0, {.payload = HostWorkId{1}}, {});
    EXPECT_EQ(bench.run().iteration, 13_ns);
}

// Two flows of 3 and 1 units on a link of 100 bit/s; the second also crosses one of 7 bit/s.
TEST(ReferenceMaxMin, GivesTheRestToWhoIsNotHeldElsewhere) {
    const std::vector<LinkInfo> links{{.capacity = Bandwidth::bits_per_second(100)},
                                      {.capacity = Bandwidth::bits_per_second(7)}};
    const std::vector<LinkShare> first{{.link = to_id<LinkId>(0), .count = 3}};
    const std::vector<LinkShare> second{{.link = to_id<LinkId>(0)}, {.link = to_id<LinkId>(1)}};
    const std::vector<MaxMinFlow> flows{{.footprint = first}, {.footprint = second}};
    EXPECT_EQ(max_min_rates(links, flows), (std::vector<std::int64_t>{31, 7}));  // (100 - 7) / 3
    EXPECT_EQ(lone_rate(links, flows[0]), 33);
}

TEST(ReferenceMaxMin, TreatsACapAsALinkOfItsOwn) {
    const std::vector<LinkInfo> links{{.capacity = Bandwidth::bits_per_second(100)}};
    const std::vector<LinkShare> share{{.link = to_id<LinkId>(0)}};
    const std::vector<MaxMinFlow> flows{
        {.footprint = share, .rate_max = Bandwidth::bits_per_second(20)},
        {.footprint = share},
        {.footprint = share},
        {.footprint = {}, .rate_max = Bandwidth::bits_per_second(5)}};
    EXPECT_EQ(max_min_rates(links, flows), (std::vector<std::int64_t>{20, 40, 40, 5}));
}

}  // namespace
}  // namespace orrery::reference
