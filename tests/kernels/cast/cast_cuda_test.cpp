// SPDX-License-Identifier: Apache-2.0
#include "kernels/cast/cast_cuda.h"

#include "kernels/cast/cast_cpu.h"
#include "kernels/cast/cast_device.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace {

using numeric::Tensor;

TEST(CastCuda, LaunchesAThreadForEveryEightElementsUpToTheWholeDevice) {
    for (const auto& [size, blocks] :
         {std::pair{1, 1}, {2048, 1}, {2049, 2}, {100'000, 49}, {50'000'000, 4096}}) {
        RecordingQueue queue;
        const TensorView to{nullptr, Dtype::bf16, size};
        cast(queue, ConstTensorView{nullptr, Dtype::fp32, size}, to);
        ASSERT_EQ(queue.launches().size(), 1u);
        EXPECT_EQ(queue.launches()[0], (Geometry{.blocks_x = blocks, .threads = 256}));
        EXPECT_EQ(queue.scratch_bytes(), 0);
    }
}

TEST(CastCuda, HasTheBitsOfTheCpu) {
    for (const std::int64_t size : {1, 9, 3000}) {
        numeric::Draw draw{3};
        const Tensor x = draw.tensor(size, Dtype::fp32);
        Tensor narrow{size, Dtype::bf16};
        Tensor expected = narrow;
        Tensor wide{size, Dtype::fp32};
        emulation::EmulatedQueue queue;
        cast(queue, x.view(), narrow.view());
        cpu::cast(x.view(), expected.view());
        EXPECT_TRUE(narrow == expected);
        cast(queue, narrow.view(), wide.view());
        EXPECT_EQ(wide.doubles(), narrow.doubles());
    }
}

}  // namespace
}  // namespace orrery::device
