// SPDX-License-Identifier: Apache-2.0
// Rows of text with aligned columns.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace orrery {

class TextColumns {
public:
    void add(std::vector<std::string> row) {
        widths_.resize(std::max(widths_.size(), row.size()), 0);
        for (std::size_t c = 0; c < row.size(); ++c) {
            widths_[c] = std::max(widths_[c], row[c].size());
        }
        rows_.push_back(std::move(row));
    }

    std::string text() const {
        std::string text;
        for (const std::vector<std::string>& row : rows_) {
            std::string line;
            for (std::size_t c = 0; c < row.size(); ++c) {
                if (widths_[c] > 0) {
                    line += "  " + row[c] + std::string(widths_[c] - row[c].size(), ' ');
                }
            }
            line.resize(line.find_last_not_of(' ') + 1);
            text += line + "\n";
        }
        return text;
    }

private:
    std::vector<std::vector<std::string>> rows_;
    std::vector<std::size_t> widths_;
};

}  // namespace orrery
