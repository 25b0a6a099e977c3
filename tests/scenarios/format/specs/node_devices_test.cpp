// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/specs/node_devices.h"

#include <gtest/gtest.h>

#include "models/lowering/lowering.h"
#include "tests/scenarios/mixed_scenarios.h"

namespace orrery {
namespace {

TEST(NodeDevices, PeaksOfAllRanksAddUp) {
    const Scenario mixed = mixed_scenario();
    EXPECT_EQ(ranks_of_kinds(mixed.cluster), (std::vector<std::uint32_t>{4, 4}));
    const double h100 = mixed.devices[0].peak(mixed.plan.precision).per_second();
    const double a100 = mixed.devices[1].peak(mixed.plan.precision).per_second();
    EXPECT_GT(h100, 2 * a100);
    EXPECT_DOUBLE_EQ(mean_peak(mixed).per_second(), (h100 + a100) / 2);
    const Scenario plain = small_scenario("plain", {});
    EXPECT_EQ(mean_peak(plain).per_second(), plain.device.peak(plain.plan.precision).per_second());
    EXPECT_EQ(device_names(mixed), "h100-80g + a100-80g");
    EXPECT_EQ(device_names(plain), plain.device.name);
}

TEST(NodeDevices, NcclKnowsTheDeviceOfEveryKind) {
    const NcclNetworkOptions options = nccl_options(mixed_scenario());
    ASSERT_EQ(options.devices.size(), 2U);
    EXPECT_EQ(options.devices[0].compute_capability, 90U);
    EXPECT_EQ(options.devices[1].compute_capability, 80U);
    EXPECT_EQ(options.devices[1].num_sms, 108U);
    EXPECT_TRUE(nccl_options(small_scenario("plain", {})).devices.empty());
}

TEST(NodeDevices, ARoleHasTheMemoryOfItsSmallestDevice) {
    Scenario mixed = mixed_scenario();
    mixed.devices[1].memory = Bytes{1000};
    const Program apart = lower(mixed.model, mixed.plan);
    EXPECT_EQ(memory_of_roles(apart, mixed),
              (std::vector<Bytes>{mixed.device.memory, Bytes{1000}}));
    mixed.plan.rank_order = RankOrder::tp_cp_pp_dp;  // both stages on both servers
    const Program together = lower(mixed.model, mixed.plan);
    EXPECT_EQ(memory_of_roles(together, mixed), (std::vector<Bytes>(2, Bytes{1000})));
}

TEST(NodeDevices, EvenLayersAreMoreThanTheShareOfSlowDevices) {
    const Scenario mixed = mixed_scenario();
    const Program program = lower(mixed.model, mixed.plan);
    DeviceTimings fast;
    for (std::size_t k = 0; k < program.kernels.size(); ++k) {
        fast.kernels.push_back(
            {.duration = Time::picoseconds(3'000'000), .ideal = Time::picoseconds(1'000'000)});
    }
    const double ratio = mixed.devices[0].peak(mixed.plan.precision).per_second() /
                         mixed.devices[1].peak(mixed.plan.precision).per_second();
    DeviceTimings slow = fast;
    for (KernelTime& kernel : slow.kernels) {
        kernel.ideal = Time::seconds(kernel.ideal.seconds() * ratio);
        kernel.duration = Time::seconds(kernel.duration.seconds() * ratio);
    }
    const std::vector<DeviceTimings> both{fast, slow};
    EXPECT_GT(work_on_slower_devices(program, mixed, both), Time{});
    EXPECT_EQ(work_on_slower_devices(program, mixed, std::span{both}.first(1)), Time{});
}

TEST(NodeDevices, SaysWhichStagesLieOnSeveralKinds) {
    const auto remarks_of = [](const Scenario& scenario) {
        std::string all;
        for (const std::string& remark :
             kind_remarks(lower(scenario.model, scenario.plan), scenario)) {
            all += remark + "\n";
        }
        return all;
    };
    EXPECT_EQ(remarks_of(small_scenario("plain", {})), "");
    EXPECT_NE(remarks_of(classes_scenario()).find("sum of all GPUs' peaks"), std::string::npos);
    EXPECT_EQ(remarks_of(classes_scenario()).find("over TCP"), std::string::npos);
    const std::string across = remarks_of(classes_scenario({"plan.rank_order=tp-cp-pp-dp"}));
    EXPECT_NE(across.find("over TCP"), std::string::npos) << across;
    EXPECT_NE(across.find("the slowest sets the pace"), std::string::npos) << across;
}

TEST(NodeDevices, WhatKnowsOneKindRefusesAList) {
    EXPECT_TRUE(check_one_kind(small_scenario("plain", {}), "a campaign"));
    const auto refused = check_one_kind(mixed_scenario(), "a campaign");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().what.find("a campaign knows clusters of one kind"),
              std::string::npos);
    EXPECT_NE(refused.error().where, "");
}

}  // namespace
}  // namespace orrery
