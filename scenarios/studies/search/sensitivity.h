// SPDX-License-Identifier: Apache-2.0
// The sensitivity of a search's answer to figures of the catalogue. Each figure is made better and
// worse by the same factor, and the best plans are simulated again. The result is the change of the
// best plan's time, and whether another plan becomes the best.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/search/search.h"

namespace orrery {

struct SensitiveFigure {
    std::string figure;  // "peak of the tensor cores"
    double better = 0;   // change of the best plan's step time with a better figure; -0.05 is -5 %
    double worse = 0;
    std::size_t winner_if_better = 0;  // index into SearchResult::best
    std::size_t winner_if_worse = 0;
};

struct SensitivityOptions {
    double factor = 1.2;
    std::size_t plans = 4;   // number of best plans
    std::uint32_t jobs = 1;  // threads; 0: one a core. The answer does not depend on it
    std::function<void(double)> progress;
    // Called between figures. True: return the figures changed so far.
    std::function<bool()> stop{};
    std::optional<EfficiencyTable> step_table{};  // as in SearchOptions
};

// Sorted by the largest change, descending. Figures that the cluster does not use are left out.
Result<std::vector<SensitiveFigure>> sensitivity(const Scenario& scenario,
                                                 const SearchSpec& spec,
                                                 const SearchResult& result,
                                                 const SensitivityOptions& options);

}  // namespace orrery
