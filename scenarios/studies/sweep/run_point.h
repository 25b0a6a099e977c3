// SPDX-License-Identifier: Apache-2.0
// The points of a study with their identities, and the simulation of a point.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scenarios/format/provenance/provenance.h"
#include "scenarios/studies/simulate/answer.h"
#include "scenarios/studies/sweep/results_file.h"
#include "scenarios/studies/sweep/study.h"

namespace orrery {

// The answer in the form of the results: JSON.
using AnswerText = std::function<std::string(const Answer&, const Provenance&)>;

class StudyPoints {
public:
    // Without `text` the results have only an answer's figures.
    explicit StudyPoints(const Study& study, AnswerText text = nullptr);

    std::string id_of(std::int64_t number) const;
    // If a scenario cannot be read or simulated, the error is the result.
    PointResult run(std::int64_t number) const;

private:
    const Study& study_;
    AnswerText text_;
    Provenance made_of_ = provenance_of("simulate");  // common to all points
    std::vector<std::string> fingerprints_;           // of the scenarios
};

}  // namespace orrery
