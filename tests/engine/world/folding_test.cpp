// SPDX-License-Identifier: Apache-2.0
// Who folds with whom. That folded runs give the very same times is agreement_test's matter.
#include "engine/world/folding.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/world/simulated_executor.h"
#include "engine/world/time_alone.h"
#include "tests/engine/naive_rates.h"
#include "tests/engine/program_builder.h"
#include "tests/engine/random_program.h"
#include "tests/engine/toy_network.h"

namespace orrery {
namespace {

using namespace orrery::literals;

struct Planned {
    Tapes tapes;
    Transfers transfers;

    explicit Planned(const SimulationInput& input)
        : tapes(build_tapes(*input.program, input.launch_cost)),
          transfers(plan_transfers(*input.program, tapes, *input.network)) {
        time_messages_alone(*input.network, transfers);
    }
};

Partition fold(const SimulationInput& input) {
    const Planned planned(input);
    return coarsest_partition(input, planned.transfers);
}

// 4 data-parallel copies of 2 stages: all-reduce of each stage, a message from stage to stage.
ProgramBuilder two_stages() {
    ProgramBuilder b({{"dp", 4}, {"pp", 2}});
    const GroupId dp = b.group("dp", 1);
    for (std::uint32_t stage = 0; stage < 2; ++stage) {
        b.role(stage).kernel(5_ns);
        b.collective(dp, 1000_B, kNet, {0});
        b.exchange({{stage == 0, 1, stage == 0 ? 1 : -1, -1, 500_B, 0}}, kOther);
    }
    return b;
}

ToyNetworkSpec narrow_uplinks() {
    ToyNetworkSpec spec;
    spec.num_ranks = 8;
    spec.ranks_per_node = 2;
    spec.uplinks = 2;
    spec.port_bps = 100'000'000'000;
    spec.uplink_bps = 30'000'000'000;
    return spec;
}

TEST(Folding, LeavesOneClassPerRoleInASymmetricCluster) {
    const ProgramBuilder b = two_stages();
    ToyNetworkSpec spec = narrow_uplinks();
    spec.ranks_per_node = 1;
    spec.uplinks = 1;
    const ToyNetwork network(spec);
    const Partition partition = fold(b.input(network));
    EXPECT_EQ(partition.rank_classes, 2u);
    EXPECT_EQ(partition.class_of_rank, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(Folding, ASlowRankSplitsThoseItMeets) {
    ProgramBuilder b({{"tp", 2}, {"dp", 4}, {"pp", 1}});
    b.kernel(5_ns);
    b.collective(b.group("tp", 1), 1000_B);
    ToyNetworkSpec spec = narrow_uplinks();
    const ToyNetwork network(spec);
    SimulationInput input = b.input(network);
    input.devices.push_back(b.device);
    input.device_class = {0, 0, 0, 1, 0, 0, 0, 0};
    // The slow rank 3, its partner 2, and all others.
    EXPECT_EQ(fold(input).class_of_rank, (std::vector<std::uint32_t>{0, 0, 1, 2, 0, 0, 0, 0}));
}

TEST(Folding, HashedPathsSplitRanks) {
    const ProgramBuilder b = two_stages();
    ToyNetworkSpec spec = narrow_uplinks();
    spec.hashed = true;
    const ToyNetwork network(spec);
    EXPECT_GT(fold(b.input(network)).rank_classes, 2u);
}

TEST(Folding, MessagesKnowTheirTimeAlone) {
    ProgramBuilder b({{"tp", 4}, {"pp", 1}});
    b.collective(b.group("tp", 1), 1000_B, kCompute);
    ToyNetworkSpec spec = narrow_uplinks();
    spec.num_ranks = 4;
    spec.ranks_per_node = 4;
    const ToyNetwork network(spec);
    const ConnectionMessage message = Planned(b.input(network)).transfers.messages.at(0);
    EXPECT_FALSE(message.uncontended);
    // A ring of one pass over the ports, latency by member.
    EXPECT_EQ(message.uncontended_time, 4_us + 80_ns);
    spec.contention = false;
    const ToyNetwork apart(spec);
    EXPECT_TRUE(Planned(b.input(apart)).transfers.messages.at(0).uncontended);
}

// The definition, checked one class at a time and without hashes.
void expect_equitable(const Transfers& transfers,
                      const Partition& partition,
                      std::uint64_t seed) {
    using Signature = std::map<std::vector<std::uint64_t>, std::uint64_t>;
    std::vector<Signature> links(partition.class_of_link.size());
    std::map<std::uint32_t, Signature> of_connection_class;
    for (std::uint32_t c = 0; c < transfers.connections.size(); ++c) {
        const Connection& connection = transfers.connections[ConnectionId{c}];
        Signature own;
        for (const RankId rank : transfers.members_of(connection)) {
            ++own[{partition.class_of_rank[index(rank)]}];
        }
        std::uint64_t position = 0;
        for (std::uint32_t m = 0; m < connection.num_messages; ++m) {
            const ConnectionMessage& message = transfers.messages[connection.first_message + m];
            ++own[{position,
                   message.uncontended,
                   static_cast<std::uint64_t>(message.uncontended_time.picoseconds()),
                   message.sms}];
            for (std::uint32_t i = 0; !message.uncontended && i < message.num_phases; ++i) {
                const Phase& phase = transfers.phases[message.first_phase + i];
                for (std::uint32_t p = 0; p < phase.num_parts; ++p) {
                    const Part& part = transfers.parts[phase.first_part + p];
                    ++position;
                    for (const LinkShare& share : transfers.shares_of(part)) {
                        const std::size_t link = index(share.link);
                        if (part.bytes > Bytes{}) {
                            ++own[{position, share.count, partition.class_of_link[link], 7, 7}];
                            ++links[link]
                                   [{partition.class_of_connection[c], position, share.count}];
                        }
                    }
                }
            }
        }
        const auto [first, added] =
            of_connection_class.try_emplace(partition.class_of_connection[c], own);
        EXPECT_EQ(first->second, own) << "seed " << seed << ", connection " << c;
    }
    std::map<std::uint32_t, Signature> of_link_class;
    for (std::uint32_t l = 0; l < links.size(); ++l) {
        const auto [first, added] = of_link_class.try_emplace(partition.class_of_link[l], links[l]);
        EXPECT_EQ(first->second, links[l]) << "seed " << seed << ", link " << l;
    }
    std::map<std::uint32_t, std::vector<std::uint32_t>> of_rank_class;
    for (std::uint32_t r = 0; r < partition.class_of_rank.size(); ++r) {
        std::vector<std::uint32_t> own;
        const std::size_t end = r + 1 < transfers.first_connection.size()
                                    ? transfers.first_connection[r + 1]
                                    : transfers.connection_of.size();
        for (std::size_t c = transfers.first_connection[r]; c < end; ++c) {
            own.push_back(partition.class_of_connection[index(transfers.connection_of[c])]);
        }
        const auto [first, added] = of_rank_class.try_emplace(partition.class_of_rank[r], own);
        EXPECT_EQ(first->second, own) << "seed " << seed << ", rank " << r;
    }
}

TEST(Folding, IsEquitableOnRandomPrograms) {
    std::uint64_t folded = 0;
    for (std::uint64_t seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
        RandomCase c = random_case(seed, seed % 2 == 0);
        const ToyNetwork network(c.network);
        c.input.program = &c.program;
        c.input.network = &network;
        const Planned planned(c.input);
        const Partition partition = coarsest_partition(c.input, planned.transfers);
        expect_equitable(planned.transfers, partition, seed);
        folded += partition.rank_classes < c.program.num_ranks() ? 1 : 0;
    }
    EXPECT_GT(folded, 100u);
}

TEST(Folding, RepresentativesStandForTheSizeOfTheirClass) {
    const ProgramBuilder b = two_stages();
    ToyNetworkSpec spec = narrow_uplinks();
    spec.ranks_per_node = 1;
    spec.uplinks = 1;
    const ToyNetwork network(spec);
    const SimulationInput input = b.input(network);
    const Planned planned(input);
    NaiveRates rates(network.links());
    const Quotient quotient =
        make_quotient(input,
                      planned.transfers,
                      coarsest_partition(input, planned.transfers),
                      rates);
    ASSERT_EQ(quotient.ranks.size(), 2u);
    EXPECT_EQ(quotient.ranks[RankClassId{1}].representative, RankId{4});
    EXPECT_EQ(quotient.ranks[RankClassId{1}].size, 4u);
    EXPECT_LE(quotient.connections.size(), 3u);
}

}  // namespace
}  // namespace orrery
