// SPDX-License-Identifier: Apache-2.0
// Samples of the rows of a table, for fits.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/parallel.h"
#include "engine/base/result.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

// The samples of the rows that have one, in their order for any number of threads (`jobs`; 0: one
// per core). An error names its row.
template <class Sample, class SampleOf>
Result<std::vector<Sample>> samples_of_rows(const std::vector<PublishedCase>& rows,
                                            std::uint32_t jobs,
                                            const SampleOf& sample_of) {
    std::vector<Result<std::optional<Sample>>> found(rows.size());
    for_each_index(rows.size(), jobs, [&](std::size_t i) { found[i] = sample_of(rows[i]); });
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!found[i]) {
            Error error = std::move(found[i]).error();
            error.where = rows[i].name + (error.where.empty() ? "" : ": " + error.where);
            return tl::unexpected(std::move(error));
        }
        if (found[i]->has_value()) {
            samples.push_back(**std::move(found[i]));
        }
    }
    return samples;
}

}  // namespace orrery
