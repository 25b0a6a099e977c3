// SPDX-License-Identifier: Apache-2.0
#include "runtime/communication/communicator.h"

#include <bit>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/runtime/communication/local_ranks.h"

namespace orrery {
namespace {

// What rank `r` brings: numbers whose sum depends on the order of addition.
std::vector<float> values_of(std::uint32_t rank, std::size_t count) {
    std::mt19937 random{rank + 1};
    std::vector<float> values(count);
    for (float& value : values) {
        const auto mantissa = static_cast<float>(random() % 2000) - 1000.f;
        value = std::ldexp(mantissa, static_cast<int>(random() % 30) - 15);
    }
    return values;
}

// Their sum in fp32, pairs of neighbours first: that of the largest power of two of the ranks, and
// that of the others.
std::vector<float> sum_of(const std::vector<std::uint32_t>& ranks, std::size_t count) {
    if (ranks.size() == 1) {
        return values_of(ranks[0], count);
    }
    const auto middle =
        ranks.begin() + static_cast<std::ptrdiff_t>(std::bit_floor(ranks.size() - 1));
    std::vector<float> sum = sum_of({ranks.begin(), middle}, count);
    const std::vector<float> other = sum_of({middle, ranks.end()}, count);
    for (std::size_t i = 0; i < count; ++i) {
        sum[i] += other[i];
    }
    return sum;
}

std::vector<std::uint32_t> first_ranks(std::uint32_t n) {
    std::vector<std::uint32_t> ranks(n);
    std::iota(ranks.begin(), ranks.end(), 0u);
    return ranks;
}

TEST(Communicator, AllReduceAddsPairsOfRanksFirstToTheBit) {
    for (const std::uint32_t n : {2u, 3u, 8u}) {
        run_as_ranks(n, [n](std::unique_ptr<Transport> transport) {
            Communicator all{*transport, first_ranks(n), 1};
            // Fewer elements than ranks, some that do not divide, none at all.
            for (const std::size_t count : {1u, 5u, 1'000u, 0u, 65'537u}) {
                std::vector<float> values = values_of(transport->rank(), count);
                ASSERT_TRUE(all.all_reduce(view_of(std::span{values})));
                EXPECT_EQ(values, sum_of(first_ranks(n), count)) << n << " ranks, " << count;
            }
        });
    }
}

TEST(Communicator, PartsOfReduceScatterAndAllReduceAreTheSameBits) {
    constexpr std::uint32_t kRanks = 4;
    constexpr std::size_t kPart = 77;
    run_as_ranks(kRanks, [](std::unique_ptr<Transport> transport) {
        Communicator all{*transport, first_ranks(kRanks), 1};
        const std::vector<float> in = values_of(transport->rank(), kRanks * kPart);
        std::vector<float> part(kPart);
        ASSERT_TRUE(all.reduce_scatter(const_view_of(in), view_of(std::span{part})));
        std::vector<float> gathered(kRanks * kPart);
        ASSERT_TRUE(all.all_gather(const_view_of(part), view_of(std::span{gathered})));
        EXPECT_EQ(gathered, sum_of(first_ranks(kRanks), kRanks * kPart));
    });
}

TEST(Communicator, SumsOfBf16AreRoundedOnce) {
    constexpr std::uint32_t kRanks = 3;
    run_as_ranks(kRanks, [](std::unique_ptr<Transport> transport) {
        Communicator all{*transport, first_ranks(kRanks), 1};
        // 1 + 2^-9 + 2^-9: each addition alone would be rounded away in bf16's 8 bits.
        std::vector<std::uint16_t> bits{
            bf16_of_float(transport->rank() == 0 ? 1.f : std::ldexp(1.f, -8))};
        const TensorView vector{reinterpret_cast<std::byte*>(bits.data()), Dtype::bf16, 1};
        ASSERT_TRUE(all.all_reduce(vector));
        EXPECT_EQ(load(vector, 0), 1.f + std::ldexp(1.f, -7));
    });
}

TEST(Communicator, EveryOtherOperationMovesWhatItShould) {
    constexpr std::uint32_t kRanks = 4;
    run_as_ranks(kRanks, [](std::unique_ptr<Transport> transport) {
        Communicator all{*transport, first_ranks(kRanks), 7};
        const auto rank = static_cast<float>(transport->rank());
        std::vector<float> greatest{rank, -rank};
        ASSERT_TRUE(all.all_reduce_max(view_of(std::span{greatest})));
        EXPECT_EQ(greatest, (std::vector<float>{3, 0}));

        std::vector<float> in;
        for (std::uint32_t to = 0; to < kRanks; ++to) {
            in.push_back(10 * rank + static_cast<float>(to));
        }
        std::vector<float> out(kRanks);
        ASSERT_TRUE(all.all_to_all(const_view_of(in), view_of(std::span{out})));
        for (std::uint32_t from = 0; from < kRanks; ++from) {
            EXPECT_EQ(out[from], 10 * static_cast<float>(from) + rank);
        }
        std::vector<float> told{rank};
        ASSERT_TRUE(all.broadcast(view_of(std::span{told}), 2));
        EXPECT_EQ(told[0], 2);
        ASSERT_TRUE(all.barrier());
    });
}

// Keeps the peers of the messages that it is given, and carries nothing.
class KeepsPeers final : public Transport {
public:
    std::uint32_t rank() const override { return 9; }
    std::uint32_t num_ranks() const override { return 16; }
    Result<void> exchange(std::span<const Message> messages) override {
        for (const Message& m : messages) {
            (m.is_send ? to : from).push_back(m.peer);
        }
        return {};
    }
    Result<void> post_send(const Message&) override { return {}; }
    Result<void> flush() override { return {}; }

    std::vector<std::uint32_t> to;
    std::vector<std::uint32_t> from;
};

// Distances 1 3 6 2 7 5 4 from member 1 of 8, ahead to send and behind to receive.
TEST(Communicator, ExchangesTurnToPeersInNcclsOrder) {
    const std::vector<std::uint32_t> members{8, 9, 10, 11, 12, 13, 14, 15};
    const std::vector<std::uint32_t> ahead{10, 12, 15, 11, 8, 14, 13};
    const std::vector<std::uint32_t> behind{8, 14, 11, 15, 10, 12, 13};
    const std::vector<float> in(16, 1);
    std::vector<float> out(16);
    KeepsPeers equal;
    Communicator of_equal{equal, members, 1};
    ASSERT_TRUE(of_equal.all_to_all(const_view_of(in), view_of(std::span{out})));
    EXPECT_EQ(equal.to, ahead);
    EXPECT_EQ(equal.from, behind);
    KeepsPeers parts;
    Communicator of_parts{parts, members, 1};
    const std::vector<std::int64_t> twos(8, 2);
    ASSERT_TRUE(of_parts.all_to_all_parts(const_view_of(in), twos, view_of(std::span{out}), twos));
    EXPECT_EQ(parts.to, ahead);
    EXPECT_EQ(parts.from, behind);
}

TEST(Communicator, GroupsWithCommonMembersDoNotMixTheirMessages) {
    constexpr std::uint32_t kRanks = 4;
    run_as_ranks(kRanks, [](std::unique_ptr<Transport> transport) {
        const std::uint32_t rank = transport->rank();
        const std::vector<std::uint32_t> row{rank / 2 * 2, rank / 2 * 2 + 1};
        const std::vector<std::uint32_t> column{rank % 2, rank % 2 + 2};
        Communicator along_row{*transport, row, 1};
        Communicator along_column{*transport, column, 2};
        std::vector<float> values = values_of(rank, 100);
        ASSERT_TRUE(along_row.all_reduce(view_of(std::span{values})));
        EXPECT_EQ(values, sum_of(row, 100));
        ASSERT_TRUE(along_column.all_reduce(view_of(std::span{values})));
        for (std::size_t i = 0; i < values.size(); ++i) {
            EXPECT_EQ(values[i], sum_of({0, 1}, 100)[i] + sum_of({2, 3}, 100)[i]);
        }
    });
}

// Of parts of any size, one of them empty.
TEST(Communicator, PartsAreGatheredAndTheirSumsScattered) {
    const std::vector<std::int64_t> parts{3, 0, 5};
    run_as_ranks(3, [&](std::unique_ptr<Transport> transport) {
        Communicator all{*transport, first_ranks(3), 1};
        const std::uint32_t self = transport->rank();
        const auto own = static_cast<std::size_t>(parts[self]);
        const std::vector<float> part = values_of(self, own);
        std::vector<float> whole(9, 0.5f);
        ASSERT_TRUE(all.all_gather_parts(const_view_of(part), view_of(std::span{whole}), parts));
        std::vector<float> expected = values_of(0, 3);
        const std::vector<float> last = values_of(2, 5);
        expected.insert(expected.end(), last.begin(), last.end());
        expected.push_back(0.5f);  // there is room for more
        EXPECT_EQ(whole, expected);

        const std::vector<float> terms = values_of(self, 8);
        std::vector<float> sum(own + 1, 0.5f);
        ASSERT_TRUE(all.reduce_scatter_parts(const_view_of(terms), parts, view_of(std::span{sum})));
        const std::vector<float> sums = sum_of(first_ranks(3), 8);
        const auto first = sums.begin() + (self == 2 ? 3 : self == 1 ? 3 : 0);
        std::vector<float> of_own(first, first + static_cast<std::ptrdiff_t>(own));
        of_own.push_back(0.5f);
        EXPECT_EQ(sum, of_own);
    });
}

}  // namespace
}  // namespace orrery
