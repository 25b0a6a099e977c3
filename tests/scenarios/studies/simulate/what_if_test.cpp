// SPDX-License-Identifier: Apache-2.0
// A step is the longest chain of ops. With a cause at zero the old chain is as long as it was less
// that cause's part of it, so no more can be saved; except that ops which slow each other (kernels
// beside communication, transfers that share links) may gain up to what they lost by that. Turned
// around, the same bounds what a step can lose. Both hold to the picosecond for the first step, of
// which nothing comes before.
#include "scenarios/studies/simulate/what_if.h"

#include <gtest/gtest.h>

#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/each_small_scenario.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace what_if_test {

Answer answer_of(const Scenario& scenario, std::optional<Cause> without = {}) {
    SimulationOptions options;
    options.without = without;
    options.step_table = EfficiencyTable{};  // noise is in every kernel and in no op of the path
    auto answer = simulate_scenario(scenario, options);
    EXPECT_TRUE(answer) << scenario.name << ": " << answer.error().to_string();
    return *std::move(answer);
}

Time mutual(const Answer& answer) {
    return answer.critical_path[Cause::interference] +
           answer.critical_path[Cause::network_contention];
}

class WhatIf : public EachSmallScenario {
protected:
    Scenario first_step() const {
        Scenario first = scenario;
        first.job.steps = 1;
        return first;
    }
};

TEST_P(WhatIf, ACauseAtZeroSavesAtMostItsPartOfTheCriticalPath) {
    const Scenario first = first_step();
    const Answer before = answer_of(first);
    EXPECT_EQ(before.critical_path.total(), before.iteration);
    for (std::size_t c = 0; c < kNumCauses; ++c) {
        const auto cause = static_cast<Cause>(c);
        const Answer after = answer_of(first, cause);
        const bool is_mutual = cause == Cause::interference || cause == Cause::network_contention;
        const Time part = is_mutual ? Time{} : before.critical_path[cause];
        EXPECT_LE(before.iteration - after.iteration, part + mutual(before)) << name(cause);
        EXPECT_LE(after.iteration - before.iteration, mutual(after)) << name(cause);
    }
}

TEST_P(WhatIf, NothingOfACauseAtZeroIsLeftOnTheCriticalPath) {
    const Scenario first = first_step();
    for (const Cause cause : {Cause::gemm_inefficiency,
                              Cause::attention_inefficiency,
                              Cause::memory_bound_kernels,
                              Cause::recomputation,
                              Cause::optimizer,
                              Cause::exposed_tensor,
                              Cause::exposed_context,
                              Cause::exposed_data,
                              Cause::exposed_pipeline,
                              Cause::exposed_other,
                              Cause::network_contention,
                              Cause::interference,
                              Cause::launch}) {
        EXPECT_EQ(answer_of(first, cause).critical_path[cause], Time{}) << name(cause);
    }
}

// What takes a tenth of the critical path or more is worth removing: at least a third of it is
// saved (other chains are as long as the rest).
TEST_P(WhatIf, ACauseThatTakesMuchIsConfirmed) {
    const Answer before = answer_of(scenario);
    int confirmed = 0;
    for (std::size_t c = 0; c < kNumCauses; ++c) {
        const auto cause = static_cast<Cause>(c);
        const Time part = before.critical_path[cause];
        if (cause == Cause::useful_compute || part * 10 < before.iteration) {
            continue;
        }
        ++confirmed;
        EXPECT_GE((before.iteration - answer_of(scenario, cause).iteration) * 3, part)
            << name(cause);
    }
    EXPECT_GT(confirmed, 0);
}

// The waterfall's communication is what kernels don't hide: that much is saved without it. (Not so
// its kernels: where communication sets the pace, faster ones only wait longer.)
TEST_P(WhatIf, CommunicationOfTheWaterfallIsConfirmed) {
    const Answer before = answer_of(scenario);
    for (const LostMfu& lost : before.lost_mfu) {
        const bool communicates =
            lost.cause >= Cause::exposed_tensor && lost.cause <= Cause::network_contention;
        if (communicates && lost.mfu > 0.01) {
            const Time saved = before.iteration - answer_of(scenario, lost.cause).iteration;
            EXPECT_GE(saved * 3, lost.time) << name(lost.cause);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All,
                         WhatIf,
                         ::testing::ValuesIn(named_small_scenarios()),
                         [](const auto& named) { return test_name(named.param); });

// All ranks do the same, one op after the other: what a cause takes is what it costs.
TEST(WhatIfInARow, ACauseAtZeroSavesAllOfItsPart) {
    for (const char* recompute : {"none", "full"}) {
        const Scenario scenario = small_scenario(
            "dp", {"plan.recompute_granularity=" + std::string{recompute}, "job.steps=3"});
        const Answer before = answer_of(scenario);
        int causes = 0;
        for (const LostMfu& lost : before.lost_mfu) {
            // Kernels that take no time are launched too late.
            if (lost.cause == Cause::counted_not_executed ||
                lost.cause == Cause::memory_bound_kernels) {
                continue;
            }
            ++causes;
            const Answer after = answer_of(scenario, lost.cause);
            EXPECT_EQ(before.iteration - after.iteration, lost.time) << name(lost.cause);
        }
        EXPECT_GE(causes, 5);
    }
}

TEST(WhatIfInAPipeline, MessagesThatTakeNoTimeStillWaitForTheirSender) {
    const Scenario scenario =
        small_scenario("pp", {"plan.pipeline_model_parallel_size=8", "plan.global_batch_size=2"});
    const Answer after = answer_of(scenario, Cause::exposed_pipeline);
    EXPECT_EQ(after.critical_path[Cause::exposed_pipeline], Time{});
    // One micro-batch goes through eight stages in turn: seven eighths of the step are bubble.
    const Answer alone = answer_of(
        small_scenario("pp", {"plan.pipeline_model_parallel_size=1", "plan.global_batch_size=16"}));
    EXPECT_GT(after.critical_path[Cause::useful_compute] * 100,
              alone.critical_path[Cause::useful_compute] * 99);
}

Program two_collectives() {
    Program program;
    program.collectives = {{.bytes = Bytes{100}}};
    program.send_recvs = {{.parts = {{.bytes = Bytes{7}}, {.bytes = Bytes{8}}}}};
    program.kernels.resize(1);
    const auto op = [](OpKind kind, Cause cause) {
        return Op{.payload = {kind, 0}, .cause = cause};
    };
    program.segments = {{"s",
                         {op(OpKind::collective, Cause::exposed_data),
                          op(OpKind::collective, Cause::exposed_tensor),
                          op(OpKind::collective, Cause::exposed_data),
                          op(OpKind::send_recv, Cause::exposed_pipeline),
                          op(OpKind::kernel, Cause::gemm_inefficiency),
                          op(OpKind::kernel, Cause::recomputation)}}};
    return program;
}

TEST(ProgramWithout, TakesTheBytesOfOneCauseAndKeepsTheOps) {
    const Program program = two_collectives();
    const Program no_data = program_without(program, Cause::exposed_data);
    const auto& ops = no_data.segments[0].ops;
    ASSERT_EQ(no_data.collectives.size(), 2U);
    EXPECT_EQ(no_data.collective(ops[0]).bytes, Bytes{});
    EXPECT_EQ(no_data.collective(ops[1]).bytes, Bytes{100});
    EXPECT_EQ(ops[0].payload, ops[2].payload);
    EXPECT_EQ(ops[0].kind(), OpKind::collective);
    EXPECT_EQ(no_data.send_recvs, program.send_recvs);
    const Program no_pipeline = program_without(program, Cause::exposed_pipeline);
    const Op& message = no_pipeline.segments[0].ops[3];
    for (const SendRecvPart& part : no_pipeline.send_recv(message).parts) {
        EXPECT_EQ(part.bytes, Bytes{});
    }
    EXPECT_EQ(no_pipeline.collectives, program.collectives);
    EXPECT_EQ(no_pipeline.segments[0].ops[4].payload.number(), 0U);
    EXPECT_EQ(program.collectives.size(), 1U);
    EXPECT_EQ(program.collectives[0].bytes, Bytes{100});
}

TEST(ProgramWithout, TakesTheBytesOfCopies) {
    Program program = two_collectives();
    program.copies = {{.bytes = Bytes{9}}};
    program.segments[0].ops.push_back({.payload = CopyId{0}, .cause = Cause::exposed_other});
    const Program without = program_without(program, Cause::exposed_other);
    EXPECT_EQ(without.copy(without.segments[0].ops.back()).bytes, Bytes{});
    EXPECT_EQ(without.copies.at(0).bytes, Bytes{9});
}

TEST(RemoveKernelTime, LeavesUsefulWorkAndTheKernelsOfOtherCauses) {
    for (const Cause cause : {Cause::gemm_inefficiency, Cause::recomputation}) {
        const Program program = program_without(two_collectives(), cause);
        ASSERT_EQ(program.kernels.size(), 2U);
        const KernelTime time{.duration = Time::picoseconds(10), .ideal = Time::picoseconds(6)};
        DeviceTimings timings{.kernels = {time, time}};
        remove_kernel_time(program, cause, timings);
        EXPECT_EQ(timings.kernels[0].duration, Time::picoseconds(10)) << name(cause);
        EXPECT_EQ(timings.kernels[1].duration,
                  Time::picoseconds(cause == Cause::recomputation ? 0 : 6));
        EXPECT_EQ(timings.kernels[1].ideal, timings.kernels[1].duration);
    }
}

}  // namespace what_if_test
}  // namespace orrery
