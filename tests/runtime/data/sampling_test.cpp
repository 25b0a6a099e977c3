// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/sampling.h"

#include <gtest/gtest.h>

#include <set>

namespace orrery {
namespace {

Tokens counting(int n) {
    std::vector<std::uint16_t> ids;
    for (int i = 0; i < n; ++i) {
        ids.push_back(static_cast<std::uint16_t>(i));
    }
    return Tokens::of(ids, n);
}

TEST(Sampling, LabelsFollowTheirInputs) {
    const SampleOrder order{.seed = 5, .seq_length = 7};
    const auto batch = draw_batch(counting(100), order, 100, 3, 8, 4);
    ASSERT_TRUE(batch);
    for (std::size_t s = 0; s < 7; ++s) {
        for (std::size_t b = 0; b < 4; ++b) {
            const std::int32_t id = batch->inputs[s * 4 + b];
            EXPECT_EQ(batch->labels[s * 4 + b], id + 1);
            EXPECT_EQ(id,
                      order.place(3, 8 + static_cast<std::int64_t>(b), 100) +
                          static_cast<std::int64_t>(s));
        }
    }
}

TEST(Sampling, DoesNotDependOnHowTheBatchIsCutUp) {
    const SampleOrder order{.seed = 5, .seq_length = 3};
    const auto whole = draw_batch(counting(100), order, 100, 9, 0, 2);
    const auto second = draw_batch(counting(100), order, 100, 9, 1, 1);
    for (std::size_t s = 0; s < 3; ++s) {
        EXPECT_EQ(whole->inputs[s * 2 + 1], second->inputs[s]);
    }
}

TEST(Sampling, ReachesEveryPlaceAndNoOther) {
    const SampleOrder order{.seed = 1, .seq_length = 4};
    std::set<std::int64_t> places;
    for (std::int64_t step = 0; step < 200; ++step) {
        places.insert(order.place(step, step % 3, 10));
    }
    EXPECT_EQ(places, (std::set<std::int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Sampling, RefusesIdsOutsideTheVocabulary) {
    const SampleOrder order{.seed = 1, .seq_length = 50};
    const auto batch = draw_batch(counting(60), order, 40, 0, 0, 1);
    ASSERT_FALSE(batch);
    EXPECT_NE(batch.error().what.find("vocab_size is 40"), std::string::npos);
}

}  // namespace
}  // namespace orrery
