// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding/embedding_cuda.h"

#include <algorithm>

#include "kernels/embedding/embedding_device.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace {

using emulation::EmulatedQueue;
using emulation::ThreadOrder;
using numeric::Draw;
using numeric::Tensor;

ConstTensorView ids_view(const std::vector<std::int32_t>& ids) {
    return view_of(std::span<const std::int32_t>{ids});
}

TEST(TokenSort, IsTheStableOrderOfIds) {
    for (const std::int64_t tokens : {1, 5, 2048, 2049, 7000}) {
        for (const std::int32_t highest : {0, 3, 50'000}) {
            Draw draw{11};
            const auto ids = draw.ids(tokens, 0, highest);
            std::vector<std::uint64_t> expected;
            for (std::size_t i = 0; i < ids.size(); ++i) {
                expected.push_back(static_cast<std::uint64_t>(ids[i]) << 32 | i);
            }
            std::sort(expected.begin(), expected.end());
            std::vector<std::uint64_t> scratch(2 * ids.size());
            EmulatedQueue queue{ThreadOrder::descending};
            const std::uint64_t* sorted = sort_tokens(queue, ids.data(), tokens, scratch.data());
            EXPECT_TRUE(std::equal(expected.begin(), expected.end(), sorted)) << tokens;
        }
    }
}

TEST(EmbeddingCuda, IsTheCpusBitByBit) {
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
        Draw draw{seed};
        const Dtype dtype = draw.coin() ? Dtype::fp32 : Dtype::bf16;
        const cpu::EmbeddingShape s{
            .tokens = seed % 4 == 0 ? 1500 : draw.between(1, 60),  // 90 of an id: frequent ones
            .hidden = draw.coin() ? draw.between(1, 20) : 8 * draw.between(1, 20),
            .rows = draw.between(1, 12),
            .first_row = draw.between(0, 4)};
        const auto ids = draw.ids(s.tokens, 0, 15);
        const Tensor table = draw.tensor(s.rows * s.hidden, dtype);
        const Tensor drows = draw.tensor(s.tokens * s.hidden, dtype);
        Tensor rows{drows.size(), dtype};
        Tensor expected_rows = rows;
        Tensor dtable = draw.tensor(table.size(), draw.coin() ? Dtype::fp32 : Dtype::bf16);
        Tensor expected_dtable = dtable;
        EmulatedQueue queue;
        embedding_forward(queue, s, ids_view(ids), table.view(), rows.view());
        embedding_backward(queue, s, ids_view(ids), drows.view(), dtable.view());
        cpu::embedding_forward(s, ids_view(ids), table.view(), expected_rows.view());
        cpu::embedding_backward(s, ids_view(ids), drows.view(), expected_dtable.view());
        EXPECT_TRUE(rows == expected_rows && dtable == expected_dtable) << seed;
    }
}

TEST(PositionCuda, IsTheCpusBitByBit) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Draw draw{seed};
        const Dtype dtype = draw.coin() ? Dtype::fp32 : Dtype::bf16;
        const cpu::PositionShape s{
            .sequence = balanced_positions(4, 1, 2),
            .batch = draw.between(1, 3),
            .hidden = draw.coin() ? draw.between(1, 20) : 8 * draw.between(1, 20)};
        const Tensor table = draw.tensor(8 * s.hidden, dtype);
        Tensor x = draw.tensor(4 * s.batch * s.hidden, dtype);
        Tensor expected = x;
        Tensor dtable = draw.tensor(table.size(), Dtype::fp32);
        Tensor expected_dtable = dtable;
        EmulatedQueue queue;
        position_backward(queue, s, x.view(), dtable.view());
        cpu::position_backward(s, x.view(), expected_dtable.view());
        position_forward(queue, s, table.view(), x.view());
        cpu::position_forward(s, table.view(), expected.view());
        EXPECT_TRUE(x == expected && dtable == expected_dtable) << seed;
    }
}

}  // namespace
}  // namespace orrery::device
