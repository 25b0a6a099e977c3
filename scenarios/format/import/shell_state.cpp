// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/shell_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace orrery {

std::string ShellState::where(std::uint32_t offset) const {
    const auto line = std::ranges::upper_bound(lines, offset) - lines.begin();
    const std::uint32_t begin = line > 0 ? lines[static_cast<std::size_t>(line - 1)] : 0;
    return fmt::format("{}:{}:{}", source, line, offset - begin + 1);
}

void ShellState::note(std::uint32_t offset, std::string_view what) {
    std::string text = fmt::format("{}: {}", where(offset), what);
    constexpr std::size_t kMost = 100;
    if (active && notes.size() < kMost && std::ranges::find(notes, text) == notes.end()) {
        notes.push_back(std::move(text));
    }
}

void ShellState::fail(std::uint32_t offset, std::string what, std::string hint) {
    if (errors.empty()) {
        errors.push_back({where(offset), std::move(what), std::move(hint)});
    }
}

void ShellState::spend(std::size_t count, std::uint32_t offset) {
    characters += count;
    if (characters > kShellCharactersMost) {
        fail(offset, "the script expands to more than 4 MiB", "paste the command line");
    }
}

void ShellState::assign(const std::string& name, std::vector<PlacedText> elements, bool append) {
    if (!active) {
        return;
    }
    if (!variables.contains(name)) {
        order.push_back(name);
    }
    std::vector<PlacedText>& value = variables[name];
    if (!append) {
        value = std::move(elements);
        return;
    }
    value.insert(value.end(), elements.begin(), elements.end());
}

}  // namespace orrery
