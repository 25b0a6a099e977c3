// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/shell_text.h"

namespace orrery {

std::string readable(std::string_view marked) {
    std::string text;
    for (const char c : marked) {
        if (c != kUnsetBegin && c != kUnknownBegin && c != kMarkEnd) {
            text += c;
        }
    }
    return text;
}

bool known_text(std::string_view marked, std::string& text) {
    bool inside = false;
    text.clear();
    for (const char c : marked) {
        if (c == kUnknownBegin) {
            return false;
        }
        if (c == kUnsetBegin || c == kMarkEnd) {
            inside = c == kUnsetBegin;
        } else if (!inside) {
            text += c;
        }
    }
    return true;
}

}  // namespace orrery
