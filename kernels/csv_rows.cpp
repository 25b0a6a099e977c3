// SPDX-License-Identifier: Apache-2.0
// The only user of fast-cpp-csv-parser in this room. Its line reader counts lines and accepts every
// line ending. We split lines ourselves because the columns are known only at run time.
#include "kernels/csv_rows.h"

// The library truncates long file names with strncpy on purpose.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wstringop-truncation"
#endif
#define CSV_IO_NO_THREAD
#include <libfccp/csv.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "engine/base/input_file.h"

namespace orrery {

namespace {

// Appends a line end if the text lacks it. Otherwise the library reads one byte beyond the text,
// and would continue if an earlier text had left a newline there.
class EndedText final : public io::ByteSourceBase {
public:
    explicit EndedText(std::istream& text) : text_(text) {}
    int read(char* buffer, int size) override {
        text_.read(buffer, size);
        auto count = static_cast<int>(text_.gcount());
        last_ = count > 0 ? buffer[count - 1] : last_;
        if (count < size && last_ != '\n') {
            buffer[count++] = last_ = '\n';
        }
        return count;
    }

private:
    std::istream& text_;
    char last_ = '\n';
};

std::vector<std::string> split(std::string_view line) {
    std::vector<std::string> fields;
    while (true) {
        const std::size_t comma = line.find(',');
        std::string_view field = line.substr(0, comma);
        const std::size_t first = field.find_first_not_of(" \t");
        const std::size_t last = field.find_last_not_of(" \t");
        fields.emplace_back(first == std::string_view::npos
                                ? std::string_view{}
                                : field.substr(first, last - first + 1));
        if (comma == std::string_view::npos) {
            return fields;
        }
        line.remove_prefix(comma + 1);
    }
}

constexpr std::size_t kMissing = static_cast<std::size_t>(-1);

std::string_view name_of(const std::string& column) {
    return std::string_view{column}.substr(0, column.find('='));
}

std::string default_of(const std::string& column) {
    return column.substr(column.find('=') + 1);
}

// One error for a file that is not such a table, instead of one for each column.
Error not_the_table(const std::vector<std::string>& header,
                    const std::vector<std::string>& columns,
                    const std::string& where) {
    constexpr std::size_t kNamed = 5;
    std::string names;
    for (std::size_t i = 0; i < std::min(kNamed, columns.size()); ++i) {
        names += (i > 0 ? ", " : "") + std::string{name_of(columns[i])};
    }
    if (columns.size() > kNamed) {
        names += ", … (" + std::to_string(columns.size()) + " in all)";
    }
    const bool other_separator =
        header.size() == 1 && header[0].find_first_of(";\t") != std::string::npos;
    return {where,
            "not the table (CSV) that is due here: the first line names none of its columns",
            (other_separator ? "commas separate fields; columns " : "columns ") + names};
}

// The position in the file of each requested column.
ResultOrErrors<std::vector<std::size_t>> match_header(const std::vector<std::string>& header,
                                                      const std::vector<std::string>& columns,
                                                      bool other_columns,
                                                      const std::string& where) {
    std::vector<std::size_t> position;
    Errors errors;
    const auto is_there = [&](const std::string& column) {
        return std::find(header.begin(), header.end(), name_of(column)) != header.end();
    };
    if (std::none_of(columns.begin(), columns.end(), is_there)) {
        errors.push_back(not_the_table(header, columns, where));
        return unexpected<Errors>(std::move(errors));
    }
    for (const std::string& column : columns) {
        const auto found = std::find(header.begin(), header.end(), name_of(column));
        const bool optional = column.find('=') != std::string::npos;
        if (found == header.end() && !optional) {
            errors.push_back({where, "column " + column + " is missing", ""});
        }
        position.push_back(
            found == header.end() ? kMissing : static_cast<std::size_t>(found - header.begin()));
    }
    for (std::size_t i = 0; i < header.size(); ++i) {
        if (std::find(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(i), header[i]) !=
            header.begin() + static_cast<std::ptrdiff_t>(i)) {
            errors.push_back(
                {where, "column " + header[i] + " appears twice", "delete one of them"});
        }
        if (!other_columns &&
            std::none_of(columns.begin(), columns.end(), [&](const std::string& column) {
                return name_of(column) == header[i];
            })) {
            errors.push_back({where, "unknown column '" + header[i] + "'", ""});
        }
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return position;
}

}  // namespace

ResultOrErrors<std::vector<CsvRow>> read_csv(std::istream& text,
                                             const std::string& name,
                                             const std::vector<std::string>& columns,
                                             bool other_columns) {
    std::vector<CsvRow> rows;
    std::vector<std::size_t> position;
    std::size_t width = 0;
    Errors errors;
    try {
        io::LineReader lines(name, std::make_unique<EndedText>(text));
        while (const char* raw = lines.next_line()) {
            const std::string_view line(raw);
            if (line.empty() || line.front() == '#') {
                continue;
            }
            const std::string where = name + ":" + std::to_string(lines.get_file_line());
            const std::vector<std::string> fields = split(line);
            if (width == 0) {
                auto matched = match_header(fields, columns, other_columns, where);
                if (!matched) {
                    return unexpected<Errors>(std::move(matched.error()));
                }
                position = std::move(*matched);
                width = fields.size();
                continue;
            }
            if (fields.size() != width) {
                errors.push_back({where,
                                  "the row has " + std::to_string(fields.size()) +
                                      " fields, the header " + std::to_string(width),
                                  "fields cannot contain commas"});
                continue;
            }
            CsvRow row{where, {}};
            for (std::size_t i = 0; i < position.size(); ++i) {
                row.fields.push_back(position[i] == kMissing ? default_of(columns[i])
                                                             : fields[position[i]]);
            }
            rows.push_back(std::move(row));
        }
    } catch (const std::exception& error) {  // a line is longer than the reader's buffer
        errors.push_back({name, error.what(), "is it a table of comma-separated values?"});
    }
    if (width == 0 && errors.empty()) {
        errors.push_back(
            {name, "the table has no header line", "its first line names the columns"});
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return rows;
}

ResultOrErrors<std::vector<CsvRow>> read_csv(const std::string& path,
                                             const std::vector<std::string>& columns,
                                             bool other_columns) {
    auto file = open_input(path);
    if (!file) {
        return unexpected<Errors>(Errors{file.error()});
    }
    return read_csv(*file, path, columns, other_columns);
}

std::optional<double> parse_number(std::string_view field) {
    double value = 0;
    const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (code != std::errc{} || end != field.data() + field.size() || !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

std::optional<std::int64_t> parse_integer(std::string_view field) {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (code != std::errc{} || end != field.data() + field.size()) {
        return std::nullopt;
    }
    return value;
}

}  // namespace orrery
