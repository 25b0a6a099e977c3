// SPDX-License-Identifier: Apache-2.0
// The points of a study with their identities, and how one of them is simulated.
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

// An answer as the results keep it: JSON.
using AnswerText = std::function<std::string(const Answer&, const Provenance&)>;

class StudyPoints {
public:
    // Without `text` the results keep an answer's figures alone.
    explicit StudyPoints(const Study& study, AnswerText text = nullptr);

    std::string id_of(std::int64_t number) const;
    // A scenario that can't be read or simulated is a result too: its error.
    PointResult run(std::int64_t number) const;

private:
    const Study& study_;
    AnswerText text_;
    Provenance made_of_ = provenance_of("simulate");  // what all points share
    std::vector<std::string> fingerprints_;           // of the scenarios
};

}  // namespace orrery
