// SPDX-License-Identifier: Apache-2.0
// The origin of a result: the build, the catalogue, the simulated scenario, and the further inputs
// of the command. Every JSON, page, recording and row of a sweep has it
// (report/provenance_report.h). format/provenance/stored_result.h reads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/format/provenance/version.h"
#include "scenarios/format/read/effective_scenario.h"

namespace orrery {

struct Scenario;

struct InputFile {
    std::string file;  // name without folders
    std::string hash;  // of its content
};

struct Provenance {
    std::string command;  // "simulate"
    BuildIdentity build;
    std::string catalogue;  // its fingerprint
    std::vector<std::shared_ptr<const ScenarioOrigin>> scenarios;
    std::optional<std::uint64_t> seed;
    // Options that change the result: "pattern", "all_reduce".
    std::vector<std::pair<std::string, std::string>> options;
    std::vector<InputFile> inputs;
    std::optional<BuildIdentity> recorded_by;  // for a recorded run

    Provenance& add_option(std::string name, std::string value);
    // An empty name adds nothing.
    Provenance& add_input(const std::filesystem::path& file);
};

// Provenance with the default catalogue and without a scenario.
Provenance provenance_of(std::string command);
// Provenance with a scenario that a reader made.
Provenance provenance_of(std::string command, const Scenario& scenario);

}  // namespace orrery
