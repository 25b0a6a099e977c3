// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/scenarios/served_text.h"

namespace orrery {
namespace {

TEST(ReadServingPolicies, TiersAreRead) {
    const auto read = read_served_text(
        "{cache: {tiers: [{kind: dram, capacity: 1 TB}, {kind: nvme, capacity: 8 TB, eviction: "
        "lfu}], writes: computed, loading: ahead}}",
        "{}");
    ASSERT_TRUE(read) << read.error().front().to_string();
    const LowerCacheSpec& cache = read->serving.cache;
    ASSERT_EQ(cache.tiers.size(), 2U);
    EXPECT_EQ(cache.tiers[0].kind, TierKind::dram);
    EXPECT_EQ(cache.tiers[0].capacity, Bytes{1'000'000'000'000});
    EXPECT_EQ(cache.tiers[0].eviction, EvictionPolicy::lru);
    EXPECT_EQ(cache.tiers[1].eviction, EvictionPolicy::lfu);
    EXPECT_EQ(cache.writes, TierWrites::computed);
    EXPECT_EQ(cache.loading, TierLoading::ahead);
    EXPECT_TRUE(read_served_text("{}", "{}")->serving.cache.tiers.empty());
}

TEST(ReadServingPolicies, AutoscalerAndAdmissionAreRead) {
    const auto read = read_served_text(
        "{admission: objectives, objectives: {tbt: 100 ms}, pools: {instances: 2}, autoscaler: "
        "{policy: queue, target: 3, min_instances: 2, interval: 5 s, scale_down_delay: 2 s, "
        "weights: peer}}",
        "{}");
    ASSERT_TRUE(read) << read.error().front().to_string();
    EXPECT_EQ(read->serving.admission, "objectives");
    EXPECT_EQ(read->serving.objectives.tbt, Time::seconds(0.1));
    const AutoscalerSpec& scaler = read->serving.autoscaler;
    EXPECT_EQ(scaler.policy, "queue");
    EXPECT_EQ(scaler.target, 3);
    EXPECT_EQ(scaler.min_instances, 2);
    EXPECT_EQ(scaler.interval, Time::seconds(5));
    EXPECT_EQ(scaler.scale_down_delay, Time::seconds(2));
    EXPECT_EQ(scaler.weights, WeightSource::peer);
    EXPECT_NE(first_error("{autoscaler: {policy: magic}}", "{}")
                  .find("none, rate, queue, cache, objectives"),
              std::string::npos);
    EXPECT_NE(first_error("{admission: some}", "{}").find("all, objectives"), std::string::npos);
    EXPECT_NE(first_error("{autoscaler: []}", "{}").find("must be a map"), std::string::npos);
    EXPECT_NE(first_error("{autoscaler: {policy: rate, interval: 0 s}}", "{}").find("interval"),
              std::string::npos);
}

TEST(ReadServingPolicies, ThePowerOfARowIsRead) {
    const auto read = read_served_text(
        "{busy_watts: 900, power: {policy: polca, limit_watts: 5000, low_priority_share: 0.5}}",
        "{}");
    ASSERT_TRUE(read) << read.error().front().to_string();
    EXPECT_EQ(read->serving.power.policy, "polca");
    EXPECT_EQ(read->serving.power.limit_watts, 5000);
    EXPECT_EQ(read->serving.power.low_priority_share, 0.5);
    EXPECT_NE(first_error("{power: {policy: magic}}", "{}").find("none, all, polca"),
              std::string::npos);
    EXPECT_NE(first_error("{busy_watts: 900, power: {policy: polca}}", "{}").find("needs a limit"),
              std::string::npos);
    EXPECT_NE(first_error("{power: {policy: polca, limit_watts: 9}}", "{}").find("busy_watts"),
              std::string::npos);
    EXPECT_NE(first_error("{power: polca}", "{}").find("must be a map"), std::string::npos);
}

TEST(ReadServingPolicies, KeysThatWouldHaveNoEffectAreErrors) {
    EXPECT_NE(first_error("{autoscaler: {target: 3}}", "{}")
                  .find("serving.autoscaler.policy is missing"),
              std::string::npos);
    EXPECT_NE(
        first_error("{power: {limit_watts: 9}}", "{}").find("serving.power.policy is missing"),
        std::string::npos);
    EXPECT_NE(first_error("{cache: {loading: ahead}}", "{}")
                  .find("serving.cache.loading is of tiers"),
              std::string::npos);
    EXPECT_TRUE(read_served_text("{autoscaler: {policy: none, target: 3}}", "{}"));
}

TEST(ReadServingPolicies, TimesOfAnAutoscalerFitIntoALoad) {
    EXPECT_NE(first_error("{autoscaler: {policy: rate, interval: 1 ns}}", "{}")
                  .find("interval is from 1 ms"),
              std::string::npos);
    EXPECT_NE(first_error("{autoscaler: {policy: rate, scale_down_delay: 2000000 s}}", "{}")
                  .find("scale_down_delay is 1000000 s at most"),
              std::string::npos);
}

TEST(ReadServingPolicies, MistakesHaveAPlaceAndAHint) {
    EXPECT_NE(first_error("{cache: [dram]}", "{}").find("serving.cache must be a map"),
              std::string::npos);
    EXPECT_NE(first_error("{cache: {tiers: dram}}", "{}").find("must be a list"),
              std::string::npos);
    EXPECT_NE(first_error("{cache: {tiers: [{kind: tape}]}}", "{}").find("dram, nvme, remote"),
              std::string::npos);
    EXPECT_NE(first_error("{cache: {tiers: [{capacity: 1 TB}]}}", "{}").find("kind"),
              std::string::npos);
    EXPECT_NE(first_error("{cache: {write: computed}}", "{}").find("writes"), std::string::npos);
}

}  // namespace
}  // namespace orrery
