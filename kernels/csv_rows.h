// SPDX-License-Identifier: Apache-2.0
// Reads a comma-separated table whose first line names the columns, in any order. Lines that begin
// with # are comments; there are no quotes, so no commas inside fields. Each row keeps its line
// number for error messages. A column asked for as "ranks=1" may be missing: its fields are "1"
// then.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct CsvRow {
    std::string where;                // "profile.csv:12"
    std::vector<std::string> fields;  // in the order of the columns asked for
};

// Errors: no such file, a missing or repeated column, a row of another length. Columns that were
// not asked for are skipped if `other_columns`, and errors if not.
ResultOrErrors<std::vector<CsvRow>> read_csv(const std::string& path,
                                             const std::vector<std::string>& columns,
                                             bool other_columns = false);
// The same from text already in memory; `name` stands for the file in messages.
ResultOrErrors<std::vector<CsvRow>> read_csv(std::istream& text,
                                             const std::string& name,
                                             const std::vector<std::string>& columns,
                                             bool other_columns = false);

// The whole field as a number, or nothing. Infinite and NaN are not numbers here.
std::optional<double> parse_number(std::string_view field);
std::optional<std::int64_t> parse_integer(std::string_view field);

}  // namespace orrery
