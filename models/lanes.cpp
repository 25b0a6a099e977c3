// SPDX-License-Identifier: Apache-2.0
#include "models/lanes.h"

#include <array>

namespace orrery {

std::vector<std::string> stream_names() {
    return {"compute",
            "tensor parallel",
            "context parallel",
            "data parallel",
            "receive forward",
            "send forward",
            "receive backward",
            "send backward",
            "expert parallel"};
}

const TrafficLane& lane_of(Traffic traffic) {
    static constexpr std::array<TrafficLane, 13> kLanes{{
        {kTensorStream, Cause::exposed_tensor, 0},
        {kContextStream, Cause::exposed_context, 0},
        {kContextStream, Cause::exposed_context, 10},
        {kDataStream, Cause::exposed_data, 0},
        {kDataStream, Cause::exposed_tensor, 2},
        {kDataStream, Cause::exposed_other, 1},
        {kDataStream, Cause::optimizer, 0},
        {kDataStream, Cause::exposed_other, 0},
        {kForwardReceiveStream, Cause::exposed_pipeline, 20},
        {kForwardSendStream, Cause::exposed_pipeline, 20},
        {kBackwardReceiveStream, Cause::exposed_pipeline, 21},
        {kBackwardSendStream, Cause::exposed_pipeline, 21},
        {kExpertStream, Cause::exposed_expert, 30},
    }};
    return kLanes[static_cast<std::size_t>(traffic)];
}

}  // namespace orrery
