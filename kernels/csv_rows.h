// SPDX-License-Identifier: Apache-2.0
// Reads a comma-separated table whose first line names the columns, in any order. Lines that begin
// with # are comments. There are no quotes, so that fields cannot contain commas. Each row has its
// line number for error messages. A requested column "ranks=1" may be missing: its fields are then
// "1".
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
    std::vector<std::string> fields;  // in the order of the requested columns
};

// Errors: no such file, a missing or repeated column, a row of another length. Columns that were
// not requested are skipped with `other_columns`, else they are errors.
ResultOrErrors<std::vector<CsvRow>> read_csv(const std::string& path,
                                             const std::vector<std::string>& columns,
                                             bool other_columns = false);
// The same from text in memory; messages call it `name`.
ResultOrErrors<std::vector<CsvRow>> read_csv(std::istream& text,
                                             const std::string& name,
                                             const std::vector<std::string>& columns,
                                             bool other_columns = false);

// The whole field as a number, or no value. Infinities and NaN are not accepted.
std::optional<double> parse_number(std::string_view field);
std::optional<std::int64_t> parse_integer(std::string_view field);

}  // namespace orrery
