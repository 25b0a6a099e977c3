// SPDX-License-Identifier: Apache-2.0
#include "runtime/row_exchange.h"

#include <algorithm>

#include "tests/runtime/communication/local_ranks.h"

namespace orrery {
namespace {

constexpr std::uint32_t kMembers = 3;
constexpr std::int64_t kWide = 2;
constexpr std::size_t kExpertsOfRank = 2;

// Rows that rank `from` has for expert `expert` of all.
std::int32_t rows_for(std::uint32_t from, std::size_t expert) {
    return static_cast<std::int32_t>((from * 5 + expert * 3) % 4);
}

// Rows of rank `from` in the order of experts, each number telling rank, expert and row.
std::vector<float> rows_of_rank(std::uint32_t from, std::size_t first, std::size_t experts) {
    std::vector<float> rows;
    for (std::size_t e = first; e < first + experts; ++e) {
        for (std::int32_t r = 0; r < rows_for(from, e); ++r) {
            const auto value = static_cast<float>(from * 1000 + e * 10) + static_cast<float>(r);
            rows.insert(rows.end(), {value, -value});
        }
    }
    return rows;
}

BoundOperand bound(TensorView view, const Tensor& tensor) {
    return {.view = view, .tensor = &tensor};
}

TensorView int_row_view(std::vector<std::int32_t>& values) {
    return {reinterpret_cast<std::byte*>(values.data()),
            Dtype::int32,
            static_cast<std::int64_t>(values.size())};
}

// Counts first, then rows there and back.
TEST(RowExchange, RowsComeRankByRankAndGoBack) {
    run_as_ranks(kMembers, [](std::unique_ptr<Transport> transport) {
        const std::uint32_t self = transport->rank();
        Communicator all{*transport, {0, 1, 2}, 1};
        const Tensor rows{.dtype = Dtype::fp32, .global_shape = {1, 1, kWide}};
        const Tensor counts{.dtype = Dtype::int32};
        std::vector<std::int32_t> sent;
        for (std::size_t e = 0; e < kMembers * kExpertsOfRank; ++e) {
            sent.push_back(rows_for(self, e));
        }
        std::vector<std::int32_t> received(sent.size());
        const CollectiveCall count_call{.kind = CollectiveKind::all_to_all, .wire = Dtype::int32};
        ASSERT_TRUE(is_row_exchange(count_call));
        ASSERT_TRUE(exchange_rows(count_call,
                                  {.reads = {bound(int_row_view(sent), counts)},
                                   .writes = {bound(int_row_view(received), counts)},
                                   .accumulates = {}},
                                  all));
        std::vector<float> expected;
        for (std::uint32_t from = 0; from < kMembers; ++from) {
            const std::vector<float> theirs =
                rows_of_rank(from, self * kExpertsOfRank, kExpertsOfRank);
            expected.insert(expected.end(), theirs.begin(), theirs.end());
            for (std::size_t e = 0; e < kExpertsOfRank; ++e) {
                EXPECT_EQ(received[from * kExpertsOfRank + e],
                          rows_for(from, self * kExpertsOfRank + e));
            }
        }
        std::vector<float> own = rows_of_rank(self, 0, kMembers * kExpertsOfRank);
        std::vector<float> there(expected.size() + 5, 0.5f);  // there is room for more
        std::vector<float> back(own.size() + 1, 0.5f);
        CollectiveCall call{.kind = CollectiveKind::all_to_all, .rows = {.dispatcher = 1}};
        const auto move = [&](std::vector<float>& from, std::vector<float>& to) {
            return exchange_rows(call,
                                 {.reads = {bound(view_of(std::span{from}), rows),
                                            bound(int_row_view(sent), counts),
                                            bound(int_row_view(received), counts)},
                                  .writes = {bound(view_of(std::span{to}), rows)},
                                  .accumulates = {}},
                                 all);
        };
        ASSERT_TRUE(move(own, there));
        EXPECT_TRUE(std::ranges::equal(std::span{there}.first(expected.size()), expected));
        EXPECT_EQ(there.back(), 0.5f);
        call.rows.combine = true;
        ASSERT_TRUE(move(there, back));
        EXPECT_TRUE(std::ranges::equal(std::span{back}.first(own.size()), own));
        EXPECT_EQ(back.back(), 0.5f);
    });
}

TEST(RowExchange, NeedsTheCounts) {
    Program program;
    program.collectives = {{.kind = CollectiveKind::all_to_all, .rows = {.dispatcher = 1}}};
    program.tensors.resize(2);
    program.operands = {{.tensor = TensorId{0}, .access = Access::read},
                        {.tensor = TensorId{1}, .access = Access::write}};
    const Op op{.payload = CollectiveId{0}, .num_operands = 2};
    EXPECT_NE(why_not_exchange_rows(program, op).find("with their counts"), std::string::npos);
    EXPECT_FALSE(is_row_exchange({.kind = CollectiveKind::all_to_all}));
}

}  // namespace
}  // namespace orrery
