// SPDX-License-Identifier: Apache-2.0
// The points of a study with their identities, and how one of them is simulated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/format/provenance/provenance.h"
#include "scenarios/studies/sweep/results_file.h"
#include "scenarios/studies/sweep/study.h"

namespace orrery {

class StudyPoints {
public:
    explicit StudyPoints(const Study& study);

    std::string id_of(std::int64_t number) const;
    // A scenario that can't be read or simulated is a result too: its error.
    PointResult run(std::int64_t number) const;

private:
    const Study& study_;
    Provenance made_of_ = provenance_of("simulate");  // what all points share
    std::vector<std::string> fingerprints_;           // of the scenarios
};

}  // namespace orrery
