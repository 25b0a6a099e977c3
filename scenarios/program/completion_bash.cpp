// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "scenarios/program/completion.h"

namespace orrery {
namespace {

constexpr const char* kBashHead =
    R"sh(# orrery: completion for bash. In ~/.bashrc: eval "$(orrery completion bash)"
_orrery() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local command= words= word names= keys='{}' entries='{}'
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case $word in
        -*) ;;
        *) command=$word; break ;;
        esac
    done
    case $command in
)sh";
constexpr const char* kBashTail =
    R"sh(    esac
    COMPREPLY=()
    if [[ $previous == --set ]]; then
        COMPREPLY=($(compgen -S = -W "$keys" -- "$current"))
        compopt -o nospace 2>/dev/null
    elif [[ -n $names && $current != -* ]]; then
        COMPREPLY=($(compgen -W "$names" -- "$current"))
    elif [[ -z $command || $current == -* ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    else
        local IFS=$'\n'
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}
complete -o filenames -F _orrery orrery ./orrery
)sh";

std::string words_of(const std::vector<Command>& commands) {
    std::string words;
    for (const Command& command : commands) {
        words += (words.empty() ? "" : " ") + command.name;
    }
    return words;
}

}  // namespace

std::string bash_script(const std::vector<Command>& commands) {
    std::string cases;
    for (const Command& command : commands) {
        std::string words;
        for (const CompletedFlag& flag : completed_flags(command)) {
            words += (words.empty() ? "" : " ") + flag.name;
        }
        const char* names = command.name == "catalogue" ? " names=$entries" : "";
        cases += fmt::format("    {}) words={}{} ;;\n", command.name, shell_quoted(words), names);
    }
    const std::string first = words_of(commands) + " --help --version";
    return fmt::format(kBashHead, keys_to_set(), catalogue_names()) +
           fmt::format("    '') words={} ;;\n", shell_quoted(first)) + cases + kBashTail;
}

}  // namespace orrery
