// SPDX-License-Identifier: Apache-2.0
// `orrery validate --family`: selects the rows of the named families, from any kind of table.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/program/validate.h"

namespace orrery {

// All rows if no family is named. Error: a family without rows.
template <class Row>
Result<std::vector<Row>> rows_of_families(const ValidateArguments& arguments,
                                          std::vector<Row> rows) {
    std::vector<std::string> known;
    for (const Row& row : rows) {
        if (std::ranges::find(known, row.family) == known.end()) {
            known.push_back(row.family);
        }
    }
    for (const std::string& family : arguments.families) {
        if (std::ranges::find(known, family) == known.end()) {
            return fail(arguments.file,
                        "no case is of family '" + family + "'",
                        nearest_hint(family, known));
        }
    }
    if (!arguments.families.empty()) {
        std::erase_if(rows, [&](const Row& row) {
            return std::ranges::find(arguments.families, row.family) == arguments.families.end();
        });
    }
    return rows;
}

}  // namespace orrery
