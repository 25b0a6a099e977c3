// SPDX-License-Identifier: Apache-2.0
#include "network/packet/path_selector.h"

#include <gtest/gtest.h>

#include <set>

namespace orrery::packet {
namespace {

constexpr std::uint64_t kKey = 42;

PathSelector selector(SprayKind kind, std::uint32_t paths = 64) {
    return {kind, kind == SprayKind::single ? 1 : paths, kKey, 3};
}

TEST(PathSelector, OneFlowOnePath) {
    PathSelector single = selector(SprayKind::single);
    const std::uint16_t path = single.next();
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(single.next(), path);
    }
}

TEST(PathSelector, ObliviousUsesEveryPathOnceARound) {
    PathSelector oblivious = selector(SprayKind::oblivious);
    std::vector<std::vector<std::uint16_t>> rounds;
    for (int round = 0; round < 5; ++round) {
        std::set<std::uint16_t> seen;
        rounds.emplace_back();
        for (int i = 0; i < 64; ++i) {
            rounds.back().push_back(oblivious.next());
            seen.insert(rounds.back().back() & 63);
        }
        EXPECT_EQ(seen.size(), 64U);
    }
    EXPECT_NE(rounds[0], rounds[1]);  // in another order
}

TEST(PathSelector, BitmapSkipsATrimmedPathForFourRounds) {
    PathSelector bitmap = selector(SprayKind::bitmap);
    const std::uint16_t bad = bitmap.next();
    for (int i = 1; i < 64; ++i) {
        bitmap.next();
    }
    bitmap.on_news(bad, PathNews::trimmed);  // 4 visits
    int uses = 0;
    int sent = 0;
    while (uses == 0 && sent < 1000) {
        uses += bitmap.next() == bad ? 1 : 0;
        ++sent;
    }
    EXPECT_GT(sent, 4 * 63);
    EXPECT_LE(sent, 5 * 64);
}

TEST(PathSelector, RepsRepeatsGoodPathsOnceEach) {
    PathSelector reps = selector(SprayKind::reps);
    reps.on_news(17, PathNews::good);
    reps.on_news(18, PathNews::marked);
    reps.on_news(19, PathNews::good);
    EXPECT_EQ(reps.next(), 17);
    EXPECT_EQ(reps.next(), 19);
    std::set<std::uint16_t> others;
    for (int i = 0; i < 50; ++i) {
        others.insert(reps.next());
    }
    EXPECT_GT(others.size(), 20U);  // random again
}

TEST(PathSelector, RepsStaysOnGoodPathsAfterATimeout) {
    PathSelector reps = selector(SprayKind::reps);
    for (std::uint16_t path = 1; path <= 3; ++path) {
        reps.on_news(path, PathNews::good);
    }
    reps.on_timeout();
    for (int i = 0; i < 50; ++i) {
        const std::uint16_t path = reps.next();
        EXPECT_TRUE(path >= 1 && path <= 3) << path;
    }
}

TEST(PathSelector, MixedTakesGoodPathsFirstThenTheBitmap) {
    PathSelector mixed = selector(SprayKind::mixed);
    mixed.on_news(17, PathNews::good);
    EXPECT_EQ(mixed.next(), 17);
    std::set<std::uint16_t> seen;
    for (int i = 0; i < 64; ++i) {
        seen.insert(mixed.next() & 63);
    }
    EXPECT_EQ(seen.size(), 64U);
}

}  // namespace
}  // namespace orrery::packet
