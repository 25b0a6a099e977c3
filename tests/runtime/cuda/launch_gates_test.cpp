// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/launch_gates.h"

#include <gtest/gtest.h>

#include "tests/runtime/cuda/simulated_training.h"

namespace orrery {
namespace {

cudaStream_t stream_of_device() {
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithPriority(&stream, 0, 0);
    return stream;
}

TEST(LaunchGates, HoldTheDeviceUntilTheHostOpensThem) {
    simulated::begin_device(1);
    const cudaStream_t stream = stream_of_device();
    LaunchGates gates;
    int done = 0;
    const auto enqueue = [&] { simulated::enqueue(stream, [&done] { return ++done > 0; }); };
    cudaEvent_t event = nullptr;
    cudaEventCreateWithFlags(&event, 0);
    ASSERT_TRUE(gates.close(stream));
    enqueue();
    cudaEventRecord(event, stream);
    EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
    EXPECT_EQ(done, 0);
    ASSERT_TRUE(gates.close(stream));  // opens the first one
    enqueue();
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
    EXPECT_EQ(done, 1);
    gates.open();
    cudaStreamSynchronize(stream);
    EXPECT_EQ(done, 2);
    gates.forget();
    EXPECT_EQ(gates.late(), 0);
    cudaEventDestroy(event);
}

// A stream that takes fewer commands than are put behind a gate makes the host wait for the device,
// which waits for the host.
TEST(LaunchGates, OpenByThemselvesWhereAStreamMakesTheHostWait) {
    simulated::begin_device(3);
    simulated::limit_streams(40);
    const TrainingJob job{.device = DeviceChoice::cuda, .steps = 50, .seed = 5, .eval_steps = 0};
    auto trainer = Trainer::create(tiny_gpt(), tiny_plan(), job, some_text());
    ASSERT_TRUE(trainer);
    OpTimes times{(*trainer)->program()};
    (*trainer)->executor().measure(&times);
    for (int s = 0; s < 3; ++s) {
        ASSERT_TRUE((*trainer)->step());
    }
    const std::vector<std::string> notes = (*trainer)->executor().notes();
    EXPECT_TRUE(std::ranges::any_of(notes, [](const std::string& line) {
        return line.find("gates opened by themselves") != line.npos;
    }));
}

}  // namespace
}  // namespace orrery
