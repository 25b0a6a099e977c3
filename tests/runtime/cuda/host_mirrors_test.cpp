// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/host_mirrors.h"

#include <gtest/gtest.h>

#include "models/lowering/lowering.h"
#include "runtime/cuda/cuda_executor.h"
#include "tests/runtime/cuda/simulated_device.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

class HostMirrorsTest : public testing::Test {
protected:
    HostMirrorsTest() : program_(lower(tiny_gpt(), tiny_plan())), rank_(program_, RankId{0}) {
        simulated::begin_device(1);
        auto device = CudaDevice::open({});
        EXPECT_TRUE(device);
        device_ = std::move(*device);
        rank_.set_arena(*device_->allocate(rank_.plan().bytes(), "tensors", ""));
        mirrors_ = std::make_unique<HostMirrors>(*device_, rank_);
    }
    TensorId find(const std::string& name) const {
        std::size_t t = 0;
        while (program_.tensors[t].name != name) {
            ++t;
        }
        return to_id<TensorId>(t);
    }
    void run() {
        const cudaStream_t stream = device_->stream(kComputeStream);
        EXPECT_TRUE(mirrors_->upload(stream));
        cudaStreamSynchronize(stream);
    }

    Program program_;
    RankProgram rank_;
    std::unique_ptr<CudaDevice> device_;
    std::unique_ptr<HostMirrors> mirrors_;
};

TEST_F(HostMirrorsTest, WhatIsWrittenIsOnTheDeviceForTheNextRun) {
    const TensorId scalars = find("device scalars");
    const TensorView host = *mirrors_->open(scalars, -1, HostAccess::change);
    store(host, 3, 2.5f);
    EXPECT_NE(load(rank_.instance(scalars), 3), 2.5f);
    run();
    EXPECT_EQ(load(rank_.instance(scalars), 3), 2.5f);
}

TEST_F(HostMirrorsTest, WhatTheDeviceWroteIsReadAnewAfterARun) {
    const TensorId loss = find("loss");
    store(rank_.instance(loss), 0, 1.0f);
    EXPECT_EQ(load(*mirrors_->open(loss, -1, HostAccess::read), 0), 1.0f);
    store(rank_.instance(loss), 0, 2.0f);
    EXPECT_EQ(load(*mirrors_->open(loss, -1, HostAccess::read), 0), 1.0f);  // nothing has run
    run();
    mirrors_->after_run();
    EXPECT_EQ(load(*mirrors_->open(loss, -1, HostAccess::read), 0), 2.0f);
}

TEST_F(HostMirrorsTest, WhatIsOnlyReadStaysAsItIsOnTheDevice) {
    const TensorId loss = find("loss");
    store(*mirrors_->open(loss, -1, HostAccess::read), 0, 9.0f);
    store(rank_.instance(loss), 0, 2.0f);
    run();
    EXPECT_EQ(load(rank_.instance(loss), 0), 2.0f);
}

TEST_F(HostMirrorsTest, WhatIsOverwrittenIsNotCopiedFromTheDevice) {
    const TensorId loss = find("loss");
    store(rank_.instance(loss), 0, 1.0f);
    const std::int64_t before = simulated::counts().copies_to_host;
    store(*mirrors_->open(loss, -1, HostAccess::overwrite), 0, 4.0f);
    EXPECT_EQ(simulated::counts().copies_to_host, before);
    run();
    EXPECT_EQ(load(rank_.instance(loss), 0), 4.0f);
    mirrors_->after_run();
    EXPECT_EQ(load(*mirrors_->open(loss, -1, HostAccess::read), 0), 4.0f);
    EXPECT_EQ(simulated::counts().copies_to_host, before + 1);
}

// Initial weights are written whole: nothing of them comes from the device first.
TEST_F(HostMirrorsTest, InitialWeightsAreNotCopiedFromTheDevice) {
    ParallelPlan plan = tiny_plan();
    plan.precision = Dtype::bf16;
    const Program program = lower(tiny_gpt(), plan);
    const auto executor = CudaExecutor::create(program, RankId{0}, nullptr, {});
    ASSERT_TRUE(executor);
    const std::int64_t before = simulated::counts().copies_to_host;
    initialise_weights(**executor, {.seed = 1, .num_layers = 2});
    EXPECT_EQ(simulated::counts().copies_to_host, before);
}

TEST_F(HostMirrorsTest, OfWhatTheRankHasNotIsEmpty) {
    EXPECT_TRUE(mirrors_->open(find("tokens"), 77, HostAccess::change)->empty());
}

}  // namespace
}  // namespace orrery
