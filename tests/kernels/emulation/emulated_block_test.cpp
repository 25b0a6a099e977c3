// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/emulation/emulated_block.h"

#include <gtest/gtest.h>

#include "tests/kernels/numeric.h"

namespace orrery::emulation {
namespace {

using device::Geometry;
using device::kWarp;

// Sums what the threads of a block hold through shared memory and shuffles; `barrier` false is a
// race.
struct SumKernel {
    static constexpr int kThreadsMax = 128;
    float* sums;
    bool barrier = true;
    void operator()(EmulatedBlock& block) const {
        auto* partial = reinterpret_cast<float*>(block.shared());
        auto sum = static_cast<float>(block.thread() + block.x());
        for (int mask = 16; mask > 0; mask /= 2) {
            sum += block.shuffle_xor(sum, mask);
        }
        partial[block.warp()] = sum;
        if (barrier) {
            block.sync();
        }
        if (block.thread() == 0) {
            sums[block.x()] = partial[0] + partial[1] + partial[2] + partial[3];
        }
    }
};

TEST(EmulatedBlock, ExchangesThroughShufflesBarriersAndSharedMemory) {
    for (const auto order :
         {ThreadOrder::ascending, ThreadOrder::descending, ThreadOrder::shuffled}) {
        std::vector<float> sums(3);
        EmulatedQueue{order}.launch(SumKernel{sums.data()},
                                    {.blocks_x = 3, .threads = 128, .shared_bytes = 16});
        EXPECT_EQ(sums, (std::vector<float>{8128, 8256, 8384}));
    }
}

TEST(EmulatedBlock, AMissingBarrierShows) {
    std::vector<float> sums(1);
    EmulatedQueue{}.launch(SumKernel{.sums = sums.data(), .barrier = false},
                           {.threads = 128, .shared_bytes = 16});
    EXPECT_NE(sums[0], 8128.0f);
}

struct Diverging {
    static constexpr int kThreadsMax = 32;
    void operator()(EmulatedBlock& block) const {
        if (block.thread() != 7) {
            block.sync();
        }
    }
};

TEST(EmulatedBlockDeathTest, ThreadsThatWaitForEverStopTheTest) {
    EXPECT_DEATH(EmulatedQueue{}.launch(Diverging{}, {}), "moved");
}

// C = A B by one mma, A from rows of shared memory, B [16, 8] from rows by the transposing load.
struct ProductKernel {
    static constexpr int kThreadsMax = 32;
    const device::Bf16* a;
    const device::Bf16* b;
    float* c;
    bool wait = true;
    void operator()(EmulatedBlock& block) const {
        std::byte* a_rows = block.shared();        // 16 rows of 32 bytes
        std::byte* b_rows = block.shared() + 512;  // 16 rows of 16 bytes
        const int lane = block.lane();
        block.copy_async(a_rows + 16 * lane, a + 8 * lane, true);
        block.copy_async(b_rows + 16 * lane, b + 8 * (lane % 16), lane < 16);
        block.commit();
        if (wait) {
            block.wait<0>();
        }
        block.sync();
        std::uint32_t fragment_a[4];
        std::uint32_t fragment_b[4];
        block.load_matrices(a_rows + 32 * (lane % 16) + 16 * (lane / 16), fragment_a);
        block.load_matrices_transposed(b_rows + 16 * (lane % 16), fragment_b);
        float sums[4] = {1, 1, 1, 1};
        block.mma(sums, fragment_a, fragment_b[0], fragment_b[1]);
        for (int i = 0; i < 4; ++i) {
            c[(lane / 4 + 8 * (i / 2)) * 8 + 2 * (lane % 4) + i % 2] = sums[i];
        }
    }
};

TEST(EmulatedBlock, MultipliesFragmentsAsTheTensorCoresDo) {
    numeric::Draw draw{3};
    const numeric::Tensor a = draw.tensor(16 * 16, Dtype::bf16);
    const numeric::Tensor b = draw.tensor(16 * 8, Dtype::bf16);
    const auto elements = [](const numeric::Tensor& tensor) {
        return reinterpret_cast<const device::Bf16*>(tensor.view().data);
    };
    std::vector<float> c(128);
    EmulatedQueue{}.launch(ProductKernel{elements(a), elements(b), c.data()},
                           {.shared_bytes = 1024});
    for (std::int64_t i = 0; i < 128; ++i) {
        double expected = 1;
        for (std::int64_t k = 0; k < 16; ++k) {
            expected += a.at(i / 8 * 16 + k) * b.at(k * 8 + i % 8);
        }
        EXPECT_NEAR(c[static_cast<std::size_t>(i)], expected, 1e-5);
    }
    EmulatedQueue{}.launch(
        ProductKernel{.a = elements(a), .b = elements(b), .c = c.data(), .wait = false},
        {.shared_bytes = 1024});
    EXPECT_TRUE(std::isnan(c[0])) << "a copy without a wait must not be seen";
}

}  // namespace
}  // namespace orrery::emulation
