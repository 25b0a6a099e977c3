// SPDX-License-Identifier: Apache-2.0
// What an op has to wait for because of a tensor: the last writer of what it reads, and of what it
// writes or accumulates into also the readers since. Waits inside a segment
// (models/segments/segment_builder.h) and between slots (models/segments/slot_waits.h) both follow
// from this rule.
#pragma once

#include <array>
#include <cstddef>

#include "engine/program/program.h"

namespace orrery {

inline constexpr std::size_t kNumStreams = 18;  // models/segments/lanes.h names them

// The uses so far of one tensor, or of a piece of it. A Place says where in program order an op is;
// Place{} is nowhere.
template <class Place>
class TensorUses {
public:
    // Calls visit(place, stream) for all that an op with this access waits for: one op a stream,
    // the ops before it on the stream are implied.
    template <class Visit>
    void for_each_wait(Access access, Visit visit) const {
        visit(writer_, writer_stream_);
        for (std::size_t s = 0; access != Access::read && read_ && s < kNumStreams; ++s) {
            visit(readers_[s], to_id<StreamId>(s));
        }
    }

    void add(Access access, Place place, StreamId stream) {
        if (access != Access::read) {
            writer_ = place;
            writer_stream_ = stream;
            read_ = false;
            return;
        }
        if (!read_) {
            readers_.fill(Place{});
            read_ = true;
        }
        readers_[index(stream)] = place;
    }

private:
    Place writer_{};
    StreamId writer_stream_{};
    bool read_ = false;                       // since it was written
    std::array<Place, kNumStreams> readers_;  // then: the last one of each stream
};

}  // namespace orrery
