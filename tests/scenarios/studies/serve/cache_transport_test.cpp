// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/cache_transport.h"

#include <gtest/gtest.h>

#include <map>

#include "scenarios/format/read/reader.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

using namespace literals;

const Transformer kModel = llama(80, 8192, 28672, 8, 128256);

ServingPlan plan(std::int64_t tp, std::int64_t pp) {
    return {.tensor_model_parallel_size = tp, .pipeline_model_parallel_size = pp};
}

TEST(CacheTransport, EachRankPullsWhatItHolds) {
    for (const ServingPlan& from : {plan(8, 1), plan(4, 2), plan(16, 1), plan(1, 3)}) {
        for (const ServingPlan& to : {plan(8, 1), plan(2, 4), plan(16, 1), plan(1, 1)}) {
            std::map<std::int64_t, std::int64_t> pulled;
            for (const CachePiece& piece : cache_pieces(kModel, from, to)) {
                EXPECT_GE(piece.from, 0);
                EXPECT_LT(piece.from,
                          from.tensor_model_parallel_size * from.pipeline_model_parallel_size);
                pulled[piece.to] += piece.bytes;
            }
            const std::int64_t tp = to.tensor_model_parallel_size;
            EXPECT_EQ(static_cast<std::int64_t>(pulled.size()),
                      tp * to.pipeline_model_parallel_size);
            for (const auto& [rank, bytes] : pulled) {
                EXPECT_EQ(bytes, key_value_bytes_of_rank(kModel, to, rank / tp).count());
            }
        }
    }
}

TEST(CacheTransport, EqualPlansMoveRankByRank) {
    const std::vector<CachePiece> pieces = cache_pieces(kModel, plan(8, 1), plan(8, 1));
    ASSERT_EQ(pieces.size(), 8U);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto rank = static_cast<std::int64_t>(i);
        EXPECT_EQ(pieces[i], (CachePiece{.from = rank, .to = rank, .bytes = 40'960}));
    }
}

class FabricTransportTest : public ::testing::Test {
protected:
    // Two instances that compute prompts and one that generates, a server each.
    FabricTransportTest() {
        ReadOptions options;
        options.network_only = true;
        options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
        const Scenario cluster =
            read_scenario_text(
                "cluster: {nodes: 3, node: dgx-h100, fabric: ndr400-rail}\n", "test", ".", options)
                .value();
        transport =
            FabricTransport::make(
                cluster, kModel, {.plan = plan(8, 1)}, {.plan = plan(8, 1), .first_rank = 16})
                .value();
    }
    // The time of the last end.
    Time drain() {
        Time now;
        std::vector<RequestId> ended;
        while (transport->next_end() != Time::max()) {
            now = transport->next_end();
            transport->pop_ended(now, ended);
        }
        return now;
    }

    std::unique_ptr<FabricTransport> transport;
};

// 2,048 tokens of 327,680 bytes over eight NICs of 400 Gb/s: 1.7 ms at the line rate.
TEST_F(FabricTransportTest, APromptTakesItsBytesOverItsNics) {
    transport->start(1_ms, to_id<RequestId>(7), 0, 0, {.end = 2048});
    const Time taken = drain() - 1_ms;
    const double line = 2048 * 40'960.0 / 50e9;
    EXPECT_GT(taken.seconds(), line);
    EXPECT_LT(taken.seconds(), 1.2 * line);
    EXPECT_EQ(transport->moved(), Bytes{2048 * std::int64_t{327'680}});
    EXPECT_EQ(transport->ended(), 1);
    EXPECT_EQ(transport->total(), taken);
}

// Parts of a prompt add up to its bytes, whichever layers they are.
TEST_F(FabricTransportTest, LayersMoveTheirShareOfTheBytes) {
    transport->start(Time{}, to_id<RequestId>(7), 0, 0, {.end = 2048 * 79, .layers = 80});
    const Time most = drain();
    EXPECT_EQ(transport->moved(), Bytes{2048 * std::int64_t{327'680} / 80 * 79});
    transport->start(
        most, to_id<RequestId>(7), 0, 0, {.begin = 2048 * 79, .end = 2048 * 80, .layers = 80});
    EXPECT_LT(drain() - most, most);
    EXPECT_EQ(transport->ended(), 1);
    EXPECT_EQ(transport->moved(), Bytes{2048 * std::int64_t{327'680}});
}

TEST_F(FabricTransportTest, TwoPromptsShareTheReceiversNics) {
    transport->start(Time{}, to_id<RequestId>(0), 0, 0, {.end = 2048});
    const Time alone = drain();
    transport->start(alone, to_id<RequestId>(1), 0, 0, {.end = 2048});
    transport->start(alone, to_id<RequestId>(2), 1, 0, {.end = 2048});
    const Time both = drain() - alone;
    EXPECT_GT(both.seconds(), 1.8 * alone.seconds());
    EXPECT_LT(both.seconds(), 2.05 * alone.seconds());
}

}  // namespace
}  // namespace orrery
