// SPDX-License-Identifier: Apache-2.0
// Processes the items of each stream in order. It checks that an item's waits have ended and that
// its launch is past, hands the item to the part that runs it, and continues with the streams that
// its end makes ready. A stream has at most one valid event: the end of its run, a launch, or the
// end of its wait for SMs.
#pragma once

#include "engine/world/execution_part.h"

namespace orrery {

class StreamRunner : ExecutionPart {
public:
    using ExecutionPart::ExecutionPart;

    // Makes process_ready() examine the stream's next item.
    void add_ready(RankStreamId id) { ready_.push_back(id); }
    // The number of ready streams, a start index for process_ready().
    std::size_t num_ready() const { return ready_.size(); }
    // Processes the ready streams from index `first` on, and the streams that become ready
    // meanwhile.
    void process_ready(Time now, std::size_t first = 0);

    // Sets the expected end of the stream's current item.
    void schedule(RankStreamId id, Time due);
    // Handles the stream's event.
    void queued_event(RankStreamId id, Time now);
    // A run, a launch, a wait for SMs or a collective on a local clock has ended.
    void end_of_phase(RankStreamId id, Time now);
    void end_item(RankStreamId id, const TapeItem& item, Time now);

private:
    bool conditions_hold(RankStreamId id, const TapeItem& item, Time now);
    void continue_path(RankStreamId id, const TapeItem& item, Time now);
    void try_start(RankStreamId id, Time now);
    void ask_for_sms(RankStreamId id, const TapeItem& item, Time now);
    void end_of_queue(RankStreamId id, Time now);
    void expect_event(StreamState& stream);
    bool awaits_event(const StreamState& stream) const;

    std::vector<RankStreamId> ready_;
};

}  // namespace orrery
