// SPDX-License-Identifier: Apache-2.0
#include "models/segments/hazards.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace orrery {
namespace {

using Waits = std::vector<std::pair<int, std::size_t>>;  // place, stream

Waits waits_of(const TensorUses<int>& uses, Access access) {
    Waits waits;
    uses.for_each_wait(access, [&](int place, StreamId stream) {
        if (place != 0) {
            waits.emplace_back(place, index(stream));
        }
    });
    return waits;
}

TEST(Hazards, AReadWaitsForTheLastWriter) {
    TensorUses<int> uses;
    EXPECT_EQ(waits_of(uses, Access::read), Waits{});
    uses.add(Access::write, 1, StreamId{0});
    uses.add(Access::read, 2, StreamId{1});
    EXPECT_EQ(waits_of(uses, Access::read), (Waits{{1, 0}}));
    uses.add(Access::accumulate, 3, StreamId{2});
    EXPECT_EQ(waits_of(uses, Access::read), (Waits{{3, 2}}));
}

TEST(Hazards, AWriteAlsoWaitsForTheReadersSince) {
    for (const Access access : {Access::write, Access::accumulate}) {
        TensorUses<int> uses;
        uses.add(Access::read, 1, StreamId{4});
        uses.add(Access::write, 2, StreamId{0});
        EXPECT_EQ(waits_of(uses, access), (Waits{{2, 0}}));
        uses.add(Access::read, 3, StreamId{1});
        uses.add(Access::read, 4, StreamId{1});  // implies the one before on its stream
        uses.add(Access::read, 5, StreamId{3});
        EXPECT_EQ(waits_of(uses, access), (Waits{{2, 0}, {4, 1}, {5, 3}}));
        uses.add(access, 6, StreamId{3});
        uses.add(Access::read, 7, StreamId{0});
        EXPECT_EQ(waits_of(uses, access), (Waits{{6, 3}, {7, 0}}));
    }
}

}  // namespace
}  // namespace orrery
