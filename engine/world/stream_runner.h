// SPDX-License-Identifier: Apache-2.0
// Works off the items of each stream in order: looks whether what an item waits for has ended and
// whether its launch is past, hands it to the part that runs it, and goes on with what its end
// makes ready. A stream has at most one event: the end of its run, or a launch.
#pragma once

#include "engine/world/execution_part.h"

namespace orrery {

class StreamRunner : ExecutionPart {
public:
    using ExecutionPart::ExecutionPart;

    // The next item of the stream is to be looked at by process_ready().
    void add_ready(RankStreamId id) { ready_.push_back(id); }
    // How many streams are ready; process_ready() starts from there.
    std::size_t num_ready() const { return ready_.size(); }
    // What is ready from the `first` on, and what that makes ready.
    void process_ready(Time now, std::size_t first = 0);

    // What the stream does ends at `due`, as far as is known.
    void schedule(RankStreamId id, Time due);
    // Its event has come.
    void queued_event(RankStreamId id, Time now);
    // A run, a launch or a collective on a local clock is over.
    void end_of_phase(RankStreamId id, Time now);
    void end_item(RankStreamId id, const TapeItem& item, Time now);

private:
    bool conditions_hold(RankStreamId id, const TapeItem& item, Time now);
    void continue_path(RankStreamId id, const TapeItem& item, Time now);
    void try_start(RankStreamId id, Time now);
    void expect_event(StreamState& stream);
    bool awaits_event(const StreamState& stream) const;

    std::vector<RankStreamId> ready_;
};

}  // namespace orrery
