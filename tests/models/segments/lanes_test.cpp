// SPDX-License-Identifier: Apache-2.0
#include "models/segments/lanes.h"

#include <gtest/gtest.h>

#include "models/segments/hazards.h"

namespace orrery {
namespace {

// What runs at the same time must not wait for its turn on one stream or communicator.
TEST(Lanes, KeepApartWhatOverlaps) {
    const auto apart = [](Traffic a, Traffic b) {
        EXPECT_NE(lane_of(a).stream, lane_of(b).stream);
    };
    apart(Traffic::tensor, Traffic::context);
    apart(Traffic::tensor, Traffic::data);
    apart(Traffic::context, Traffic::data);
    apart(Traffic::send_forward, Traffic::receive_forward);
    apart(Traffic::send_forward, Traffic::send_backward);
    apart(Traffic::fetch, Traffic::store);
    apart(Traffic::fetch, Traffic::data);
    apart(Traffic::drive_read, Traffic::drive_write);
    apart(Traffic::drive_read, Traffic::fetch);
    EXPECT_NE(lane_of(Traffic::norm_gradient).communicator, lane_of(Traffic::tensor).communicator);
    EXPECT_NE(lane_of(Traffic::context_ring).communicator, lane_of(Traffic::context).communicator);
    EXPECT_NE(lane_of(Traffic::send_forward).communicator,
              lane_of(Traffic::send_backward).communicator);
}

TEST(Lanes, BothSidesOfAMessageShareACommunicator) {
    EXPECT_EQ(lane_of(Traffic::send_forward).communicator,
              lane_of(Traffic::receive_forward).communicator);
    EXPECT_EQ(lane_of(Traffic::send_backward).communicator,
              lane_of(Traffic::receive_backward).communicator);
}

TEST(Lanes, RunOnStreamsThatHaveNames) {
    EXPECT_EQ(stream_names().size(), 9u);
    EXPECT_EQ(stream_names({.experts = false}).size(), 8u);
    EXPECT_EQ(stream_names({.descending = true}).size(), 13u);
    const std::size_t streams = stream_names({.tiers = true}).size();
    EXPECT_EQ(streams, kNumStreams);
    for (std::size_t t = 0; t <= static_cast<std::size_t>(Traffic::drive_write); ++t) {
        const TrafficLane& lane = lane_of(static_cast<Traffic>(t));
        EXPECT_LT(index(lane.stream), streams);
        EXPECT_NE(lane.stream, kComputeStream);
    }
}

// Messages of a chunk whose passes go to the stage before never wait for those of the other chunk.
TEST(Lanes, MessagesBothWaysAreApart) {
    for (const Traffic traffic : {Traffic::receive_forward,
                                  Traffic::send_forward,
                                  Traffic::receive_backward,
                                  Traffic::send_backward}) {
        const TrafficLane& one = lane_of_message(traffic, false);
        const TrafficLane& other = lane_of_message(traffic, true);
        EXPECT_EQ(&one, &lane_of(traffic));
        EXPECT_NE(one.stream, other.stream);
        EXPECT_NE(one.communicator, other.communicator);
    }
    EXPECT_EQ(lane_of_message(Traffic::send_forward, true).communicator,
              lane_of_message(Traffic::receive_forward, true).communicator);
}

}  // namespace
}  // namespace orrery
