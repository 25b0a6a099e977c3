// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "scenarios/format/provenance/version.h"
#include "scenarios/program/man.h"
#include "scenarios/program/spelling.h"

namespace orrery {
namespace {

// Replaces the ellipsis of a help text by troff's name for it, because troff reads bytes.
std::string without_ellipsis(std::string text) {
    constexpr std::string_view kEllipsis = "…";
    for (std::size_t at = 0; (at = text.find(kEllipsis, at)) != std::string::npos;) {
        text.replace(at, kEllipsis.size(), "...");
    }
    return text;
}

// Escapes text for man(7): backslashes, hyphens, and lines that would begin a request.
std::string in_roff(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool line_begins = out.empty() || out.back() == '\n';
        if (line_begins && (c == '.' || c == '\'')) {
            out += "\\&";
        }
        out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    }
    return without_ellipsis(std::move(out));
}

std::string heading(const std::string& name, const std::string& what) {
    return fmt::format(".TH {} 1 \"\" \"Orrery {}\" \"Orrery\"\n.SH NAME\n{} \\- {}\n",
                       name,
                       kVersion,
                       in_roff(name),
                       in_roff(what));
}

std::string options_of(const Command& command, bool general) {
    std::string text;
    for (const CommandOption& option : command.options) {
        if (option.now.empty() && option.general == general) {
            text += fmt::format(
                ".TP\n.B {}\n{}\n", in_roff(spelling_of(option)), in_roff(meaning_of(option)));
        }
    }
    return text;
}

constexpr const char* kStatuses =
    ".SH EXIT STATUS\n"
    ".TP\n0\nSuccess.\n"
    ".TP\n1\nA finding: a suspect component, a difference that was asked for.\n"
    ".TP\n2\nAn error: a wrong command line, scenario or file, or a lack of disk or memory.\n"
    ".TP\n3\nA GPU kernel with wrong results.\n"
    ".TP\n70\nA defect of the program itself.\n"
    ".TP\n130, 143\nEnded by Ctrl-C or SIGTERM.\n";

}  // namespace

std::string command_page(const Command& command) {
    std::string text = heading("orrery-" + command.name, command.help);
    text += ".SH SYNOPSIS\n.B " + in_roff(usage_of(command)) + "\n.SH OPTIONS\n";
    text += options_of(command, false) + ".SH OPTIONS OF EVERY COMMAND\n";
    text += options_of(command, true) + ".SH EXAMPLES\n.nf\n";
    for (const std::string& example : command.examples) {
        text += in_roff("orrery " + example) + "\n";
    }
    return text + ".fi\n" + kStatuses + ".SH SEE ALSO\n.BR orrery (1)\n";
}

std::string program_page(const std::vector<Command>& commands) {
    std::string text = heading("orrery", "simulate and train transformers on GPU clusters");
    text += ".SH SYNOPSIS\n.B orrery\nCOMMAND [OPTIONS] [ARGUMENTS]\n.SH COMMANDS\n";
    for (std::size_t i = 0; i < commands.size(); ++i) {
        if (i == 0 || commands[i].group != commands[i - 1].group) {
            text += fmt::format(".SS {}\n", title_of(commands[i].group));
        }
        text += fmt::format(
            ".TP\n.BR orrery\\-{} (1)\n{}\n", in_roff(commands[i].name), in_roff(commands[i].help));
    }
    return text + kStatuses +
           ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nErrors are not coloured if it is set.\n"
           ".TP\n.B ORRERY_CATALOGUE\nThe catalogue's folder, in place of the installed one.\n";
}

}  // namespace orrery
