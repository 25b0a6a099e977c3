// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/render/report.h"
#include "scenarios/report/study_sections.h"
#include "tests/scenarios/golden_report.h"
#include "tests/scenarios/report/sample_answer.h"

namespace orrery {
namespace {

using namespace literals;

Report of_faults(const Answer& answer) {
    return {.title = "faults", .sections = step_fault_sections(answer)};
}

TEST(StepFaultSections, AStepWithoutFaultsHasNone) {
    EXPECT_TRUE(step_fault_sections(sample_answer("x")).empty());
}

TEST(StepFaultSections, SayWhatTheFaultsCostAndWhoWaits) {
    Answer a = sample_answer("x");
    a.faults.assign(10, "slow_gpu at node:3/gpu:1, 1.1 times as slow");
    a.healthy_iteration = Time::seconds(6);
    CauseTimes waits;
    waits[Cause::exposed_tensor] = 3_ms;
    a.rank_waits = {
        {.rank = RankId{25}, .relation = "the slow GPU", .kernels = 5000_ms, .waits = waits}};
    expect_golden("step_faults", to_text(of_faults(a)));
}

TEST(StepFaultSections, AHangNamesTheRanksThatWaitAndTheOnesThatNeverCame) {
    Answer a = sample_answer("x");
    a.faults = {"gpu_lost at node:0/gpu:0"};
    a.hang = StepHang{.lost = {RankId{0}},
                      .timeout = 600000_ms,
                      .groups = {{.operation = "all_reduce of gradients",
                                  .group = "dp",
                                  .since = 2000_ms,
                                  .waiting = {RankId{1}, RankId{2}},
                                  .missing = {RankId{0}}},
                                 {.operation = "send", .since = 3000_ms, .waiting = {RankId{3}}}}};
    expect_golden("step_hang", to_text(of_faults(a)));
}

TEST(PacketsSection, SaysWhatThePacketsMet) {
    Answer a = sample_answer("x");
    EXPECT_TRUE(packets_section(a).facts.empty());
    a.packets = PacketWindowUse{.whole = false,
                                .begin = 10_ms,
                                .lasts = 5_ms,
                                .fair_iteration = Time::seconds(6),
                                .transfers = 12,
                                .slowdown = 1.05,
                                .slowdown_max = 2.5,
                                .packets = 12'345,
                                .marked = 7,
                                .pauses = 1,
                                .failed = 1,
                                .paused_max = 3_us,
                                .queue_max = 3_KiB,
                                .queue_at = "leaf 0 -> host 0"};
    expect_golden("step_packets", to_text({.title = "packets", .sections = {packets_section(a)}}));
}

}  // namespace
}  // namespace orrery
