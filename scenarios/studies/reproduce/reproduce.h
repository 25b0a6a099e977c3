// SPDX-License-Identifier: Apache-2.0
// Runs the rooms of the museum: every variant is simulated once, every comparison gets the
// published figure, the simulated one and a verdict (verdict.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/specs/reproduction.h"
#include "scenarios/studies/reproduce/metrics.h"

namespace orrery {

// What a cause takes of a step, in both variants, for as many tokens as the baseline's step has.
struct CauseChange {
    Cause cause = Cause::useful_compute;
    double baseline_s = 0;
    double variant_s = 0;
};

struct ComparisonOutcome {
    ReproducedComparison comparison;
    double published = 0;
    std::optional<double> simulated{};
    bool pass = false;
    std::string error{};  // why there is no figure
    // From the baseline's step to the variant's, of causes that either has; empty where the figures
    // are not of steps.
    std::vector<CauseChange> causes{};
};

struct RoomOutcome {
    Reproduction room;
    std::vector<ComparisonOutcome> comparisons;  // at least one; the first is the headline
    double wall_s = 0;                           // of its simulations, shared ones included

    std::size_t passed() const;
    bool pass() const { return passed() == comparisons.size(); }
};

struct ReproduceOptions {
    std::filesystem::path catalogue = default_catalogue();
    std::uint32_t jobs = 1;  // simulations at a time; 0: one a core. The answer is the same
    std::function<void(double)> progress{};
};

// The files of a folder, in the order of their names.
std::vector<std::filesystem::path> room_files(const std::filesystem::path& folder);
// Names of rooms in `folder`, or files: a name that ends in .yaml is a file. No names: all rooms.
ResultOrErrors<std::vector<Reproduction>> find_rooms(const std::filesystem::path& folder,
                                                     const std::vector<std::string>& names);

// Errors of scenarios and cases come all at once, before anything is simulated; a simulation that
// fails is an error of its comparisons.
ResultOrErrors<std::vector<RoomOutcome>> reproduce(const std::vector<Reproduction>& rooms,
                                                   const ReproduceOptions& options = {});

}  // namespace orrery
