// SPDX-License-Identifier: Apache-2.0
// A short answer: one sentence for people, and the same as named values.
#pragma once

#include <string>
#include <vector>

#include "scenarios/report/render/report.h"

namespace orrery {

// `name` is the key in JSON and the column in CSV: "gemm_flops_per_s". The unit is count, number or
// words.
struct Fact {
    std::string name;
    Cell value;
    Unit unit = Unit::count;
};

Report facts_report(std::string sentence, const std::vector<Fact>& facts);
// One object with the facts in their order.
std::string facts_json(const std::vector<Fact>& facts);

}  // namespace orrery
