// SPDX-License-Identifier: Apache-2.0
// What an execution remembers: per rank class and stream the item that is next or under way, per
// transfer in flight its phase and who takes part. Nothing is kept of what has ended but the last
// end of each stream and the path to it: waits ask how many items a stream has ended.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/critical_path.h"
#include "engine/participants.h"
#include "engine/role_tape.h"
#include "engine/units.h"

namespace orrery {

enum class StreamPhase : std::uint8_t {
    ready,      // its next item is to be looked at
    blocked,    // waits on another stream
    launching,  // a communication op whose launch lies ahead
    running,    // a run
    promised,   // a run, and it has told the collective after it when it will arrive
    arrived,    // a communication op
    meeting,    // a collective of a team that keeps time on its own
    done,       // with the step
    lost,       // with its rank
};

// What other streams ask for lies on the first cache line.
struct alignas(64) StreamState {
    Time ended;                       // the last item's end
    std::uint32_t item = 0;           // the next or the one under way = items ended in this step
    std::uint32_t awaited_items = 0;  // while blocked: how many ended items it waits for
    std::uint8_t awaited_stream = 0;  // of this stream
    StreamPhase phase = StreamPhase::done;
    std::uint8_t stream = 0;     // its own number
    bool slows_kernels = false;  // would its ops' SMs be missing on other streams?
    bool traced = false;
    bool ends_differ = false;      // those of ends_seen
    std::uint32_t generation = 0;  // of its event that counts
    std::uint32_t rank = 0;        // class
    std::uint32_t size = 0;        // of the class, or of all classes of a team
    std::uint32_t parts_left = 0;  // of an arrived op
    Time start;                    // of the item under way
    Time due;                      // of its event
    const TapeStream* tape = nullptr;
    Time queued = Time::max();  // when its event comes, no later than due; max: it has none
    Time last_end;              // of an arrived op's parts
    // While promised: the one that it will join. Of a team: the first of ends_seen that ended.
    std::uint32_t transfer = 0;
    std::uint32_t ends_seen = 0;      // members of the team whose part has ended at this instant
    std::uint32_t held_sms = 0;       // while arrived
    std::uint32_t first_channel = 0;  // of the rank, in Quotient::channel_of
    CauseTimes path;                  // to `ended`; of an arrived op to its last part that ended
};

// What every event asks for lies on the first cache line.
struct alignas(64) RankState {
    const RoleTape* tape = nullptr;
    Time host_start;
    std::uint32_t role = 0;
    std::uint16_t device = 0;
    bool lost : 1 = false;
    bool in_last_step : 1 = false;  // of its party's run
    bool own_time = false;    // of a leader: its streams have no events (engine/own_time.h)
    std::uint32_t width = 1;  // of a leader: how many classes it stands for
    std::uint32_t held_sms = 0;
    std::uint64_t running = 0;  // bit s: stream s is in a run
    std::uint64_t blocked = 0;  // bit s: stream s is blocked
    // Of a leader with its own time:
    std::uint64_t pending = 0;  // bit s: what stream s does ends when it is due
    std::uint32_t wake_generation = 0;
    std::uint32_t step = 0;
    Time wake = Time::max();    // when its event comes
    Time kernel_time;           // in the last step; of a follower: less what its leader has
    std::uint64_t led = 1;      // of a leader: which, by position in the team
    std::uint64_t leaving = 0;  // of a leader: which of these go on without the others
    bool leave_alone = false;   // of a leader: those do not even go on together
    std::uint32_t streams_left = 0;
    CauseTimes host_path;  // to host_start
};

inline constexpr std::uint32_t kNoTransfer = UINT32_MAX;
inline constexpr std::uint32_t kNoTeam = UINT32_MAX;

// One channel class, and its transfers in flight.
struct alignas(64) ChannelState {
    std::uint32_t first_message = 0;  // Transfers::messages
    std::uint32_t num_members = 0;
    std::uint32_t team = kNoTeam;   // the one of several that meets on it
    std::uint32_t meets = kNoTeam;  // the same, be it of one
    std::uint32_t open = kNoTransfer;
    std::uint32_t first_disturbed = 0;  // Quotient::disturbed
    std::uint32_t num_disturbed = 0;
    // Of one that is mostly alone: the transfer that is, or how many flows share links with it.
    std::uint32_t lone = kNoTransfer;
    std::int32_t busy = 0;
    bool mostly_alone = false;
    std::uint32_t bundle = UINT32_MAX;  // Bundles::bundles
    std::uint32_t bundle_size = 0;
    std::uint32_t bundle_first = UINT32_MAX;  // its first channel
    // Of a bundle's first channel, on which those lie that stand for all: of the others.
    std::uint32_t num_apart = 0;
};

struct alignas(64) OpenTransfer {
    Time data_start;
    std::uint32_t channel = 0;   // class
    std::uint32_t message = 0;   // position in Transfers::messages
    std::uint32_t sequence = 0;  // of the channel, over all steps
    std::uint32_t missing = 0;   // members that have not arrived
    std::uint32_t phase = 0;
    std::uint32_t pending = 0;  // parts of the phase under way
    std::uint32_t generation = 0;
    std::uint32_t next = kNoTransfer;  // open on the same channel
    bool in_latency = false;
    bool lone = false;      // no flow, and ends when it would alone
    bool promised = false;  // to a participant that is still under way
    bool lost = false;      // it never ends
    bool bundle = false;    // it stands for those of all channels of the bundle (engine/bundles.h)
    // Streams, as positions in Execution::streams_. Of a bundle one for each team that has joined.
    Participants participants;
    LatestPath arrival;
};

}  // namespace orrery
