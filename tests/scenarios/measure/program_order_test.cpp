// SPDX-License-Identifier: Apache-2.0
#include "scenarios/measure/program_order.h"

#include <gtest/gtest.h>

#include "engine/verifier.h"
#include "models/lowering.h"
#include "runtime/rank_program.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

TEST(ProgramOrder, OnlyMessagesThatAreSentStayBesideTheOthers) {
    for (const Scenario& scenario : small_scenarios()) {
        Program program = lower(scenario.model, scenario.plan);
        const Program before = program;
        put_in_program_order(program);
        for (std::size_t s = 0; s < program.segments.size(); ++s) {
            for (std::size_t o = 0; o < program.segments[s].ops.size(); ++o) {
                const Op& op = program.segments[s].ops[o];
                bool receives = op.kind != OpKind::send_recv;
                if (op.kind == OpKind::send_recv) {
                    for (const SendRecvPart& part : program.send_recvs[op.payload].parts) {
                        receives = receives || !part.is_send;
                    }
                }
                EXPECT_EQ(op.stream, receives ? StreamId{0} : before.segments[s].ops[o].stream);
            }
        }
    }
}

TEST(ProgramOrder, CountsWhatTheExecutorClears) {
    const Scenario scenario = small_scenario("s", {});
    const Program program = lower(scenario.model, scenario.plan);
    const RankProgram rank{program, RankId{0}};
    std::int64_t bytes = 0;
    for (const TensorView& view : rank.zero_before_step()) {
        bytes += view.size * size_bytes(view.dtype);
    }
    EXPECT_EQ(cleared_bytes(program, program.role_of(RankId{0})), Bytes{bytes});
    EXPECT_GT(bytes, 0);
}

TEST(ProgramOrder, IsThatOfCpus) {
    DeviceSpec device;
    device.generation = "cpu";
    EXPECT_TRUE(runs_in_program_order(device));
    device.generation = "hopper";
    EXPECT_FALSE(runs_in_program_order(device));
}

}  // namespace
}  // namespace orrery
