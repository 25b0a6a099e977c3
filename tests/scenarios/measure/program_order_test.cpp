// SPDX-License-Identifier: Apache-2.0
#include "scenarios/measure/program_order.h"

#include <gtest/gtest.h>

#include "engine/verifier.h"
#include "models/lowering.h"
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

TEST(ProgramOrder, IsThatOfCpus) {
    DeviceSpec device;
    device.generation = "cpu";
    EXPECT_TRUE(runs_in_program_order(device));
    device.generation = "hopper";
    EXPECT_FALSE(runs_in_program_order(device));
}

}  // namespace
}  // namespace orrery
