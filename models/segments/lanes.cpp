// SPDX-License-Identifier: Apache-2.0
#include "models/segments/lanes.h"

#include <array>

namespace orrery {

std::vector<std::string> stream_names(const StreamNeeds& needs) {
    std::vector<std::string> names{"compute",
                                   "tensor parallel",
                                   "context parallel",
                                   "data parallel",
                                   "receive forward",
                                   "send forward",
                                   "receive backward",
                                   "send backward",
                                   "expert parallel",
                                   "receive forward of second chunk",
                                   "send forward of second chunk",
                                   "receive backward of second chunk",
                                   "send backward of second chunk",
                                   "from host",
                                   "to host",
                                   "from drives",
                                   "to drives",
                                   "host"};
    if (!needs.tiers) {
        names.resize(index(kFetchStream));
    }
    if (!needs.descending && !needs.tiers) {
        names.resize(needs.experts ? index(kExpertStream) + 1 : index(kExpertStream));
    }
    return names;
}

const TrafficLane& lane_of(Traffic traffic) {
    static constexpr std::array<TrafficLane, 22> kLanes{{
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
        {kDescendingForwardReceiveStream, Cause::exposed_pipeline, 22},
        {kDescendingForwardSendStream, Cause::exposed_pipeline, 22},
        {kDescendingBackwardReceiveStream, Cause::exposed_pipeline, 23},
        {kDescendingBackwardSendStream, Cause::exposed_pipeline, 23},
        {kExpertStream, Cause::exposed_expert, 30},
        {kDataStream, Cause::exposed_other, 0},
        {kFetchStream, Cause::exposed_other, 0},
        {kStoreStream, Cause::exposed_other, 0},
        {kDriveReadStream, Cause::exposed_other, 0},
        {kDriveWriteStream, Cause::exposed_other, 0},
    }};
    return kLanes[static_cast<std::size_t>(traffic)];
}

const TrafficLane& lane_of_message(Traffic traffic, bool descending) {
    constexpr int kFurther = static_cast<int>(Traffic::descending_receive_forward) -
                             static_cast<int>(Traffic::receive_forward);
    static_assert(static_cast<int>(Traffic::descending_send_backward) -
                      static_cast<int>(Traffic::send_backward) ==
                  kFurther);
    return lane_of(static_cast<Traffic>(static_cast<int>(traffic) + (descending ? kFurther : 0)));
}

}  // namespace orrery
