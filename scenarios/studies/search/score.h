// SPDX-License-Identifier: Apache-2.0
// What a search minimises. Less is better, and more time is never better, so that a bound of the
// step time is a bound of the objective.
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

    // The objective of a step that takes so long.
    double of(Time step, const ClusterVariant& on) const;
    double money(Time step, const ClusterVariant& on) const;   // a token, in the price's currency
    double joules(Time step, const ClusterVariant& on) const;  // a token
    double days(Time step) const;                              // to train on all tokens
    // The limit that a plan of this step time breaks.
    Limit broken_limit(Time step, const ClusterVariant& on) const;

private:
    double tokens_per_step() const;

    const SearchSpec& spec_;
    const Scenario& scenario_;
};

}  // namespace orrery
