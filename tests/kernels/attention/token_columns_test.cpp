// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/token_columns.h"

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Tensor;

constexpr AttentionShape kShape{
    .batch = 2, .seq_q = 3, .seq_kv = 3, .heads = 4, .kv_heads = 2, .head_dim = 5};
constexpr std::int64_t kSixTokens = 6;
constexpr std::int64_t kWidth = (4 + 2 * 2) * 5;
constexpr std::int64_t kBlockWidth = 2 * 2 * 5;

// Where the first element of a token lies.
std::int64_t at(const ConstTokenColumns& columns, std::int64_t token) {
    return token * columns.width + columns.first_column;
}

TEST(TokenColumns, APackedTensorIsQueriesThenKeysThenValues) {
    Tensor qkv{kSixTokens * kWidth, Dtype::fp32};
    EXPECT_EQ(at(packed_query(kShape, qkv.view()), 3), 3 * 40);
    EXPECT_EQ(at(packed_key(kShape, qkv.view()), 3), 3 * 40 + 20);
    EXPECT_EQ(at(packed_value(kShape, qkv.view()), 3), 3 * 40 + 30);
    Tensor block{kSixTokens * kBlockWidth, Dtype::fp32};
    EXPECT_EQ(at(block_key(kShape, block.view()), 3), 3 * 20);
    EXPECT_EQ(at(block_value(kShape, block.view()), 3), 3 * 20 + 10);
}

TEST(TokenColumns, ABlockIsCopiedOutAndItsGradientAddedBack) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        numeric::Draw draw{5};
        Tensor qkv = draw.tensor(kSixTokens * kWidth, dtype);
        const Tensor before = qkv;
        Tensor block{kSixTokens * kBlockWidth, dtype};
        copy_key_value(kShape, qkv.view(), block.view());
        add_key_value(kShape, block.view(), qkv.view());
        for (std::int64_t token = 0; token < kSixTokens; ++token) {
            for (std::int64_t c = 0; c < kWidth; ++c) {
                const std::int64_t i = token * kWidth + c;
                EXPECT_EQ(qkv.at(i), (c < 20 ? 1 : 2) * before.at(i));
                if (c >= 20) {
                    EXPECT_EQ(block.at(token * kBlockWidth + c - 20), before.at(i));
                }
            }
        }
    }
}

TEST(TokenColumns, QueriesOfOneTensorJoinTheKeysAndValuesOfABlock) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        numeric::Draw draw{6};
        constexpr std::int64_t kQueries = 20;
        constexpr std::int64_t kNarrow = kQueries + 6;  // with fewer keys and values than the block
        const Tensor narrow = draw.tensor(kSixTokens * kNarrow, dtype);
        const Tensor block = draw.tensor(kSixTokens * kBlockWidth, dtype);
        Tensor qkv{kSixTokens * kWidth, dtype};
        join_key_value(kSixTokens, narrow.view(), block.view(), qkv.view());
        for (std::int64_t token = 0; token < kSixTokens; ++token) {
            for (std::int64_t c = 0; c < kWidth; ++c) {
                EXPECT_EQ(qkv.at(token * kWidth + c),
                          c < kQueries ? narrow.at(token * kNarrow + c)
                                       : block.at(token * kBlockWidth + c - kQueries));
            }
        }
    }
}

}  // namespace
}  // namespace orrery::cpu
