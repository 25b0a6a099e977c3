// SPDX-License-Identifier: Apache-2.0
// The quantity that a search minimises. It never decreases with time, so that a bound of the step
// time gives a bound of the objective.
#pragma once

#include <cstdint>

#include "scenarios/format/specs/scenario.h"
#include "scenarios/format/specs/search_spec.h"

namespace orrery {

enum class Limit : std::uint8_t { none, deadline, budget };

class Score {
public:
    // Both must outlive the score.
    Score(const SearchSpec& spec, const Scenario& scenario);

    // The objective for this step time.
    double of(Time step, const ClusterVariant& on) const;
    // Of a token, in the currency of the prices
    double money(Time step, const ClusterVariant& on) const;
    double joules(Time step, const ClusterVariant& on) const;  // of a token
    double days(Time step) const;                              // to train on all tokens
    // The limit that a plan with this step time breaks.
    Limit broken_limit(Time step, const ClusterVariant& on) const;

private:
    double tokens_per_step() const;

    const SearchSpec& spec_;
    const Scenario& scenario_;
};

}  // namespace orrery
