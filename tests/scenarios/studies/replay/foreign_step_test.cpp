// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/replay/foreign_step.h"

#include <gtest/gtest.h>

#include "engine/program/verifier.h"

namespace orrery {
namespace {

using Kind = ForeignOp::Kind;

ForeignStep two_ranks() {
    ForeignStep step;
    step.ranks.resize(2);
    step.ranks[0] = {{.kind = Kind::compute, .id = 5, .name = "a", .duration = Time::seconds(1)},
                     {.kind = Kind::send, .id = 7, .bytes = Bytes{8}, .peer = 1, .after = {5}}};
    step.ranks[1] = {{.kind = Kind::compute, .id = 9, .name = "b", .after = {4}, .where = "x"},
                     {.kind = Kind::receive, .id = 4, .bytes = Bytes{8}, .peer = 0}};
    return step;
}

TEST(ForeignStep, BecomesAProgramThatVerifies) {
    const auto program = program_of(two_ranks());
    ASSERT_TRUE(program) << program.error().front().to_string();
    EXPECT_TRUE(verify(*program).empty()) << verify(*program).front().to_string();
    EXPECT_EQ(program->num_ranks(), 2u);
    // What is waited for comes first, whatever the ids say.
    EXPECT_EQ(program->segments[1].ops[0].kind(), OpKind::send_recv);
    EXPECT_EQ(program->segments[1].ops[1].kind(), OpKind::host);
}

TEST(ForeignStep, MistakesAreToldAtTheirNodes) {
    const auto error = [](auto change) {
        ForeignStep step = two_ranks();
        change(step);
        const auto program = program_of(step);
        return program ? std::string{} : program.error().front().what;
    };
    EXPECT_EQ(error([](ForeignStep& s) { s.ranks[1][1].after = {9}; }),
              "waits for itself in a circle");
    EXPECT_EQ(error([](ForeignStep& s) { s.ranks[1][0].after = {3}; }),
              "waits for 3, which is not there");
    EXPECT_EQ(error([](ForeignStep& s) { s.ranks[0][1].peer = 8; }), "rank 8 can't be its peer");
    EXPECT_EQ(error([](ForeignStep& s) { s.ranks[0][1].id = 5; }), "the id 5 is there twice");
    EXPECT_EQ(error([](ForeignStep& s) {
                  s.ranks[0][1] = {.kind = Kind::collective, .id = 7, .group = "tp"};
              }),
              "pg_name: there is no group 'tp'");
    EXPECT_EQ(error([](ForeignStep& s) { s.ranks.clear(); }), "there are no ranks");
}

// A ring in which every rank sends before it receives, as ASTRA-sim's custom collectives have it.
TEST(ForeignStep, AReceiveDoesNotWaitUntilASmallSendHasArrived) {
    ForeignStep ring;
    ring.ranks.resize(2);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        ring.ranks[rank] = {
            {.kind = Kind::compute, .id = 0},
            {.kind = Kind::send, .id = 1, .bytes = Bytes{4 << 20}, .peer = 1 - rank, .after = {0}},
            {.kind = Kind::receive,
             .id = 2,
             .bytes = Bytes{4 << 20},
             .peer = 1 - rank,
             .after = {1}}};
    }
    const auto waited_for = [](const ForeignStep& step) {
        const auto program = program_of(step);
        EXPECT_TRUE(program) << program.error().front().to_string();
        const Op& receive = program->segments[0].ops[2];
        EXPECT_EQ(receive.num_waits, 1u);
        return program->waits[receive.first_wait];
    };
    EXPECT_EQ(waited_for(ring), 0u);
    for (auto& ops : ring.ranks) {
        ops[1].bytes = ops[2].bytes = Bytes{(4 << 20) + 1};
    }
    EXPECT_EQ(waited_for(ring), 1u);  // both must be there
}

}  // namespace
}  // namespace orrery
