// SPDX-License-Identifier: Apache-2.0
// Reads the provenance of a result (`--json`) or a recording, to repeat it.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/document/document_node.h"
#include "scenarios/format/provenance/provenance.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct StoredProvenance {
    std::string command;
    BuildIdentity build;
    std::string catalogue;
    ScenarioOrigin origin;  // without the path of its catalogue
    std::vector<std::pair<std::string, std::string>> options;
    std::vector<InputFile> inputs;
};

// `result` is the object with the key "provenance". Errors: there is none, or it has no scenario.
ResultOrErrors<StoredProvenance> stored_provenance(const DocumentNode& result);
ResultOrErrors<StoredProvenance> read_stored_result(const std::filesystem::path& file);

// The scenario of a result in `source`, with further overrides.
ResultOrErrors<Scenario> scenario_of_result(const StoredProvenance& stored,
                                            const std::string& source,
                                            const std::vector<std::string>& overrides = {});

// Differences of this program and its catalogue from those of the result, a sentence each.
std::vector<std::string> differences_from(const StoredProvenance& stored);

}  // namespace orrery
