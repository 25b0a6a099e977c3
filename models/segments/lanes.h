// SPDX-License-Identifier: Apache-2.0
// The stream, the communicator and the cause in the waterfall that each kind of traffic has: one
// table. Traffic on communicators of its own does not have to wait for its turn behind others.
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
// Its messages have streams of their own: in one stream with the first chunk's messages, two stages
// could wait for each other.
inline constexpr StreamId kDescendingForwardReceiveStream{9};
inline constexpr StreamId kDescendingForwardSendStream{10};
inline constexpr StreamId kDescendingBackwardReceiveStream{11};
inline constexpr StreamId kDescendingBackwardSendStream{12};
// Streams of states that lie in a host's memory or files: copies to the device, from it, to and
// from its drives, and what the host's processors do beside the device's passes.
inline constexpr StreamId kFetchStream{13};
inline constexpr StreamId kStoreStream{14};
inline constexpr StreamId kDriveReadStream{15};
inline constexpr StreamId kDriveWriteStream{16};
inline constexpr StreamId kHostStream{17};

// A Program has these streams, and the ones before them, only if it uses them.
struct StreamNeeds {
    bool experts = true;      // kExpertStream
    bool descending = false;  // the four streams of descending chunks
    bool tiers = false;       // the last five
};
// Names of the streams, in StreamId order.
std::vector<std::string> stream_names(const StreamNeeds& needs = {});

enum class Traffic : std::uint8_t {
    tensor,         // activations between the ranks of a layer
    context,        // activations between the ranks of a sequence
    context_ring,   // blocks of keys and values from neighbour to neighbour
    data,           // weights and gradients between data-parallel ranks
    norm_gradient,  // gradients of norms between the ranks that share a sequence
    step_scalar,    // what the end of the step adds up over all ranks: norms
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
    store,               // and from the device
    drive_read,          // from the host's drives to its memory
    drive_write,         // and back
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
