// SPDX-License-Identifier: Apache-2.0
// Reads tables of measured cases (CSV): fields of a row by column name, with errors at their place,
// and one case per row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/field.h"
#include "engine/base/result.h"
#include "kernels/csv_rows.h"

namespace orrery {

// The columns that a reader needs, in its own order: "case,gpu,notes=". A name with "=" is optional
// (kernels/csv_rows.h).
class CaseColumns {
public:
    explicit CaseColumns(std::string_view names) { add(names); }
    void add(std::string_view names);
    const std::vector<std::string>& names() const { return names_; }
    // names().size() if no column has the name.
    std::size_t position(std::string_view name) const;

private:
    std::vector<std::string> names_;
};

class CaseFields {
public:
    CaseFields(const CsvRow& row, const CaseColumns& columns, Errors& errors)
        : row_(row), columns_(columns), errors_(errors) {}

    const std::string& where() const { return row_.where; }
    const std::string& text(std::string_view column) const;
    // `otherwise`, without an error, if the field is no number.
    std::int64_t stated(std::string_view column, std::int64_t otherwise) const;
    double stated(std::string_view column) const;
    // `otherwise` if the field is empty. Zero is a number.
    std::int64_t integer(std::string_view column, std::int64_t otherwise);
    double number(std::string_view column);
    bool flag(std::string_view column);
    // A number from 1 to `most`.
    std::int64_t count(std::string_view column, std::int64_t most = 1'000'000'000);
    std::int64_t count_or(std::string_view column, std::int64_t otherwise) {
        return text(column).empty() ? otherwise : count(column);
    }
    double positive(std::string_view column);
    template <class T>
    T choice(std::string_view column, T otherwise, std::type_identity_t<Choices<T>> choices) {
        for (const auto& [word, value] : choices) {
            if (text(column) == word) {
                return value;
            }
        }
        complain(column, "is not a known word");
        return otherwise;
    }

    // Adds the error "COLUMN 'FIELD' WHAT".
    void complain(std::string_view column, std::string_view what);
    void complain_of_row(std::string what, std::string hint = {}) {
        errors_.push_back({row_.where, std::move(what), std::move(hint)});
    }

private:
    void refuse(std::string_view column, const char* hint);

    const CsvRow& row_;
    const CaseColumns& columns_;
    Errors& errors_;
};

// Reads one case per row. The table may have further columns.
template <class Case>
ResultOrErrors<std::vector<Case>> read_cases(const std::string& file,
                                             const CaseColumns& columns,
                                             Case (*case_of)(CaseFields& fields)) {
    const auto rows = read_csv(file, columns.names(), true);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    std::vector<Case> cases;
    Errors errors;
    for (const CsvRow& row : *rows) {
        CaseFields fields{row, columns, errors};
        cases.push_back(case_of(fields));
    }
    return errors.empty() ? ResultOrErrors<std::vector<Case>>{std::move(cases)}
                          : unexpected<Errors>(std::move(errors));
}

}  // namespace orrery
