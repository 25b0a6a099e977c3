// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/perfetto_network.h"

#include "scenarios/output_file.h"
#include "scenarios/report/perfetto_messages.h"

namespace orrery {
namespace {

using namespace perfetto;

constexpr std::uint64_t kCounterEvent = 4;

class Writer {
public:
    explicit Writer(std::ostream& out) : out_(out) {}

    void begin(std::string_view title) {
        Message packet;
        packet.number(field::kSequenceId, kSequence)
            .number(field::kSequenceFlags, kStateCleared | kNeedsState)
            .number(field::kFirstPacketOnSequence, 1);
        put(packet);
        flows_ = describe("flows: " + std::string{title}, 0, false);
        links_ = describe("links", 0, false);
    }
    void track(const TraceTrack& track) {
        const std::uint64_t uuid = describe(track.name, flows_, false);
        for (const TraceSlice& slice : track.slices) {
            Message begin;
            begin.number(field::kType, kSliceBegin)
                .bytes(field::kEventName, slice.name)
                .number(field::kTrackUuid, uuid);
            put_event(slice.begin, begin);
            Message end;
            end.number(field::kType, kSliceEnd).number(field::kTrackUuid, uuid);
            put_event(slice.end, end);
        }
    }
    void counter(const TraceCounter& counter) {
        const std::uint64_t uuid = describe(counter.name, links_, true);
        for (const auto& [at, value] : counter.values) {
            Message event;
            event.number(field::kType, kCounterEvent)
                .number(field::kTrackUuid, uuid)
                .real(field::kDoubleCounterValue, value);
            put_event(at, event);
        }
    }

private:
    // A new track below `parent` (0: none). Returns its uuid.
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
    void put_event(Time time, const Message& event) {
        Message packet;
        packet.number(field::kTimestamp, static_cast<std::uint64_t>(time.picoseconds()) / 1000)
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
    std::uint64_t flows_ = 0;
    std::uint64_t links_ = 0;
};

}  // namespace

void write_network_trace(std::ostream& out, const NetworkTrace& trace) {
    Writer writer{out};
    writer.begin(trace.title);
    for (const TraceTrack& track : trace.tracks) {
        writer.track(track);
    }
    for (const TraceCounter& counter : trace.counters) {
        writer.counter(counter);
    }
}

Result<void> write_network_trace(const std::string& file, const NetworkTrace& trace) {
    const auto output = OutputFile::open(file);
    if (!output) {
        return unexpected<Error>(output.error());
    }
    write_network_trace((*output)->stream(), trace);
    return (*output)->commit();
}

}  // namespace orrery
