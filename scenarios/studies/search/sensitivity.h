// SPDX-License-Identifier: Apache-2.0
// Which figure of the catalogue the answer of a search hinges on: each is made better and worse by
// the same factor, the best plans are simulated again, and it is seen by how much the best one's
// time moves, and whether another plan is then the best.
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
    double better = 0;   // change of the best plan's step time with the figure better, -0.05: -5 %
    double worse = 0;
    std::size_t winner_if_better = 0;  // index into SearchResult::best
    std::size_t winner_if_worse = 0;
};

struct SensitivityOptions {
    double factor = 1.2;
    std::size_t plans = 4;   // of the best
    std::uint32_t jobs = 1;  // threads; 0: one a core. The answer is the same
    std::function<void(double)> progress;
    std::optional<EfficiencyTable> step_table{};  // as SearchOptions
};

// By the largest change, descending. Figures that the cluster does not have are left out.
Result<std::vector<SensitiveFigure>> sensitivity(const Scenario& scenario,
                                                 const SearchSpec& spec,
                                                 const SearchResult& result,
                                                 const SensitivityOptions& options);

}  // namespace orrery
