// SPDX-License-Identifier: Apache-2.0
// The waits of an op because of a tensor. A read waits for the last writer. A write or an
// accumulation also waits for the readers since then. This rule gives the waits inside a segment
// (models/segments/segment_builder.h) and between slots (models/segments/slot_waits.h).
#pragma once

#include <array>
#include <cstddef>

#include "engine/program/program.h"

namespace orrery {

inline constexpr std::size_t kNumStreams = 18;  // models/segments/lanes.h names them

// The uses of one tensor, or of a piece of it, up to now. A Place is an op's position in program
// order; Place{} means none.
template <class Place>
class TensorUses {
public:
    // Calls visit(place, stream) for each op that an op with this access waits for. One op a stream
    // is enough, because a stream runs in order. `place` may be Place{}.
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
    bool read_ = false;                       // since the last write
    std::array<Place, kNumStreams> readers_;  // valid if read_: the last reader on each stream
};

}  // namespace orrery
