// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>

namespace orrery {
namespace {

// A key of a hostile file can have a million characters; names of this program are far shorter.
constexpr std::size_t kLongestName = 64;

std::string simplified(std::string_view name) {
    std::string simple;
    for (const char c : name.substr(0, kLongestName)) {
        const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        simple += lower == '-' ? '_' : lower;
    }
    return simple;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
    // Rows i-2, i-1 and i of the table.
    std::vector<std::size_t> before_last(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        last[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before_last[j - 2] + 1);
            }
        }
        std::swap(before_last, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

std::vector<std::string> nearest_names(std::string_view name,
                                       const std::vector<std::string>& known,
                                       std::size_t count) {
    const std::string wanted = simplified(name);
    struct Ranked {
        bool other;  // false: it begins with the name
        std::size_t distance;
        std::string_view name;
    };
    std::vector<Ranked> ranked;
    for (const std::string& candidate : known) {
        const std::string simple = simplified(candidate);
        const bool long_enough = wanted.size() >= 3;
        const bool begins = long_enough && simple.starts_with(wanted);
        const bool contained = long_enough && (simple.find(wanted) != std::string::npos ||
                                               wanted.find(simple) != std::string::npos);
        const std::size_t distance = edit_distance(wanted, simple);
        if (contained || 2 * distance <= std::max(wanted.size(), simple.size())) {
            ranked.push_back({!begins, contained ? distance / 2 : distance, candidate});
        }
    }
    std::ranges::stable_sort(ranked, std::less{}, [](const Ranked& one) {
        return std::pair{one.other, one.distance};
    });
    std::vector<std::string> names;
    for (const Ranked& one : ranked) {
        if (names.size() < count && std::ranges::find(names, one.name) == names.end()) {
            names.emplace_back(one.name);
        }
    }
    return names;
}

namespace {

// The first names of a long list, and the number of all.
std::string all_names_hint(const std::vector<std::string>& known) {
    constexpr std::size_t kMost = 32;
    constexpr std::size_t kFirst = 12;
    if (known.empty()) {
        return "none is known";
    }
    if (known.size() <= kMost) {
        return fmt::format("one of {}", fmt::join(known, ", "));
    }
    return fmt::format("one of {}, … ({} in all)",
                       fmt::join(known.begin(), known.begin() + kFirst, ", "),
                       known.size());
}

}  // namespace

std::string nearest_hint(std::string_view name, const std::vector<std::string>& known) {
    const std::vector<std::string> near = nearest_names(name, known, 3);
    if (near.empty()) {
        return all_names_hint(known);
    }
    std::string hint = fmt::format("did you mean '{}'", near[0]);
    for (std::size_t i = 1; i < near.size(); ++i) {
        hint += fmt::format("{}'{}'", i + 1 == near.size() ? " or " : ", ", near[i]);
    }
    return hint + "?";
}

}  // namespace orrery
