// SPDX-License-Identifier: Apache-2.0
// The scenario of a variant of a reproduction: a file with changed keys, or a row of the
// catalogue's published steps with changed keys of its plan.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/reproduction.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

struct PreparedVariant {
    std::string identity;  // variants of equal identity are simulated once
    Scenario scenario;
    double measured_s = 0;  // published iteration time of a case; 0: the variant is a file
};

// Reads each table of published steps once.
class PublishedTables {
public:
    explicit PublishedTables(std::filesystem::path catalogue) : catalogue_(std::move(catalogue)) {}
    const std::filesystem::path& catalogue() const { return catalogue_; }
    // `name` is for example "training/MS-256-M"; `where` is the place of errors.
    ResultOrErrors<const PublishedCase*> find(const std::string& name, const std::string& where);

private:
    std::filesystem::path catalogue_;
    std::map<std::string, ResultOrErrors<std::vector<PublishedCase>>> tables_;
};

// `served`: a figure of a served load is requested, so that the file must be of kind serving.
ResultOrErrors<PreparedVariant> prepare(const ReproducedVariant& variant,
                                        const std::filesystem::path& folder,
                                        PublishedTables& tables,
                                        bool served = false);

}  // namespace orrery
