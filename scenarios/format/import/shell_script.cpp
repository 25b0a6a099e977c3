// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/shell_script.h"

#include <algorithm>
#include <utility>

#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/import/shell_statements.h"

namespace orrery {
namespace {

// Words of the variables, for a file that other scripts read and that has flags only in variables.
std::vector<ShellWord> flags_of_variables(const ShellState& state) {
    std::vector<ShellWord> words;
    for (const std::string& name : state.order) {
        const std::vector<PlacedText>& elements = state.variables.find(name)->second;
        const bool flags = std::ranges::any_of(elements, [](const PlacedText& element) {
            return element.chars.find("--") != std::string::npos;
        });
        for (const PlacedText& element : flags ? elements : std::vector<PlacedText>{}) {
            for (ShellWord& word : split_at_blanks(element)) {
                words.push_back(std::move(word));
            }
        }
    }
    return words;
}

}  // namespace

ResultOrErrors<LaunchCommand> launch_command(const std::string& text, const std::string& source) {
    if (const Error fault = check_text(text, source); !fault.what.empty()) {
        return unexpected<Errors>({fault});
    }
    ShellState state;
    state.source = source;
    state.lines = {0};
    PlacedText placed;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto offset = static_cast<std::uint32_t>(i);
        if (text[i] != '\r') {
            placed.add(text[i], offset);
        }
        if (text[i] == '\n') {
            state.lines.push_back(offset + 1);
        }
    }
    FlagsCommand best;
    follow_script(placed, state, best);
    if (best.flags == 0 && state.errors.empty()) {
        best.words = flags_of_variables(state);
    }
    if (!state.errors.empty()) {
        return unexpected<Errors>(std::move(state.errors));
    }
    LaunchCommand launch{.words = {}, .passed_over = std::move(state.notes)};
    for (const ShellWord& word : best.words) {
        launch.words.push_back({readable(word.text.chars), state.where(word.text.place(0))});
    }
    return launch;
}

}  // namespace orrery
