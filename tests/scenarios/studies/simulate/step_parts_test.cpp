// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/step_parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace orrery {
namespace {

Program small_program() {
    Program program;
    program.parties.front().mesh = Mesh{{{"dp", 2}, {"pp", 1}}};
    program.parties.front().role_digit = 1;
    program.groups = {{.name = "dp", .digits = 1, .subset = {}, .explicit_ranks = {}}};
    program.kernels = {{.kind = KernelKind::gemm}, {.kind = KernelKind::rope}};
    program.collectives = {{.kind = CollectiveKind::all_reduce, .bytes = Bytes{64}}};
    program.names = {"op"};
    program.segments = {
        {"all",
         {{.payload = KernelId{0}}, {.payload = CollectiveId{0}}, {.payload = KernelId{1}}}}};
    program.roles = {{"pp 0", {{.segment = SegmentId{0}}}}};
    return program;
}

TracedOp op(std::uint32_t index, std::int64_t start, std::int64_t data, std::int64_t end) {
    return {.rank = RankId{0},
            .op = index,
            .start = Time::picoseconds(start),
            .data_start = Time::picoseconds(data),
            .end = Time::picoseconds(end)};
}

double part(const std::vector<StepPart>& parts, PartKind kind, const std::string& name) {
    for (const StepPart& p : parts) {
        if (p.kind == kind && p.name == name) {
            return std::round(p.seconds * 1e12);
        }
    }
    return 0;
}

double sum(const std::vector<StepPart>& parts) {
    double total = 0;
    for (const StepPart& p : parts) {
        total += p.seconds;
    }
    return total;
}

TEST(StepParts, EveryMomentIsTheKernelsThenThatOfDataThenOfWaitsThenTheHosts) {
    // Kernel 10-30; all_reduce waits 20-40, moves 40-60; kernel 50-70; nothing 70-100.
    const std::vector<TracedOp> ops{op(0, 10, 10, 30), op(1, 20, 40, 60), op(2, 50, 50, 70)};
    const auto parts = parts_of_step(small_program(),
                                     {.ops = ops, .begin = Time{}, .end = Time::picoseconds(100)});
    EXPECT_EQ(part(parts, PartKind::kernel, "gemm"), 20);
    EXPECT_EQ(part(parts, PartKind::kernel, "rope"), 20);
    EXPECT_EQ(part(parts, PartKind::wait, "wait for peers"), 10);
    EXPECT_EQ(part(parts, PartKind::communication, "all_reduce on dp"), 10);
    EXPECT_EQ(part(parts, PartKind::host, "host"), 40);
}

TEST(StepParts, WhatOthersTookAndWhatTheHostTakesIsNotTheOps) {
    const std::vector<TracedOp> ops{op(0, 10, 10, 30), op(2, 30, 30, 50)};
    const std::vector<Time> lost{Time::picoseconds(7), Time{}};
    const auto parts = parts_of_step(small_program(),
                                     {.ops = ops,
                                      .begin = Time{},
                                      .end = Time::picoseconds(60),
                                      .host_per_op = Time::picoseconds(2),
                                      .lost = lost,
                                      .lost_outside = Time::picoseconds(4),
                                      .loss_wait = Time::picoseconds(5)});
    EXPECT_EQ(part(parts, PartKind::kernel, "gemm"), 20 - 7 - 2);
    EXPECT_EQ(part(parts, PartKind::kernel, "rope"), 20 - 2);
    EXPECT_EQ(part(parts, PartKind::others, "other processes"), 7 + 4);
    EXPECT_EQ(part(parts, PartKind::wait, "wait for peers"), 5);
    EXPECT_EQ(part(parts, PartKind::host, "host"), 60 - 11 - 18 - 11 - 5);
}

TEST(StepParts, AddUpToTheStepWhateverOverlaps) {
    std::mt19937 random(17);
    const Program program = small_program();
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<TracedOp> ops;
        std::vector<Time> lost;
        for (int i = 0; i < 12; ++i) {
            const std::int64_t start = random() % 1000;
            const std::int64_t data = start + random() % 100;
            const auto which = static_cast<std::uint32_t>(random() % 3);
            ops.push_back(op(which, start, which == 1 ? data : start, data + random() % 200));
            lost.push_back(Time::picoseconds(random() % 50));
        }
        const auto parts = parts_of_step(program,
                                         {.ops = ops,
                                          .begin = Time::picoseconds(100),
                                          .end = Time::picoseconds(900),
                                          .host_per_op = Time::picoseconds(random() % 5),
                                          .lost = lost,
                                          .lost_outside = Time::picoseconds(random() % 40),
                                          .loss_wait = Time::picoseconds(random() % 40)});
        EXPECT_NEAR(sum(parts), 800e-12, 1e-18) << trial;
        for (const StepPart& p : parts) {
            EXPECT_GE(p.seconds, -1e-18) << p.name << " of trial " << trial;
        }
    }
}

TEST(StepParts, MeansOfListsAddUpToTheMeanStep) {
    const std::vector<StepPart> a{{PartKind::kernel, "gemm", 2, 3.0},
                                  {PartKind::host, "host", 0, 1}};
    const std::vector<StepPart> b{{PartKind::kernel, "rope", 1, 4.0},
                                  {PartKind::host, "host", 0, 2}};
    const auto mean = mean_parts({a, b});
    EXPECT_DOUBLE_EQ(sum(mean), 5.0);
    ASSERT_EQ(mean.size(), 3U);
    EXPECT_EQ(mean[0].name, "rope");  // the longest of its kind first
    EXPECT_DOUBLE_EQ(mean[1].runs, 1.0);
}

}  // namespace
}  // namespace orrery
