// SPDX-License-Identifier: Apache-2.0
// Runs reproductions. Every variant is simulated once. Every comparison gets the published figure,
// the simulated one and a verdict (verdict.h).
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

// A cause's time of a step in both variants, scaled to the tokens of the baseline's step.
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
    std::string error{};  // the reason for a missing figure
    // From the baseline's step to the variant's, for causes of either step; empty if the figures
    // are not of steps.
    std::vector<CauseChange> causes{};
};

struct RoomOutcome {
    Reproduction room;
    std::vector<ComparisonOutcome> comparisons;  // at least one; the first is the headline
    double wall_s = 0;                           // of its simulations, including shared ones

    std::size_t passed() const;
    bool pass() const { return passed() == comparisons.size(); }
};

struct ReproduceOptions {
    std::filesystem::path catalogue = default_catalogue();
    // Simulations at the same time; 0: one a core. The answer does not depend on it
    std::uint32_t jobs = 1;
    std::function<void(double)> progress{};
};

// The files of a folder, sorted by name.
std::vector<std::filesystem::path> room_files(const std::filesystem::path& folder);
// `names` are reproductions in `folder`, or files if they end in .yaml. Empty: all reproductions.
ResultOrErrors<std::vector<Reproduction>> find_rooms(const std::filesystem::path& folder,
                                                     const std::vector<std::string>& names);

// Errors of scenarios and cases are returned together, before any simulation. A failed simulation
// is an error of its comparisons.
ResultOrErrors<std::vector<RoomOutcome>> reproduce(const std::vector<Reproduction>& rooms,
                                                   const ReproduceOptions& options = {});

}  // namespace orrery
