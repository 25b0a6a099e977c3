// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/optimizer_cuda.h"

#include <bit>
#include <cmath>

#include "engine/program/device_scalars.h"
#include "kernels/optimizer/optimizer_device.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace {

using emulation::EmulatedQueue;
using emulation::ThreadOrder;
using numeric::Draw;
using numeric::Tensor;

// A model of more tensors than fit one launch, of sizes that are not multiples of anything.
struct Model {
    std::vector<Tensor> gradient, m, v, master, parameter;
    Dtype dtype;

    Model(Draw& draw, int tensors, Dtype parameters, Dtype gradients) : dtype(parameters) {
        for (int i = 0; i < tensors; ++i) {
            const std::int64_t size = i == 1 ? 20'000 : draw.between(1, 300);
            gradient.push_back(draw.tensor(size, gradients));
            m.push_back(draw.tensor(size, Dtype::fp32));
            v.push_back(draw.tensor(size, Dtype::fp32, 0, 1));
            master.push_back(draw.tensor(size, Dtype::fp32));
            parameter.push_back(draw.tensor(size, parameters));
        }
    }
    std::vector<OptimizerTensor> views(bool masters = true) {
        std::vector<OptimizerTensor> all;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            const bool copied = dtype != Dtype::fp32 && masters;
            const TensorView own_master = copied ? master[i].view() : TensorView{};
            all.push_back({.tensors = {.gradient = gradient[i].view(),
                                       .m = m[i].view(),
                                       .v = v[i].view(),
                                       .master = own_master,
                                       .parameter = parameter[i].view()},
                           .decays = i % 2 == 0,
                           .stream = static_cast<std::uint32_t>(i),
                           .place = place(static_cast<std::int32_t>(i))});
        }
        return all;
    }
    // Every other tensor has all columns of the whole, the rest three ranges of them.
    static ParameterPlace place(std::int32_t i) {
        ParameterPlace place{.first_element = 3 * i};
        if (i % 2 == 1) {
            place.width = 7 + i;
            place.row_length = 100;
            place.first_row = i;
            for (const int range : {1, 2, 3}) {
                place.begin[range] = range == 3 ? place.width : 3 * range;
                place.first[range - 1] = 11 * range;
            }
        }
        return place;
    }
    bool operator==(const Model&) const = default;
};

const cpu::OptimizerArguments kArguments{.learning_rate = 0.01f,
                                         .beta1 = 0.9f,
                                         .beta2 = 0.95f,
                                         .epsilon = 1e-8f,
                                         .weight_decay = 0.1f,
                                         .step = 17};

std::vector<float> scalars() {
    std::vector<float> block(static_cast<std::size_t>(kNumDeviceScalars));
    const auto set = [&](DeviceScalar s, float value) {
        block[static_cast<std::size_t>(s)] = value;
    };
    set(DeviceScalar::learning_rate, kArguments.learning_rate);
    set(DeviceScalar::beta1, kArguments.beta1);
    set(DeviceScalar::beta2, kArguments.beta2);
    set(DeviceScalar::epsilon, kArguments.epsilon);
    set(DeviceScalar::weight_decay, kArguments.weight_decay);
    set(DeviceScalar::clip_norm, 2.0f);
    set(DeviceScalar::step, static_cast<float>(kArguments.step));
    set(DeviceScalar::seed_low, std::bit_cast<float>(5u));
    set(DeviceScalar::seed_high, std::bit_cast<float>(6u));
    return block;
}

cpu::OptimizerArguments arguments_of(const OptimizerTensor& tensor, bool stochastic) {
    cpu::OptimizerArguments a = kArguments;
    a.weight_decay = tensor.decays ? a.weight_decay : 0.0f;
    a.stochastic_rounding = stochastic;
    a.rounding = {.seed = 6ull << 32 | 5,
                  .purpose = RandomPurpose::stochastic_rounding,
                  .stream = tensor.stream,
                  .round = 17};
    a.place = tensor.place;
    return a;
}

ParameterRounding rounding(bool stochastic) {
    return stochastic ? ParameterRounding::stochastic : ParameterRounding::nearest;
}

TEST(AdamwCuda, HasTheBitsOfTheCpuStochasticRoundingIncluded) {
    const std::vector<float> block = scalars();
    for (const Dtype parameters : {Dtype::fp32, Dtype::bf16}) {
        for (const Dtype gradients : {Dtype::fp32, Dtype::bf16}) {
            for (const int which : {0, 1, 2, 3}) {
                const bool stochastic = which % 2 == 1;
                const bool masters = which < 2;
                Draw draw{8};
                Model model{draw, 50, parameters, gradients};
                Model expected = model;
                EmulatedQueue queue;
                const auto views = model.views(masters);
                adamw(queue, const_view_of(block), rounding(stochastic), views);
                for (const OptimizerTensor& tensor : expected.views(masters)) {
                    cpu::adamw(arguments_of(tensor, stochastic), tensor.tensors);
                }
                EXPECT_TRUE(model == expected);
            }
        }
    }
}

// Norms of whole tensors, and bits that do not depend on the order of the threads.
TEST(LambCuda, IsTheCpus) {
    const std::vector<float> block = scalars();
    for (const Dtype parameters : {Dtype::fp32, Dtype::bf16}) {
        for (const Dtype gradients : {Dtype::fp32, Dtype::bf16}) {
            Draw draw{9};
            constexpr int kTensors = 50;
            Model model{draw, kTensors, parameters, gradients};
            Model expected = model;
            Model again = model;
            Tensor norms[2] = {Tensor{2 * kTensors, Dtype::fp32},
                               Tensor{2 * kTensors, Dtype::fp32}};
            const auto run = [&](Model& own, ThreadOrder order, Tensor& result) {
                EmulatedQueue queue{order};
                const auto views = own.views();
                lamb_update(queue, const_view_of(block), views, result.view());
                lamb_apply(queue, const_view_of(block), result.view(), rounding(true), views);
            };
            run(model, ThreadOrder::descending, norms[0]);
            run(again, ThreadOrder::shuffled, norms[1]);
            EXPECT_TRUE(model == again && norms[0] == norms[1]);
            const auto views = expected.views();
            for (std::size_t i = 0; i < views.size(); ++i) {
                const cpu::OptimizerArguments a = arguments_of(views[i], true);
                const TensorView update = expected.gradient[i].view();
                const cpu::LambNorms own = cpu::lamb_update(a, views[i].tensors, update);
                const auto n = static_cast<std::int64_t>(2 * i);
                EXPECT_NEAR(norms[0].at(n), own.weight, 1e-6 * own.weight);
                EXPECT_NEAR(norms[0].at(n + 1), own.update, 1e-6 * own.update);
                cpu::lamb_apply(a, own, update, views[i].tensors);
                EXPECT_TRUE(model.m[i] == expected.m[i] && model.v[i] == expected.v[i]);
                EXPECT_TRUE(model.gradient[i] == expected.gradient[i]);
                const double allowed = parameters == Dtype::fp32 ? 1e-6 : 1e-3;
                EXPECT_LT(
                    numeric::relative_error(model.parameter[i], expected.parameter[i].doubles()),
                    allowed);
            }
        }
    }
}

// A rank that has none of a tensor, and one whose copy another rank counts, add nothing.
TEST(LambCuda, NormsOfShardsAreThoseThatCountHere) {
    const std::vector<float> block = scalars();
    Draw draw{11};
    Model model{draw, 3, Dtype::fp32, Dtype::fp32};
    auto views = model.views();
    views[0].counts = false;
    cpu::OptimizerTensors& empty = views[2].tensors;
    for (TensorView* view : {&empty.m, &empty.v, &empty.parameter}) {
        *view = slice(*view, 0, 0);
    }
    empty.gradient = slice(empty.gradient, 0, 0);
    Tensor norms{6, Dtype::fp32};
    EmulatedQueue queue;
    lamb_update(queue, const_view_of(block), views, norms.view());
    EXPECT_GT(norms.at(2), 0);
    EXPECT_GT(norms.at(3), 0);
    for (const int nothing : {0, 1, 4, 5}) {
        EXPECT_EQ(norms.at(nothing), 0);
    }
    RecordingQueue record;
    lamb_update(record, const_view_of(block), views, norms.view());
    EXPECT_EQ(record.scratch_bytes(), queue.scratch_bytes());
}

TEST(GradientNormCuda, IsTheNormOfAllAndScalesToIt) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        Draw draw{10};
        Model model{draw, 50, Dtype::fp32, dtype};
        std::vector<ConstTensorView> reads;
        std::vector<TensorView> writes;
        double expected = 0;
        for (Tensor& gradient : model.gradient) {
            reads.push_back(gradient.view());
            writes.push_back(gradient.view());
            expected += cpu::squared_norm(gradient.view());
        }
        const std::vector<float> block = scalars();
        Tensor squared[2] = {Tensor{1, Dtype::fp32}, Tensor{1, Dtype::fp32}};
        EmulatedQueue ascending{ThreadOrder::ascending};
        EmulatedQueue descending{ThreadOrder::descending};
        gradient_norm(ascending, reads, squared[0].view());
        gradient_norm(descending, reads, squared[1].view());
        EXPECT_NEAR(squared[0].at(0), expected, 1e-6 * expected);
        EXPECT_TRUE(squared[0] == squared[1]);
        Model clipped = model;
        const float factor = cpu::clip_factor(std::sqrt(squared[0].at(0)), 2.0);
        EXPECT_LT(factor, 1.0f);
        gradient_scale(ascending, squared[0].view(), const_view_of(block), writes);
        for (Tensor& gradient : clipped.gradient) {
            cpu::gradient_scale(gradient.view(), factor);
        }
        EXPECT_TRUE(model == clipped);
    }
}

TEST(GradientAccumulateCuda, AddsInThePrecisionOfTheSum) {
    Draw draw{12};
    const Tensor gradient = draw.tensor(1001, Dtype::bf16);
    Tensor sum = draw.tensor(1001, Dtype::fp32);
    Tensor expected = sum;
    EmulatedQueue queue;
    gradient_accumulate(queue, gradient.view(), sum.view());
    cpu::gradient_accumulate(gradient.view(), expected.view());
    EXPECT_TRUE(sum == expected);
}

}  // namespace
}  // namespace orrery::device
