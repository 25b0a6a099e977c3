// SPDX-License-Identifier: Apache-2.0
// A study: many scenarios that differ in a few keys. Its file has
//   scenario   a scenario file, or a list of them; relative to the study
//   set        keys of all points: {plan.micro_batch_size: 1}
//   points     a list of maps of keys, taken as they stand
//   grid       lists by key: every combination of them, with each of the points
// Keys and values are those of --set. Points are numbered with the last axis of the grid fastest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/document/settings.h"

namespace orrery {

struct Axis {
    std::string key;
    std::vector<std::string> values;
};

struct Study {
    std::string name;
    std::vector<std::filesystem::path> scenarios;  // as they can be opened
    Settings common;
    std::vector<Settings> points;  // at least one, which may be empty
    std::vector<Axis> grid;
    SettingPlaces places;

    std::int64_t size() const;
};

struct StudyPoint {
    std::size_t scenario = 0;  // index into Study::scenarios
    Settings settings;         // without the settings that all points have

    bool operator==(const StudyPoint&) const = default;
};

inline constexpr std::int64_t kStudyPointsMax = 1'000'000;

StudyPoint point_of(const Study& study, std::int64_t number);

// As read_scenario takes them: those of the study, then those of the point.
std::vector<std::string> overrides_of(const Study& study, const StudyPoint& point);

// Says why the points do not read a key; `what` is empty if they do.
using UnreadKey = std::function<Error(std::string_view key)>;

ResultOrErrors<Study> read_study(const std::filesystem::path& file, const UnreadKey& unread);
// `folder` is where the names of scenarios start.
ResultOrErrors<Study> read_study_text(const std::string& text,
                                      const std::string& source,
                                      const std::filesystem::path& folder,
                                      const UnreadKey& unread = {});

}  // namespace orrery
