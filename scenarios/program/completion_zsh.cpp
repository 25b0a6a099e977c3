// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "scenarios/program/completion.h"

namespace orrery {
namespace {

// Brackets and colons have a meaning in a description of zsh.
std::string for_zsh(const std::string& text) {
    std::string out;
    for (const char c : text) {
        out += c == '[' || c == ']' || c == ':' ? "\\" : "";
        out += c;
    }
    return out;
}

constexpr const char* kZshStart =
    R"sh(#compdef orrery
# orrery: completion for zsh. In ~/.zshrc, after compinit: eval "$(orrery completion zsh)"
)sh";
constexpr const char* kZshHead =
    R"sh(_orrery() {
    local -a commands
    commands=(
)sh";
constexpr const char* kZshMiddle =
    R"sh(    )
    if (( CURRENT == 2 )); then
        _describe 'command' commands
        return
    fi
    local command=${words[2]}
    shift words
    (( CURRENT-- ))
    case $command in
)sh";
constexpr const char* kZshTail =
    R"sh(    esac
}
if [[ ${funcstack[1]} == _orrery ]]; then
    _orrery "$@"
else
    compdef _orrery orrery ./orrery
fi
)sh";

}  // namespace

std::string zsh_script(const std::vector<Command>& commands) {
    std::string list;
    std::string cases;
    for (const Command& command : commands) {
        list +=
            fmt::format("        {}\n", shell_quoted(command.name + ":" + for_zsh(command.help)));
        cases += fmt::format("    {})\n        _arguments", command.name);
        for (const CompletedFlag& flag : completed_flags(command)) {
            const std::string value = flag.name == "--set" ? ":key:_orrery_keys"
                                      : flag.has_value     ? ":value:_files"
                                                           : "";
            cases += " \\\n            " +
                     shell_quoted("*" + flag.name + "[" + for_zsh(flag.help) + "]" + value);
        }
        const bool named = command.name == "catalogue";
        cases += fmt::format(" \\\n            '*:{}'\n        ;;\n",
                             named ? "name:(" + catalogue_names() + ")" : "file:_files");
    }
    return kZshStart +
           fmt::format("_orrery_keys() {{\n    compadd -S = -- {}\n}}\n", keys_to_set()) +
           kZshHead + list + kZshMiddle + cases + kZshTail;
}

}  // namespace orrery
