// SPDX-License-Identifier: Apache-2.0
// The part of each cause, as a JSON object. Every cause has its key: a reader of many answers finds
// a column for each. A template, so that only sources include nlohmann-json.
#pragma once

#include <string>

#include "scenarios/studies/simulate/answer.h"

namespace orrery {

// `of` chooses a figure of a LostMfu. A cause that costs nothing is 0.
template <class Json, class Of>
Json lost_json(const Answer& answer, const Of& of) {
    Json json = Json::object();
    for (std::size_t c = 0; c < kNumCauses; ++c) {
        if (const Cause cause = static_cast<Cause>(c); cause != Cause::useful_compute) {
            json[std::string{name(cause)}] = 0.0;
        }
    }
    for (const LostMfu& lost : answer.lost_mfu) {
        json[std::string{name(lost.cause)}] = of(lost);
    }
    return json;
}

}  // namespace orrery
