// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/campaign/recorded_events.h"

#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <utility>

#include "scenarios/format/document/json_document.h"
#include "scenarios/format/document/map_reader.h"

namespace orrery {
namespace {

constexpr std::uint32_t kNodesMost = 10'000'000;
constexpr std::int64_t kEventNumberMax = std::numeric_limits<std::int64_t>::max();

template <class Kind>
bool kind_of(MapReader& reader, const char* key, std::size_t count, Kind& kind) {
    std::string word;
    if (!reader.word(key, word, Presence::required)) {
        return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (name(static_cast<Kind>(i)) == word) {
            kind = static_cast<Kind>(i);
            return true;
        }
    }
    reader.complain(key, fmt::format("{} can't be '{}'", key, word), {});
    return false;
}

void read_job_line(MapReader& line, RecordedEvents& events, Errors& errors) {
    const DocumentNode* map = line.find("job");
    if (const DocumentNode* policies = line.find("policies")) {
        for (const DocumentNode& policy : policies->items) {
            events.policies.push_back(policy.text);
        }
    }
    if (map == nullptr || !map->is_map()) {
        return;
    }
    MapReader job{*map, "job", errors};
    JobShape& shape = events.shape;
    job.integer("nodes", events.nodes, {1, kNodesMost}, Presence::required);
    job.integer("slots", shape.slots, {1, kNodesMost}, Presence::required);
    job.integer("units", shape.units, {1, kNodesMost}, Presence::required);
    job.integer("stages", shape.stages, {1, kNodesMost}, Presence::required);
    job.integer("nodes_per_place", shape.nodes_per_place, {1, kNodesMost}, Presence::required);
    job.boolean("unit_major", shape.unit_major);
    job.boolean("state_sharded", shape.state_sharded);
    job.finish();
    const std::int64_t places = std::int64_t{shape.units} * shape.nodes_per_place;
    if (shape.slots > events.nodes || shape.slots % places != 0) {
        errors.push_back({map->where(), "is no job: its parts do not go together", {}});
    }
}

void read_observation(MapReader& line, RecordedEvents& events, Errors& errors) {
    Observation o;
    std::int64_t time = 0;
    line.integer("t_us", time, {0, kEventNumberMax}, Presence::required);
    o.time = WallTime::microseconds(time);
    const DocumentNode* map = line.find("observation");
    if (!map->is_map()) {
        errors.push_back({map->where(), "is no observation", {}});
        return;
    }
    MapReader reader{*map, "observation", errors};
    kind_of(reader, "kind", kNumObservationKinds, o.kind);
    kind_of(reader, "detector", kNumDetectors, o.detector);
    kind_of(reader, "fault", kNumFaultKinds, o.fault);
    const auto nodes_of = [&](const char* key, std::vector<NodeNumber>& nodes) {
        std::vector<std::int64_t> numbers;
        reader.integers(key, numbers, {0, std::max<std::int64_t>(1, events.nodes) - 1});
        for (const std::int64_t node : numbers) {
            nodes.push_back(static_cast<NodeNumber>(node));
        }
    };
    nodes_of("nodes", o.nodes);
    nodes_of("slow", o.slow);
    reader.integer("step", o.step, {0, kEventNumberMax});
    reader.integer("durable_step", o.durable_step, {0, kEventNumberMax});
    reader.integer("memory_step", o.memory_step, {-1, kEventNumberMax});
    reader.integer("verified_step", o.verified_step, {0, kEventNumberMax});
    reader.finish();
    events.observations.push_back(o);
}

void read_line(const DocumentNode& node, RecordedEvents& events, Errors& errors) {
    if (!node.is_map()) {
        errors.push_back({node.where(), "is no event", {}});
        return;
    }
    MapReader line{node, "", errors};
    if (line.find("job") != nullptr) {
        read_job_line(line, events, errors);
    } else if (line.find("observation") != nullptr) {
        read_observation(line, events, errors);
    } else if (const DocumentNode* action = line.find("action")) {
        events.actions += action->text + "\n";
    }
}

}  // namespace

ResultOrErrors<RecordedEvents> read_events(const std::filesystem::path& path) {
    std::error_code none;
    if (std::filesystem::is_directory(path, none)) {
        return unexpected<Errors>(
            Errors{{path.string(), "is a folder", "a file that --events has written"}});
    }
    std::ifstream file{path};
    if (!file) {
        return unexpected<Errors>(
            Errors{{path.string(), "can't be read", "a file that --events has written"}});
    }
    RecordedEvents events;
    Errors errors;
    std::string text;
    for (std::uint32_t number = 1; errors.empty() && std::getline(file, text); ++number) {
        const auto line = parse_json(text, path.string(), number);
        if (!line) {
            return unexpected<Errors>(line.error());
        }
        read_line(*line, events, errors);
        if (errors.empty() && events.nodes == 0) {
            errors.push_back({fmt::format("{}:{}:1", path.string(), number),
                              "does not begin with its job",
                              "a file that --events has written"});
        }
    }
    if (errors.empty() && events.nodes == 0) {
        errors.push_back({path.string(), "is empty", "a file that --events has written"});
    }
    if (!errors.empty()) {
        return unexpected<Errors>(errors);
    }
    return events;
}

std::string replay_events(const RecordedEvents& events,
                          PolicyLadder ladder,
                          const RecoveryLimits& limits) {
    RecoveryMachine machine{events.shape, events.nodes, std::move(ladder), limits};
    machine.start();
    std::string lines;
    for (const Observation& o : events.observations) {
        for (const Action& action : machine.observe(o)) {
            lines += to_line(action) + "\n";
        }
    }
    return lines;
}

}  // namespace orrery
