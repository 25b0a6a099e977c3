// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "scenarios/format/document/output_file.h"
#include "scenarios/report/trace/perfetto_trace.h"
#include "scenarios/report/trace/perfetto_tracks.h"

namespace orrery {
namespace {

std::string words_of(const ServedStep& step) {
    if (step.prompts == 0) {
        return fmt::format("{} generate", step.generating);
    }
    const std::string prompts = fmt::format("{} of {} prompts", step.prompt_tokens, step.prompts);
    return step.generating == 0 ? prompts
                                : fmt::format("{}, {} generate", prompts, step.generating);
}

struct InstanceTracks {
    std::uint64_t steps = 0;
    std::uint64_t queue = 0;
    std::uint64_t cache = 0;
};

}  // namespace

void write_serving_trace(std::ostream& out,
                         const ServingAnswer& answer,
                         const ServedTimeline& timeline) {
    perfetto::TrackWriter writer{out};
    std::vector<std::uint64_t> pools;
    for (const ServingAnswer::Pool& pool : answer.pools) {
        pools.push_back(writer.track(name(pool.role)));
    }
    std::map<std::pair<std::size_t, std::size_t>, InstanceTracks> tracks;
    for (const ServedStep& step : timeline.kept()) {
        InstanceTracks& of = tracks[{step.pool, step.instance}];
        if (of.steps == 0) {
            of.steps = writer.track(fmt::format("instance {}", step.instance), pools[step.pool]);
            of.queue = writer.counter_track("queue", of.steps);
            of.cache = writer.counter_track("cache in use", of.steps);
        }
        writer.slice(of.steps,
                     words_of(step),
                     perfetto::nanoseconds(step.begin),
                     perfetto::nanoseconds(step.first_stage_end));
        writer.count(of.queue, static_cast<double>(step.waiting), perfetto::nanoseconds(step.end));
        writer.count(of.cache, step.cache, perfetto::nanoseconds(step.end));
    }
    if (timeline.left_out() > 0) {
        writer.instant(pools.front(),
                       fmt::format("{} later steps are left out", timeline.left_out()),
                       perfetto::nanoseconds(timeline.kept().back().end));
    }
}

Result<void> write_serving_trace(const std::string& file,
                                 const ServingAnswer& answer,
                                 const ServedTimeline& timeline) {
    return OutputFile::write(
        file, [&](std::ostream& out) { write_serving_trace(out, answer, timeline); });
}

}  // namespace orrery
