// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/provenance/provenance.h"

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/provenance/fingerprint.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {
namespace {

Provenance provenance_on(std::string command, const std::filesystem::path& catalogue) {
    Provenance provenance;
    provenance.command = std::move(command);
    provenance.build = build_identity();
    provenance.catalogue = catalogue_fingerprint(catalogue);
    return provenance;
}

}  // namespace

Provenance& Provenance::add_option(std::string name, std::string value) {
    options.emplace_back(std::move(name), std::move(value));
    return *this;
}

Provenance& Provenance::add_input(const std::filesystem::path& file) {
    if (!file.empty()) {
        inputs.push_back({file.filename().string(), file_fingerprint(file)});
    }
    return *this;
}

Provenance provenance_of(std::string command) {
    return provenance_on(std::move(command), default_catalogue());
}

Provenance provenance_of(std::string command, const Scenario& scenario) {
    if (!scenario.origin) {
        return provenance_of(std::move(command));
    }
    Provenance provenance = provenance_on(std::move(command), scenario.origin->catalogue);
    provenance.scenarios.push_back(scenario.origin);
    provenance.seed = scenario.job.seed;
    return provenance;
}

}  // namespace orrery
