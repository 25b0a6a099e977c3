// SPDX-License-Identifier: Apache-2.0
#include "kernels/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "kernels/catalogue.h"
#include "kernels/fit.h"
#include "tests/kernels/devices.h"

namespace orrery {
namespace cost_model_test {

constexpr Dtype kBf16 = Dtype::bf16;

const EfficiencyTable& committed() {
    static const EfficiencyTable table =
        *read_efficiency_table(catalogue_path("kernel_efficiency.csv"));
    return table;
}
DeviceSpec h100() {
    return hopper("h100-80g", 3350);
}

KernelCall product(std::int64_t m, std::int64_t n, std::int64_t k) {
    return gemm(m, n, k, 1, kBf16, GemmEpilogue::none, kBf16);
}

ProfileEntry entry(const KernelCall& call, double seconds, double spread = 0.01) {
    return {.device = "h100-80g",
            .call = call,
            .median = Time::seconds(seconds),
            .spread = spread,
            .samples = 10};
}

double curve(const KernelCall& call) {
    return EfficiencyCurves(committed(), h100()).time(call).seconds;
}

TEST(CostModel, AnswersWithTheMeasuredTimeWhereThereIsOne) {
    const KernelCall call = product(4096, 4096, 4096);
    const CostModel model(h100(), committed(), {entry(call, 200e-6)});
    const KernelTime time = model.time(call);
    EXPECT_EQ(time.source, CostSource::measured);
    EXPECT_EQ(time.duration, Time::seconds(200e-6));
    EXPECT_LT(time.relative_sigma, 0.05);
    EXPECT_GT(time.relative_sigma, 0.0);
}

// Of the products that the curves were fitted on, none is deeper than 32,768; a profile of the
// user's own knows the shape itself.
TEST(CostModel, IsLessSureFarFromTheShapesThatTheCurvesWereFittedOn) {
    EfficiencyTable table = committed();
    table.set("gemm.residual_per_octave", "*", "*", {.value = 0.1, .sigma = 0, .source = "test"});
    const CostModel model(h100(), table);
    const KernelTime near = model.time(product(4096, 4096, 4096));
    const KernelTime far = model.time(product(4096, 4096, 4 * 32'768));
    EXPECT_EQ(near.distance_sigma, 0);
    EXPECT_NEAR(far.distance_sigma, 0.2, 1e-12);
    EXPECT_DOUBLE_EQ(far.relative_sigma, std::hypot(near.relative_sigma, 0.2));
    const KernelCall deep = product(4096, 4096, 4 * 32'768);
    const CostModel profiled(h100(), table, {entry(deep, 1.2 * curve(deep))});
    EXPECT_EQ(profiled.time(deep).distance_sigma, 0);
    EXPECT_EQ(profiled.time(product(4096, 4608, 4 * 32'768)).distance_sigma, 0);
}

TEST(CostModel, NearAMeasuredShapeItFollowsTheMeasurementAndFarAwayTheCurve) {
    const KernelCall call = product(4096, 4096, 4096);
    const CostModel model(h100(), committed(), {entry(call, 1.2 * curve(call))});
    const KernelCall near = product(4096, 4608, 4096);
    const KernelCall far = product(64, 65536, 256);
    const KernelTime at_near = model.time(near);
    EXPECT_EQ(at_near.source, CostSource::interpolated);
    EXPECT_NEAR(at_near.duration.seconds() / curve(near), 1.2, 0.02);
    const KernelTime at_far = model.time(far);
    EXPECT_EQ(at_far.source, CostSource::roofline);
    EXPECT_NEAR(at_far.duration.seconds() / curve(far), 1.0, 1e-6);
    EXPECT_LT(at_near.relative_sigma, at_far.relative_sigma);
}

TEST(CostModel, KeepsDevicesKindsDtypesAndVariantsApart) {
    const KernelCall call = product(4096, 4096, 4096);
    ProfileEntry foreign = entry(call, 1.0);
    foreign.device = "a100-80g";
    const CostModel other_device(h100(), committed(), {foreign});
    EXPECT_EQ(other_device.time(call).source, CostSource::roofline);
    const CostModel model(h100(), committed(), {entry(call, 1.0)});
    const KernelCall bias = gemm(4096, 4096, 4096, 1, kBf16, GemmEpilogue::bias, kBf16);
    const KernelCall fp16 = gemm(4096, 4096, 4096, 1, Dtype::fp16, GemmEpilogue::none, Dtype::fp16);
    EXPECT_EQ(model.time(bias).source, CostSource::roofline);
    EXPECT_EQ(model.time(fp16).source, CostSource::roofline);
    EXPECT_EQ(model.time(adamw(4096)).source, CostSource::roofline);
}

TEST(CostModel, NothingIsFasterThanThePeak) {
    const KernelCall call = product(8192, 8192, 8192);
    const CostModel model(h100(), committed(), {entry(call, 1e-6)});
    for (const KernelCall& asked : {call, product(8192, 8192, 8320)}) {
        const KernelTime time = model.time(asked);
        EXPECT_EQ(time.duration, time.ideal);
        EXPECT_EQ(time.ideal, Flop{asked.flop} / h100().peak_fp16);
    }
}

TEST(CostModel, IdealIsAtMostTheDurationForEveryKernel) {
    std::mt19937 random(5);
    const CostModel model(h100(), committed());
    for (int i = 0; i < 500; ++i) {
        const auto size = [&] { return static_cast<std::int64_t>(1 + random() % 20000); };
        for (const KernelCall& call : {product(size(), size(), size()),
                                       layernorm_backward(size(), size(), kBf16),
                                       cross_entropy_forward(size(), size(), kBf16, false),
                                       adamw(size())}) {
            const KernelTime time = model.time(call);
            ASSERT_LE(time.ideal, time.duration);
            ASSERT_GE(time.duration, h100().kernel_latency);
            ASSERT_GT(time.relative_sigma, 0);
            ASSERT_LE(time.sm_sensitivity_permille, 1000U);
        }
    }
}

TEST(CostModel, SmSensitivityIsHighForComputeAndLowForMemory) {
    const CostModel model(h100(), committed());
    EXPECT_GT(model.time(product(8192, 8192, 8192)).sm_sensitivity_permille, 900U);
    EXPECT_LT(model.time(adamw(100'000'000)).sm_sensitivity_permille, 400U);
}

TEST(CostModel, OnlyProductsOnHopperArePersistent) {
    EXPECT_TRUE(CostModel(h100(), committed()).time(product(8192, 8192, 8192)).persistent);
    EXPECT_FALSE(CostModel(h100(), committed()).time(adamw(1'000'000)).persistent);
    for (const char* generation : {"ampere", "blackwell", "ada", "volta"}) {
        DeviceSpec other = h100();
        other.generation = generation;
        EXPECT_FALSE(CostModel(other, committed()).time(product(8192, 8192, 8192)).persistent)
            << generation;
    }
}

// A world in which the curve is wrong by 25 % and by a slope in k: shapes that were left out of the
// profile must come out better than the curve alone, and inside the sigma that the model claims.
TEST(CostModel, InterpolationLearnsASmoothErrorOfTheCurve) {
    std::mt19937 random(9);
    const auto size = [&](double lowest, double highest) {
        const double u = static_cast<double>(random()) / 4294967296.0;
        return static_cast<std::int64_t>(lowest * std::pow(highest / lowest, u));
    };
    const auto truth = [](const KernelCall& call) {
        return curve(call) * 1.25 *
               std::exp(0.04 * std::log2(static_cast<double>(call.dims[2]) / 4096.0));
    };
    Profile profile;
    for (int i = 0; i < 150; ++i) {
        const KernelCall call = product(size(512, 8192), size(512, 8192), size(512, 8192));
        profile.push_back(entry(call, truth(call), 0.005));
    }
    const CostModel model(h100(), committed(), profile);
    std::vector<double> errors;
    int covered = 0;
    for (int i = 0; i < 200; ++i) {
        const KernelCall call = product(size(512, 8192), size(512, 8192), size(512, 8192));
        const KernelTime time = model.time(call);
        EXPECT_EQ(time.source, CostSource::interpolated);
        const double error = std::abs(std::log(time.duration.seconds() / truth(call)));
        errors.push_back(error);
        covered += error < 2 * time.relative_sigma ? 1 : 0;
    }
    std::sort(errors.begin(), errors.end());
    EXPECT_LT(errors[100], 0.01);
    EXPECT_LT(errors[190], 0.04);
    EXPECT_GT(covered, 185);
}

// Half of a sweep in the profile, the other half asked for. What real curves leave of a sweep of
// products hardly depends on the shape (heuristics, the data's effect on power): there is little to
// learn.
struct HeldOut {
    std::vector<double> with;     // |log error| of the cost model with half of the rows
    std::vector<double> without;  // of the curve alone
    std::size_t within_one = 0;   // sigma
    std::size_t within_two = 0;
};

void hold_out(const std::vector<Measurement>& rows,
              const DeviceSpec& device,
              std::uint32_t seed,
              HeldOut& result) {
    std::mt19937 random(seed);
    Profile profile;
    std::vector<Measurement> asked;
    for (const Measurement& row : rows) {
        if (row.device != device.name) {
            continue;
        }
        if (random() % 2 == 0) {
            profile.push_back({.device = device.name,
                               .call = row.calls[0],
                               .median = Time::seconds(row.seconds),
                               .spread = 0.05,
                               .samples = 1});
        } else {
            asked.push_back(row);
        }
    }
    const CostModel with(device, committed(), profile);
    const CostModel without(device, committed());
    for (const Measurement& row : asked) {
        const KernelTime time = with.time(row.calls[0]);
        const double error = std::abs(std::log(time.duration.seconds() / row.seconds));
        result.within_one += error < time.relative_sigma ? 1 : 0;
        result.within_two += error < 2 * time.relative_sigma ? 1 : 0;
        result.with.push_back(error);
        result.without.push_back(
            std::abs(std::log(without.time(row.calls[0]).duration.seconds() / row.seconds)));
    }
}

// 104 products, each 7 % off the curve by chance.
std::vector<Measurement> sweep_of(const DeviceSpec& device) {
    std::mt19937 random(17);
    const EfficiencyCurves curves(committed(), device);
    std::vector<Measurement> rows;
    for (const std::int64_t m : {128, 256, 512, 1024, 2048, 4096, 8192, 16384}) {
        for (int i = 0; i < 13; ++i) {
            const auto width = [&] { return static_cast<std::int64_t>(512 * (1 + random() % 40)); };
            const KernelCall call =
                gemm(m, width(), width(), 1, Dtype::fp16, GemmEpilogue::none, Dtype::fp16);
            double noise = 0;
            for (int j = 0; j < 12; ++j) {  // a sum of uniforms: portable and nearly normal
                noise += static_cast<double>(random()) / 4294967296.0 - 0.5;
            }
            rows.push_back({.family = "gemm",
                            .device = device.name,
                            .calls = {call},
                            .seconds = curves.time(call).seconds * std::exp(0.07 * noise)});
        }
    }
    return rows;
}

TEST(CostModel, InterpolationOfErraticGemmsIsNoWorseThanTheCurveAndKnowsItsError) {
    for (const std::string name : {"a100-80g", "h100-80g"}) {
        const DeviceSpec device = measured_devices().at(name);
        HeldOut result;
        for (std::uint32_t seed = 0; seed < 10; ++seed) {
            hold_out(sweep_of(device), device, seed, result);
        }
        std::sort(result.with.begin(), result.with.end());
        std::sort(result.without.begin(), result.without.end());
        const std::size_t n = result.with.size();
        const auto percent = [&](std::size_t part) {
            return 100.0 * static_cast<double>(part) / static_cast<double>(n);
        };
        EXPECT_LT(result.with[n / 2], 1.15 * result.without[n / 2]);
        EXPECT_LT(result.with[n * 9 / 10], 1.1 * result.without[n * 9 / 10]);
        EXPECT_GT(percent(result.within_one), 55);
        EXPECT_GT(percent(result.within_two), 80);
    }
}

}  // namespace cost_model_test
}  // namespace orrery
