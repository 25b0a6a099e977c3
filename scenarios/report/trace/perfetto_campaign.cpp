// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "scenarios/format/document/output_file.h"
#include "scenarios/report/trace/perfetto_trace.h"
#include "scenarios/report/trace/perfetto_tracks.h"

namespace orrery {
namespace {

std::uint64_t nanoseconds(WallTime time) {
    return static_cast<std::uint64_t>(time.microseconds()) * 1000;
}

void write_plan(perfetto::TrackWriter& writer, const PlanAnswer& plan) {
    const std::uint64_t process = writer.track(plan.name);
    const std::uint64_t job = writer.track("job", process);
    for (const TimelineEntry& entry : plan.first.timeline) {
        const bool trains = entry.use == NodeUse::productive;
        writer.slice(job,
                     trains ? std::string_view{"training"} : name(entry.use),
                     nanoseconds(entry.begin),
                     nanoseconds(entry.end));
    }
    const std::uint64_t seen = writer.track("observed", process);
    for (const TimelineMark& mark : plan.first.marks) {
        writer.instant(seen, mark.text, nanoseconds(mark.time));
    }
    const std::uint64_t ettr = writer.counter_track("ETTR", process);
    const std::size_t parts = plan.ettr_by_day.size();
    for (std::size_t i = 0; i < parts; ++i) {
        const WallTime at = WallTime::seconds(plan.first.wall.seconds() * static_cast<double>(i) /
                                              static_cast<double>(parts));
        writer.count(ettr, plan.ettr_by_day[i], nanoseconds(at));
    }
}

}  // namespace

void write_campaign_trace(std::ostream& out, const CampaignAnswer& answer) {
    perfetto::TrackWriter writer{out};
    for (const PlanAnswer& plan : answer.plans) {
        write_plan(writer, plan);
    }
}

Result<void> write_campaign_trace(const std::string& file, const CampaignAnswer& answer) {
    return OutputFile::write(file, [&](std::ostream& out) { write_campaign_trace(out, answer); });
}

}  // namespace orrery
