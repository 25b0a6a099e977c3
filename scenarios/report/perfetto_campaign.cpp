// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/perfetto_campaign.h"

#include <string_view>

#include "scenarios/output_file.h"
#include "scenarios/report/perfetto_messages.h"

namespace orrery {
namespace {

using namespace perfetto;

constexpr std::uint64_t kInstant = 3;
constexpr std::uint64_t kCounterEvent = 4;

class Writer {
public:
    explicit Writer(std::ostream& out) : out_(out) {
        Message packet;
        packet.number(field::kSequenceId, kSequence)
            .number(field::kSequenceFlags, kStateCleared | kNeedsState)
            .number(field::kFirstPacketOnSequence, 1);
        put(packet);
    }

    void plan(const PlanAnswer& plan) {
        const std::uint64_t process = describe(plan.name, 0, false);
        const std::uint64_t job = describe("job", process, false);
        for (const TimelineEntry& entry : plan.first.timeline) {
            const bool trains = entry.use == NodeUse::productive;
            Message begin;
            begin.number(field::kType, kSliceBegin)
                .bytes(field::kEventName, trains ? std::string_view{"training"} : name(entry.use))
                .number(field::kTrackUuid, job);
            put_event(entry.begin, begin);
            Message end;
            end.number(field::kType, kSliceEnd).number(field::kTrackUuid, job);
            put_event(entry.end, end);
        }
        const std::uint64_t seen = describe("observed", process, false);
        for (const TimelineMark& mark : plan.first.marks) {
            Message event;
            event.number(field::kType, kInstant)
                .bytes(field::kEventName, mark.text)
                .number(field::kTrackUuid, seen);
            put_event(mark.time, event);
        }
        const std::uint64_t ettr = describe("ETTR", process, true);
        const std::size_t parts = plan.ettr_by_day.size();
        for (std::size_t i = 0; i < parts; ++i) {
            Message event;
            event.number(field::kType, kCounterEvent)
                .number(field::kTrackUuid, ettr)
                .real(field::kDoubleCounterValue, plan.ettr_by_day[i]);
            put_event(WallTime::seconds(plan.first.wall.seconds() * static_cast<double>(i) /
                                        static_cast<double>(parts)),
                      event);
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
    void put_event(WallTime time, const Message& event) {
        Message packet;
        packet.number(field::kTimestamp, static_cast<std::uint64_t>(time.microseconds()) * 1000)
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

}  // namespace

void write_campaign_trace(std::ostream& out, const CampaignAnswer& answer) {
    Writer writer{out};
    for (const PlanAnswer& plan : answer.plans) {
        writer.plan(plan);
    }
}

Result<void> write_campaign_trace(const std::string& file, const CampaignAnswer& answer) {
    const auto output = OutputFile::open(file);
    if (!output) {
        return unexpected<Error>(output.error());
    }
    write_campaign_trace((*output)->stream(), answer);
    return (*output)->commit();
}

}  // namespace orrery
