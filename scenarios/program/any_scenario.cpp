// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/any_scenario.h"

#include <algorithm>
#include <array>

#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/fault_note.h"

namespace orrery {
namespace {

constexpr std::array<std::string_view, 3> kStepSections{"model", "plan", "jobs"};

bool has_no_step(const DocumentNode& document) {
    return std::ranges::none_of(
        kStepSections, [&](std::string_view section) { return document.find(section) != nullptr; });
}

bool is_cluster_alone(const std::string& file, const std::vector<std::string>& overrides) {
    const auto document = read_yaml_file(file);
    const auto gives_a_step = [](const std::string& change) {
        return std::ranges::any_of(
            kStepSections, [&](std::string_view section) { return change.starts_with(section); });
    };
    return document && document->is_map() && document->find("cluster") != nullptr &&
           has_no_step(*document) && std::ranges::none_of(overrides, gives_a_step);
}

}  // namespace

bool is_served_load(const std::string& file) {
    const auto document = read_yaml_file(file);
    return document && document->is_map() && document->find("serving") != nullptr;
}

ResultOrErrors<Scenario> read_served_load(const std::string& file,
                                          const std::vector<std::string>& overrides) {
    return read_scenario(file, {.overrides = overrides, .serving = true});
}

ResultOrErrors<Scenario> read_any_scenario(const std::string& file,
                                           const std::vector<std::string>& overrides) {
    const bool served = is_served_load(file);
    auto scenario = read_scenario(file,
                                  {.overrides = overrides,
                                   .network_only = !served && is_cluster_alone(file, overrides),
                                   .several_jobs = !served,
                                   .serving = served});
    if (scenario) {
        note_old_keys(*scenario);
    }
    return scenario;
}

bool is_network_alone(const Scenario& scenario) {
    return scenario.document != nullptr && has_no_step(*scenario.document);
}

}  // namespace orrery
