// SPDX-License-Identifier: Apache-2.0
// A Perfetto trace of tracks outside processes and threads: slices, instants and counters. Times
// are nanoseconds, Perfetto's own unit.
#pragma once

#include <cstdint>
#include <ostream>
#include <string_view>

#include "engine/base/units.h"
#include "scenarios/report/trace/perfetto_messages.h"

namespace orrery::perfetto {

inline std::uint64_t nanoseconds(Time time) {
    return static_cast<std::uint64_t>(time.picoseconds()) / 1000;
}

class TrackWriter {
public:
    // `out` must outlive the writer.
    explicit TrackWriter(std::ostream& out) : out_(out) {
        Message packet;
        packet.number(field::kSequenceId, kSequence)
            .number(field::kSequenceFlags, kStateCleared | kNeedsState)
            .number(field::kFirstPacketOnSequence, 1);
        put(packet);
    }

    // A new track below `parent` (0: none). Returns its uuid.
    std::uint64_t track(std::string_view name, std::uint64_t parent = 0) {
        return describe(name, parent, false);
    }
    std::uint64_t counter_track(std::string_view name, std::uint64_t parent) {
        return describe(name, parent, true);
    }
    void slice(std::uint64_t track,
               std::string_view name,
               std::uint64_t begin_ns,
               std::uint64_t end_ns) {
        Message begin;
        begin.number(field::kType, kSliceBegin)
            .bytes(field::kEventName, name)
            .number(field::kTrackUuid, track);
        put_event(begin_ns, begin);
        Message end;
        end.number(field::kType, kSliceEnd).number(field::kTrackUuid, track);
        put_event(end_ns, end);
    }
    void instant(std::uint64_t track, std::string_view name, std::uint64_t at_ns) {
        Message event;
        event.number(field::kType, kInstant)
            .bytes(field::kEventName, name)
            .number(field::kTrackUuid, track);
        put_event(at_ns, event);
    }
    void count(std::uint64_t track, double value, std::uint64_t at_ns) {
        Message event;
        event.number(field::kType, kCounterEvent)
            .number(field::kTrackUuid, track)
            .real(field::kDoubleCounterValue, value);
        put_event(at_ns, event);
    }

private:
    std::uint64_t describe(std::string_view name, std::uint64_t parent, bool counter) {
        Message track;
        track.number(field::kUuid, ++last_uuid_).bytes(field::kTrackName, name);
        if (parent != 0) {
            track.number(field::kParentUuid, parent);
        }
        if (counter) {
            track.message(field::kCounter, {});
        }
        Message packet;
        packet.message(field::kTrackDescriptor, track).number(field::kSequenceId, kSequence);
        put(packet);
        return last_uuid_;
    }
    void put_event(std::uint64_t at_ns, const Message& event) {
        Message packet;
        packet.number(field::kTimestamp, at_ns)
            .message(field::kTrackEvent, event)
            .number(field::kSequenceId, kSequence)
            .number(field::kSequenceFlags, kNeedsState);
        put(packet);
    }
    void put(const Message& packet) {
        Message trace;
        trace.message(field::kTracePacket, packet);
        out_.write(trace.data().data(), static_cast<std::streamsize>(trace.data().size()));
    }

    std::ostream& out_;
    std::uint64_t last_uuid_ = 0;
};

}  // namespace orrery::perfetto
