// SPDX-License-Identifier: Apache-2.0
// The table of traffic kinds: the stream, the communicator and the waterfall's cause of each.
// Traffic with a communicator of its own need not wait for other traffic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/ids.h"
#include "engine/program/cause.h"

namespace orrery {

// The streams of every rank.
inline constexpr StreamId kComputeStream{0};
inline constexpr StreamId kTensorStream{1};
inline constexpr StreamId kContextStream{2};
inline constexpr StreamId kDataStream{3};
inline constexpr StreamId kForwardReceiveStream{4};
inline constexpr StreamId kForwardSendStream{5};
inline constexpr StreamId kBackwardReceiveStream{6};
inline constexpr StreamId kBackwardSendStream{7};
inline constexpr StreamId kExpertStream{8};
// A chunk is descending if its forward passes send to the previous stage (DualPipe's second chunk).
// Its messages have streams of their own. If they shared a stream with the first chunk's messages,
// two stages could wait for each other.
inline constexpr StreamId kDescendingForwardReceiveStream{9};
inline constexpr StreamId kDescendingForwardSendStream{10};
inline constexpr StreamId kDescendingBackwardReceiveStream{11};
inline constexpr StreamId kDescendingBackwardSendStream{12};
// Streams for states in a host's memory or files: copies to the device, copies from it, reads and
// writes of the drives, and work of the host's processors beside the device's passes.
inline constexpr StreamId kFetchStream{13};
inline constexpr StreamId kStoreStream{14};
inline constexpr StreamId kDriveReadStream{15};
inline constexpr StreamId kDriveWriteStream{16};
inline constexpr StreamId kHostStream{17};

// Optional streams. A Program that uses one of them also has the streams with lower ids.
struct StreamNeeds {
    bool experts = true;      // kExpertStream
    bool descending = false;  // the four streams of descending chunks
    bool tiers = false;       // the last five
};
// The names of the streams, in the order of StreamId.
std::vector<std::string> stream_names(const StreamNeeds& needs = {});

enum class Traffic : std::uint8_t {
    tensor,         // activations between tensor-parallel ranks
    context,        // activations between ranks that share a sequence
    context_ring,   // blocks of keys and values from neighbour to neighbour
    data,           // weights and gradients between data-parallel ranks
    norm_gradient,  // gradients of norms between ranks that share a sequence
    step_scalar,    // norms that are summed over all ranks at the end of the step
    offload,        // between a device and its host
    tied_gradient,  // of the embedding, between the stages that hold a copy
    receive_forward,
    send_forward,
    receive_backward,
    send_backward,
    descending_receive_forward,
    descending_send_forward,
    descending_receive_backward,
    descending_send_backward,
    expert,              // rows of tokens between the ranks that share a layer's experts
    activation_offload,  // inputs of layers between a device and its host
    fetch,               // weights and gradients from the host's memory to the device
    store,               // the same from the device to the host's memory
    drive_read,          // from the host's drives to its memory
    drive_write,         // from the host's memory to its drives
};

struct TrafficLane {
    StreamId stream{};
    Cause cause = Cause::exposed_other;
    std::uint16_t communicator = 0;
};
const TrafficLane& lane_of(Traffic traffic);
// The lane of a message between stages: `traffic` is receive_forward, send_forward,
// receive_backward or send_backward.
const TrafficLane& lane_of_message(Traffic traffic, bool descending);

}  // namespace orrery
