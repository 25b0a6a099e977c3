// SPDX-License-Identifier: Apache-2.0
#include "kernels/efficiency_table.h"

#include <array>
#include <cstdio>
#include <sstream>

#include "kernels/csv_rows.h"

namespace orrery {

void EfficiencyTable::set(std::string_view name,
                          std::string_view generation,
                          std::string_view dtype,
                          EfficiencyParameter parameter) {
    rows_[Key{name, generation, dtype}] = std::move(parameter);
}

const EfficiencyParameter* EfficiencyTable::find(std::string_view name,
                                                 std::string_view generation,
                                                 std::string_view dtype) const {
    const std::array<Key, 4> keys{Key{name, generation, dtype},
                                  Key{name, generation, "*"},
                                  Key{name, "*", dtype},
                                  Key{name, "*", "*"}};
    for (const Key& key : keys) {
        if (const auto row = rows_.find(key); row != rows_.end()) {
            return &row->second;
        }
    }
    return nullptr;
}

double EfficiencyTable::value_or(std::string_view name,
                                 std::string_view generation,
                                 std::string_view dtype,
                                 double fallback) const {
    const EfficiencyParameter* parameter = find(name, generation, dtype);
    return parameter ? parameter->value : fallback;
}

std::string_view dtype_class(Dtype dtype) {
    switch (dtype) {
        case Dtype::fp32:
        case Dtype::int32:
            return "fp32";
        case Dtype::fp8:
        case Dtype::int8:
        case Dtype::uint8:
            return "fp8";
        case Dtype::bf16:
        case Dtype::fp16:
            break;
    }
    return "fp16";
}

// Rows whose values are logarithms and may be negative.
constexpr std::string_view kLogarithms = "step.shift.";

ResultOrErrors<EfficiencyTable> read_efficiency_table(const std::string& path) {
    const auto rows =
        read_csv(path, {"name", "generation", "dtype", "value", "sigma", "source"}, false);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    EfficiencyTable table;
    Errors errors;
    for (const CsvRow& row : *rows) {
        const auto value = parse_number(row.fields[3]);
        const auto sigma = parse_number(row.fields[4]);
        const bool logarithm = row.fields[0].starts_with(kLogarithms);
        if (!value || (*value < 0 && !logarithm)) {
            errors.push_back({row.where, "value '" + row.fields[3] + "' is not a number >= 0", ""});
        }
        if (!sigma || *sigma < 0) {
            errors.push_back({row.where, "sigma '" + row.fields[4] + "' is not a number >= 0", ""});
        }
        const EfficiencyTable::Key key{row.fields[0], row.fields[1], row.fields[2]};
        if (table.rows().contains(key)) {
            errors.push_back({row.where,
                              row.fields[0] + " of " + row.fields[1] + " and " + row.fields[2] +
                                  " appears twice",
                              ""});
        }
        if (errors.empty()) {
            table.set(row.fields[0],
                      row.fields[1],
                      row.fields[2],
                      {.value = *value, .sigma = *sigma, .source = row.fields[5]});
        }
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return table;
}

std::string efficiency_table_csv(const EfficiencyTable& table, const std::string& comment) {
    std::string text;
    std::istringstream lines(comment);
    for (std::string line; std::getline(lines, line);) {
        text += "# " + line + "\n";
    }
    text += "name,generation,dtype,value,sigma,source\n";
    for (const auto& [key, parameter] : table.rows()) {
        std::array<char, 64> numbers{};
        std::snprintf(
            numbers.data(), numbers.size(), "%.5g,%.3g", parameter.value, parameter.sigma);
        text += std::get<0>(key) + "," + std::get<1>(key) + "," + std::get<2>(key) + "," +
                numbers.data() + "," + parameter.source + "\n";
    }
    return text;
}

}  // namespace orrery
