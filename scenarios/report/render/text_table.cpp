// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/text_table.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "engine/base/check.h"
#include "scenarios/format/document/utf8.h"

namespace orrery {

std::string text_table(const std::vector<TextRow>& rows, std::size_t left_columns) {
    std::vector<bool> right(rows.empty() ? 0 : rows[0].size(), true);
    std::fill_n(right.begin(), std::min(left_columns, right.size()), false);
    return text_table(rows, right);
}

std::string text_table(const std::vector<TextRow>& rows,
                       const std::vector<bool>& right,
                       std::size_t gap) {
    std::vector<std::size_t> widths(rows.empty() ? 0 : rows[0].size(), 0);
    for (const TextRow& row : rows) {
        ORRERY_CHECK(row.size() == widths.size());
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], num_characters(row[i]));
        }
    }
    std::string text;
    for (const TextRow& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string fill(widths[i] - num_characters(row[i]), ' ');
            line += std::string(i == 0 ? 2 : gap, ' ') + (right[i] ? fill + row[i] : row[i] + fill);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string wrapped(std::string_view prose, std::size_t width, std::size_t indent) {
    std::istringstream words{std::string{prose}};
    const std::string margin(indent, ' ');
    std::string text;
    std::string line;
    for (std::string word; words >> word;) {
        if (!line.empty() && indent + num_characters(line) + 1 + num_characters(word) > width) {
            text += margin + line + "\n";
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
    }
    return line.empty() ? text : text + margin + line + "\n";
}

namespace {

// The longest part of at most `width` characters that ends after a dash, an underscore or a slash,
// if it fills half a line. Otherwise the first `width` characters.
std::string first_part(const std::string& word, std::size_t width) {
    std::string part = cut(word, width);
    const std::size_t joint = part.find_last_of("-_/");
    if (joint != std::string::npos && 2 * num_characters(part.substr(0, joint + 1)) >= width) {
        part.resize(joint + 1);
    }
    return part;
}

// A line of a sum ends after a plus: "9 x tp 2 +" and "7 x tp 2" instead of "9 x tp 2 + 7" and "x
// tp 2". The next line must have room, and half of this line must remain.
void keep_parts_whole(std::vector<std::string>& lines, std::size_t width) {
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        const std::size_t plus = lines[i].rfind(" + ");
        if (plus == std::string::npos || 2 * num_characters(lines[i].substr(0, plus + 2)) < width) {
            continue;
        }
        std::string next = lines[i].substr(plus + 3) + " " + lines[i + 1];
        if (num_characters(next) <= width) {
            lines[i].resize(plus + 2);
            lines[i + 1] = std::move(next);
        }
    }
}

}  // namespace

std::vector<std::string> cell_lines(const std::string& cell, std::size_t width) {
    if (num_characters(cell) <= width) {
        return {cell};
    }
    std::vector<std::string> lines;
    std::istringstream wide{wrapped(cell, width, 0)};
    for (std::string line; std::getline(wide, line);) {
        while (num_characters(line) > width) {
            lines.push_back(first_part(line, width));
            line.erase(0, lines.back().size());
        }
        lines.push_back(line);
    }
    keep_parts_whole(lines, width);
    return lines.empty() ? std::vector<std::string>{""} : lines;
}

}  // namespace orrery
