// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/completion.h"

#include <fmt/format.h>

#include <memory>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/read/scenario_keys.h"
#include "scenarios/program/exit_status.h"

namespace orrery {
namespace {

struct Flag {
    std::string name;  // "--json"
    std::string help;
    bool has_value = false;
};

// "-o,--output" is two; "!--no-fold" is one that clears.
std::vector<Flag> flags_of(const Command& command) {
    std::vector<Flag> flags;
    for (const CommandOption& option : command.options) {
        const bool is_word = !option.names.starts_with('-') && !option.names.starts_with('!');
        if (is_word || !option.now.empty()) {
            continue;
        }
        const std::string names = option.names.substr(option.names[0] == '!' ? 1 : 0);
        for (std::size_t begin = 0; begin < names.size();) {
            const std::size_t comma = std::min(names.find(',', begin), names.size());
            flags.push_back({names.substr(begin, comma - begin),
                             option.help,
                             !std::holds_alternative<bool*>(option.target)});
            begin = comma + 1;
        }
    }
    flags.push_back({"--help", "Print this command's help", false});
    return flags;
}

// Inside single quotes, of every shell here.
std::string shell_quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) {
        out += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
    }
    return out + "'";
}

std::string words_of(const std::vector<Command>& commands) {
    std::string words;
    for (const Command& command : commands) {
        words += (words.empty() ? "" : " ") + command.name;
    }
    return words;
}

// Keys that --set takes; of a list's items the program knows no numbers.
std::string keys_to_set() {
    std::string words;
    for (const ScenarioKey& key : scenario_keys()) {
        const bool one = key.shape != KeyShape::map && key.shape != KeyShape::map_list;
        if (one && key.use != FieldUse::derived && key.key.find('[') == std::string::npos) {
            words += (words.empty() ? "" : " ") + key.key;
        }
    }
    return words;
}

// Of all entries of the catalogue, behind those of its sections.
std::string catalogue_names() {
    const Catalogue catalogue{default_catalogue()};
    std::string sections;
    std::string names;
    for (const FileKind& kind : file_kinds()) {
        if (!kind.catalogue.empty()) {
            sections += (sections.empty() ? "" : " ") + std::string{kind.catalogue};
            for (const std::string& name : catalogue.names(kind.catalogue)) {
                names += " " + name;
            }
        }
    }
    return sections + names;
}

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

std::string bash_script(const std::vector<Command>& commands) {
    std::string cases;
    for (const Command& command : commands) {
        std::string words;
        for (const Flag& flag : flags_of(command)) {
            words += (words.empty() ? "" : " ") + flag.name;
        }
        const char* names = command.name == "catalogue" ? " names=$entries" : "";
        cases += fmt::format("    {}) words={}{} ;;\n", command.name, shell_quoted(words), names);
    }
    const std::string first = words_of(commands) + " --help --version";
    return fmt::format(kBashHead, keys_to_set(), catalogue_names()) +
           fmt::format("    '') words={} ;;\n", shell_quoted(first)) + cases + kBashTail;
}

// In a zsh description brackets and colons have a meaning.
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
compdef _orrery orrery ./orrery
)sh";

std::string zsh_script(const std::vector<Command>& commands) {
    std::string list;
    std::string cases;
    for (const Command& command : commands) {
        list +=
            fmt::format("        {}\n", shell_quoted(command.name + ":" + for_zsh(command.help)));
        cases += fmt::format("    {})\n        _arguments", command.name);
        for (const Flag& flag : flags_of(command)) {
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

std::string fish_script(const std::vector<Command>& commands) {
    std::string text =
        "# orrery: completion for fish. In ~/.config/fish/config.fish: "
        "orrery completion fish | source\n";
    for (const Command& command : commands) {
        text += fmt::format("complete -c orrery -n __fish_use_subcommand -f -a {} -d {}\n",
                            command.name,
                            shell_quoted(command.help));
        for (const Flag& flag : flags_of(command)) {
            const bool is_long = flag.name.starts_with("--");
            text += fmt::format(
                "complete -c orrery -n '__fish_seen_subcommand_from {}' {} {}{}{} -d {}\n",
                command.name,
                is_long ? "-l" : "-s",
                flag.name.substr(is_long ? 2 : 1),
                flag.has_value ? " -r" : "",
                flag.name == "--set" ? " -f -a " + shell_quoted(keys_to_set()) : "",
                shell_quoted(flag.help));
        }
        if (command.name == "catalogue") {
            text += "complete -c orrery -n '__fish_seen_subcommand_from catalogue' -f -a " +
                    shell_quoted(catalogue_names()) + "\n";
        }
    }
    return text;
}

}  // namespace

Result<std::string> completion_script(const std::string& shell,
                                      const std::vector<Command>& commands) {
    if (shell == "bash") {
        return bash_script(commands);
    }
    if (shell == "zsh") {
        return zsh_script(commands);
    }
    if (shell == "fish") {
        return fish_script(commands);
    }
    return fail("completion",
                fmt::format("there is no completion for the shell '{}'", shell),
                "one of bash, zsh, fish");
}

int completion_command(const std::string& shell) {
    const auto script = completion_script(shell, all_commands());
    return script ? print_output(*script) : report_error(script.error());
}

Command describe_completion() {
    const auto shell = std::make_shared<std::string>();
    return {
        .name = "completion",
        .help = "Print a script that completes this program's command lines in a shell",
        .options = {{"shell", shell.get(), "bash, zsh or fish", "SHELL", true}},
        .examples = {"completion bash"},
        .run = [shell] { return completion_command(*shell); },
    };
}

}  // namespace orrery
