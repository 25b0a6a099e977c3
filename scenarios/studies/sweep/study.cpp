// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/check.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/file_kind.h"
#include "scenarios/format/read/key_tables.h"

namespace orrery {
namespace {

void read_points(const DocumentNode& node, Study& study, Errors& errors) {
    if (!node.is_sequence() || node.items.empty()) {
        errors.push_back({node.where(),
                          "'points' must be a list of maps of keys, not " +
                              (node.is_sequence() ? "an empty one" : node.describe()),
                          "write it like [{plan.tensor_model_parallel_size: 2}]"});
        return;
    }
    for (const DocumentNode& item : node.items) {
        read_settings(item, "points", study.points.emplace_back(), study.places, errors);
    }
}

void read_grid(const DocumentNode& node, Study& study, Errors& errors) {
    if (!node.is_map() || node.items.empty()) {
        errors.push_back({node.where(),
                          "'grid' must be a map of lists, not " + node.describe(),
                          "write it like {plan.micro_batch_size: [1, 2, 4]}"});
        return;
    }
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
        const DocumentNode& list = node.items[i];
        Axis axis{.key = node.keys[i].text, .values = {}};
        if (!list.is_sequence() || list.items.empty()) {
            errors.push_back({list.where(),
                              fmt::format("the axis '{}' must be a list of values, not {}",
                                          axis.key,
                                          list.is_sequence() ? "an empty one" : list.describe()),
                              "write it like [1, 2, 4]"});
            continue;
        }
        for (const DocumentNode& item : list.items) {
            const std::string value = to_flow_yaml(item);
            if (std::ranges::find(axis.values, value) != axis.values.end()) {
                errors.push_back({item.where(),
                                  fmt::format("'{}' is in the axis '{}' twice", value, axis.key),
                                  "leave one out"});
            }
            axis.values.push_back(value);
            study.places.emplace(assignment(axis.key, value), item.where());
        }
        study.grid.push_back(std::move(axis));
    }
}

void read_names(MapReader& reader,
                const std::filesystem::path& folder,
                Study& study,
                Errors& errors) {
    const DocumentNode* names = reader.find("scenario");
    if (names == nullptr) {
        return;
    }
    const std::vector<DocumentNode> one{*names};
    for (const DocumentNode& name : names->is_sequence() ? names->items : one) {
        std::error_code ignored;
        if (!name.is_scalar()) {
            errors.push_back({name.where(),
                              "'scenario' must be the name of a file, or a list of names",
                              "names are relative to the study's folder"});
        } else if (!std::filesystem::is_regular_file(folder / name.text, ignored)) {
            errors.push_back({name.where(),
                              fmt::format("there is no file '{}'", name.text),
                              "names are relative to the study's folder"});
        } else {
            study.scenarios.push_back(folder / name.text);
        }
    }
}

// An error for a key that two parts of the study set, because one of them would silently win.
void check_twice(const Study& study, const DocumentNode& root, Errors& errors) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : study.common) {
        keys.push_back(key);
    }
    for (const Axis& axis : study.grid) {
        keys.push_back(axis.key);
    }
    for (const Settings& point : study.points) {
        for (const auto& [key, value] : point) {
            if (std::ranges::find(keys, key) != keys.end()) {
                errors.push_back({root.where(),
                                  fmt::format("'{}' is set by a point and by 'set' or 'grid'", key),
                                  "leave one of them out"});
            }
        }
    }
    std::ranges::sort(keys);
    if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end()) {
        errors.push_back({root.where(),
                          fmt::format("'{}' is both in 'set' and in 'grid'", *twice),
                          "leave one of them out"});
    }
}

// An error for a key that the simulated step does not read, because it would make equal points.
void check_read(const Study& study, const UnreadKey& unread, Errors& errors) {
    std::set<std::string> keys;
    for (const auto& [change, place] : study.places) {
        const std::string key = change.substr(0, change.find('='));
        Error error = unread ? unread(key) : Error{};
        if (!error.what.empty() && keys.insert(key).second) {
            error.where = place;
            error.what = fmt::format("'{}': {}", key, error.what);
            errors.push_back(std::move(error));
        }
    }
}

ResultOrErrors<Study> study_of(const DocumentNode& root,
                               const std::string& source,
                               const std::filesystem::path& folder,
                               const UnreadKey& unread) {
    Errors errors;
    if (Error other = of_another_kind(root, {"sweep"}); !other.what.empty()) {
        return unexpected<Errors>({std::move(other)});
    }
    Study study;
    study.name = std::filesystem::path{source}.stem().string();
    MapReader reader{root, "", errors};
    read_rows(reader, kSweepKeys, nullptr);
    reader.word("name", study.name);
    read_names(reader, folder, study, errors);
    if (const DocumentNode* common = reader.find("set")) {
        read_settings(*common, "set", study.common, study.places, errors);
    }
    if (const DocumentNode* points = reader.find("points")) {
        read_points(*points, study, errors);
    }
    if (const DocumentNode* grid = reader.find("grid")) {
        read_grid(*grid, study, errors);
    }
    reader.finish();
    check_twice(study, root, errors);
    check_read(study, unread, errors);
    if (study.points.empty()) {
        study.points.emplace_back();
    }
    if (errors.empty() && study.size() > kStudyPointsMax) {
        errors.push_back({root.where(),
                          fmt::format("the study has more than {} points", kStudyPointsMax),
                          "split it into several"});
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return study;
}

}  // namespace

std::int64_t Study::size() const {
    auto count = static_cast<std::int64_t>(scenarios.size() * points.size());
    for (const Axis& axis : grid) {
        // Counting stops one above the limit.
        count =
            std::min(count * static_cast<std::int64_t>(axis.values.size()), kStudyPointsMax + 1);
    }
    return count;
}

StudyPoint point_of(const Study& study, std::int64_t number) {
    ORRERY_CHECK(number >= 0 && number < study.size());
    auto rest = static_cast<std::size_t>(number);
    Settings axes;
    for (std::size_t a = study.grid.size(); a-- > 0;) {
        const Axis& axis = study.grid[a];
        axes.emplace_back(axis.key, axis.values[rest % axis.values.size()]);
        rest /= axis.values.size();
    }
    StudyPoint point{.scenario = rest / study.points.size(),
                     .settings = study.points[rest % study.points.size()]};
    point.settings.insert(point.settings.end(), axes.rbegin(), axes.rend());
    return point;
}

std::vector<std::string> overrides_of(const Study& study, const StudyPoint& point) {
    std::vector<std::string> overrides;
    for (const Settings* settings : {&study.common, &point.settings}) {
        for (const auto& [key, value] : *settings) {
            overrides.push_back(assignment(key, value));
        }
    }
    return overrides;
}

ResultOrErrors<Study> read_study_text(const std::string& text,
                                      const std::string& source,
                                      const std::filesystem::path& folder,
                                      const UnreadKey& unread) {
    const ResultOrErrors<DocumentNode> root = parse_yaml(text, source);
    if (!root) {
        return unexpected<Errors>(root.error());
    }
    return study_of(*root, source, folder, unread);
}

ResultOrErrors<Study> read_study(const std::filesystem::path& file, const UnreadKey& unread) {
    const ResultOrErrors<DocumentNode> root = read_yaml_file(file);
    if (!root) {
        return unexpected<Errors>(root.error());
    }
    return study_of(*root, file.string(), file.parent_path(), unread);
}

}  // namespace orrery
