// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/shell_statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "scenarios/format/import/shell_arithmetic.h"

namespace orrery {
namespace {

std::ptrdiff_t flags_in(const std::vector<ShellWord>& words) {
    return std::ranges::count_if(
        words, [](const ShellWord& word) { return word.text.chars.starts_with("--"); });
}

// Runs the statements of one text in their order.
class Statements {
public:
    Statements(const PlacedText& text, ShellState& state, FlagsCommand& best)
        : words_(text, state), state_(state), best_(best) {}

    void run() {
        while (!words_.at_end()) {
            list({});
            if (!words_.at_end()) {
                words_.advance(std::max<std::size_t>(1, words_.bare_word().size()));  // a stray end
            }
        }
    }

private:
    using Ends = std::vector<std::string_view>;

    // Commands up to one of the words, which stays, or up to the ')' of a group.
    Truth list(const Ends& ends) {
        Truth status = Truth::yes;
        while (true) {
            separators();
            const std::string word = words_.bare_word();
            if (words_.at_end() || words_.peek() == ')' ||
                std::ranges::find(ends, word) != ends.end()) {
                return status;
            }
            status = chain();
        }
    }

    void separators() {
        while (!words_.at_end()) {
            words_.skip_blanks();
            if (words_.peek() == '\n') {
                line_end();
            } else if (words_.peek() == ';' || (words_.peek() == '&' && words_.peek(1) != '>')) {
                words_.advance();
            } else {
                return;
            }
        }
    }

    // Reads the end of a line, and the texts of << that begin after it.
    void line_end() {
        words_.advance();
        for (const std::string& delimiter : std::exchange(here_documents_, {})) {
            std::string line;
            do {
                line.clear();
                while (!words_.at_end() && words_.peek() != '\n') {
                    line += words_.peek();
                    words_.advance();
                }
                words_.advance();
                line.erase(0, std::min(line.find_first_not_of('\t'), line.size()));
            } while (!words_.at_end() && line != delimiter);
        }
    }

    // Reads a && b
    //
    // c.
    Truth chain() {
        Truth status = pipeline();
        while (true) {
            words_.skip_blanks();
            const bool both = words_.looking_at("&&");
            if (!both && !words_.looking_at("||")) {
                return status;
            }
            const std::uint32_t place = words_.offset();
            words_.advance(2);
            separators();
            const bool run = status == (both ? Truth::yes : Truth::no);
            if (status == Truth::unknown) {
                state_.note(place, "what follows depends on what only a shell knows: passed over");
            }
            const Truth next = only_if(run, [&] { return pipeline(); });
            status = run ? next : status;
        }
    }

    template <class Run>
    Truth only_if(bool condition, const Run& run) {
        const bool before = state_.active;
        state_.active = before && condition;
        const Truth status = run();
        // `exit` also ends the commands that follow.
        state_.active = before && (state_.active || !condition);
        return status;
    }

    Truth pipeline() {
        words_.skip_blanks();
        bool negated = false;
        while (words_.bare_word() == "!") {
            words_.advance();
            words_.skip_blanks();
            negated = !negated;
        }
        Truth status = command();
        words_.skip_blanks();
        while (words_.peek() == '|' && words_.peek(1) != '|') {
            words_.advance(words_.peek(1) == '&' ? 2 : 1);
            separators();
            command();
            status = Truth::unknown;
            words_.skip_blanks();
        }
        if (negated && status != Truth::unknown) {
            return status == Truth::yes ? Truth::no : Truth::yes;
        }
        return status;
    }

    Truth command() {
        if (++state_.depth > kShellDepthMost) {
            state_.fail(words_.offset(), "commands are nested too deep", "paste the command line");
        }
        const Truth status = compound();
        --state_.depth;
        return status;
    }

    Truth compound() {
        const std::string word = words_.bare_word();
        constexpr std::array<std::string_view, 5> kLoops{"for", "while", "until", "select", "case"};
        if (word == "if") {
            return condition();
        }
        if (std::ranges::find(kLoops, word) != kLoops.end()) {
            pass_over(word);
            return Truth::unknown;
        }
        if (word == "function") {
            words_.advance(word.size());
            words_.skip_blanks();
            define(words_.value().text.chars);
            return Truth::yes;
        }
        if (word == "{") {
            return group("}");
        }
        if (word == "[[") {
            return test();
        }
        if (words_.looking_at("((")) {
            words_.advance(2);
            const auto value = words_.arithmetic(words_.bracketed("))"));
            return !value ? Truth::unknown : *value != 0 ? Truth::yes : Truth::no;
        }
        if (words_.peek() == '(') {
            return group(")");
        }
        return simple();
    }

    // Called after a function's name: keeps its body for calls.
    void define(const std::string& name) {
        words_.skip_blanks();
        if (words_.peek() == '(') {
            words_.advance();
            words_.bracketed(")");
        }
        while (!words_.at_end() && (words_.skip_blanks(), words_.peek() == '\n')) {
            line_end();
        }
        const std::size_t begin = words_.position();
        const bool before = std::exchange(state_.active, false);
        command();
        state_.active = before;
        if (before && !words_.at_end()) {
            state_.functions[name] = words_.between(begin, words_.position());
        }
    }

    Truth group(std::string_view closer) {
        const std::uint32_t place = words_.offset();
        words_.advance();
        const Truth status = list(closer == "}" ? Ends{"}"} : Ends{});
        if (words_.looking_at(closer)) {
            words_.advance();
        } else {
            state_.fail(place, fmt::format("'{}' is missing", closer));
        }
        return status;
    }

    Truth condition() {
        const std::uint32_t place = words_.offset();
        bool decided = false;  // a branch was taken, or none can be chosen
        Truth status = Truth::yes;
        std::string word = words_.bare_word();
        while (word == "if" || word == "elif") {
            words_.advance(word.size());
            const Truth holds = only_if(!decided, [&] {
                return list({"then", "elif", "else", "fi"});
            });
            if (!expect("then", place)) {
                return status;
            }
            if (!decided && holds == Truth::unknown) {
                state_.note(place, "'if' depends on what only a shell knows: passed over");
            }
            const Truth branch = only_if(!decided && holds == Truth::yes, [&] {
                return list({"elif", "else", "fi"});
            });
            status = !decided && holds == Truth::yes ? branch : status;
            decided = decided || holds != Truth::no;
            word = words_.bare_word();
        }
        if (word == "else") {
            words_.advance(word.size());
            only_if(!decided, [&] { return list({"fi"}); });
        }
        expect("fi", place);
        return status;
    }

    bool expect(std::string_view word, std::uint32_t place) {
        if (words_.bare_word() != word) {
            state_.fail(place, fmt::format("'if' without '{}'", word));
            return false;
        }
        words_.advance(word.size());
        return true;
    }

    // Skips loops and cases.
    void pass_over(const std::string& word) {
        const std::uint32_t place = words_.offset();
        state_.note(place, fmt::format("'{}': passed over", word));
        const bool before = std::exchange(state_.active, false);
        int open = 0;
        bool command_position = true;
        do {
            words_.skip_blanks();
            const std::string next = words_.bare_word();
            const bool loop = next == "for" || next == "while" || next == "until" ||
                              next == "select" || next == "case";
            if (command_position && loop) {
                ++open;
            } else if (command_position && (next == "done" || next == "esac")) {
                --open;
            }
            command_position = next == "do" || next == "then" || next == "else" || next == "{";
            if (words_.peek() == '\n') {
                line_end();
                command_position = true;
            } else if (words_.word().empty() && !words_.at_end() && words_.peek() != '\n') {
                command_position = words_.peek() != '(' && words_.peek() != '<';
                skip_operator();
            }
        } while (open > 0 && !words_.at_end());
        state_.active = before;
        if (open > 0) {
            state_.fail(place, fmt::format("'{}' never ends", word));
        }
    }

    void skip_operator() {
        const std::string_view operators = ";&|<>()";
        if (words_.peek() != '\0' && operators.find(words_.peek()) != operators.npos) {
            words_.advance();
        }
    }

    Truth test() {
        words_.advance(2);
        std::vector<TestWord> operands;
        while (!words_.at_end()) {
            words_.skip_blanks();
            if (words_.bare_word() == "]]") {
                words_.advance(2);
                break;
            }
            if (words_.looking_at("&&") || words_.looking_at("||")) {
                operands.push_back({std::string(2, words_.peek())});
                words_.advance(2);
                continue;
            }
            const char c = words_.peek();
            if (c == '(' || c == ')' || c == '<' || c == '>') {
                operands.push_back({std::string(1, c)});
                words_.advance();
                continue;
            }
            if (c == '\n' || c == ';' || c == '&' || c == '|') {
                words_.advance();
                continue;
            }
            // [[ ]] does not split words, so that an empty variable is still a word.
            ShellWord word = words_.value();
            operands.push_back({std::move(word.text.chars), word.quoted});
        }
        return shell_test(operands);
    }

    // Reads NAME=value, NAME+=value or NAME=(…). False if there is none.
    bool assignment() {
        std::string name;
        std::size_t i = 0;
        while (std::isalnum(static_cast<unsigned char>(words_.peek(i))) != 0 ||
               words_.peek(i) == '_') {
            name += words_.peek(i++);
        }
        const bool append = words_.peek(i) == '+' && words_.peek(i + 1) == '=';
        if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0 ||
            (!append && words_.peek(i) != '=')) {
            return false;
        }
        words_.advance(i + (append ? 2 : 1));
        if (words_.peek() == '(') {
            state_.assign(name, elements(), append);
            return true;
        }
        PlacedText value;
        const auto old = state_.variables.find(name);
        if (append && old != state_.variables.end() && !old->second.empty()) {
            value = old->second.front();
        }
        value.add(words_.value().text);
        state_.assign(name, {std::move(value)}, false);
        return true;
    }

    std::vector<PlacedText> elements() {
        const std::uint32_t place = words_.offset();
        words_.advance();
        std::vector<PlacedText> list;
        while (true) {
            words_.skip_blanks();
            if (words_.peek() == '\n') {
                words_.advance();
            } else if (words_.at_end()) {
                state_.fail(place, "the array is never closed: ')' is missing");
                return list;
            } else if (words_.peek() == ')') {
                words_.advance();
                return list;
            } else {
                const std::uint32_t before = words_.offset();
                for (ShellWord& word : words_.word()) {
                    list.push_back(std::move(word.text));
                }
                if (words_.offset() == before) {
                    skip_operator();
                }
            }
        }
    }

    // Reads > file, 2>&1 or << END. False if there is none.
    bool redirection() {
        std::size_t i = words_.peek() == '&' ? 1 : 0;
        while (i == 0 && std::isdigit(static_cast<unsigned char>(words_.peek(i))) != 0) {
            ++i;
        }
        while (words_.peek(0) != '&' && std::isdigit(static_cast<unsigned char>(words_.peek(i)))) {
            ++i;
        }
        if (words_.peek(i) != '<' && words_.peek(i) != '>') {
            return false;
        }
        words_.advance(i);
        const bool here = words_.looking_at("<<") && !words_.looking_at("<<<");
        while (words_.peek() == '<' || words_.peek() == '>' || words_.peek() == '&' ||
               (here && words_.peek() == '-')) {
            words_.advance();
        }
        words_.skip_blanks();
        const ShellWord target = words_.value();
        if (here) {
            here_documents_.push_back(readable(target.text.chars));
        }
        return true;
    }

    Truth simple() {
        std::vector<ShellWord> list;
        bool assignments = true;  // allowed before the command and after export
        while (!words_.at_end()) {
            words_.skip_blanks();
            if ((assignments && assignment()) || redirection()) {
                continue;
            }
            const char c = words_.peek();
            if (words_.at_end() || c == '\n' || c == ';' || c == '&' || c == '|' || c == ')') {
                break;
            }
            if (c == '(') {
                if (list.size() != 1) {
                    state_.fail(words_.offset(), "'(' can't stand here", "quote it");
                }
                define(list.empty() ? std::string{} : list[0].text.chars);
                return Truth::yes;
            }
            for (ShellWord& word : words_.word()) {
                list.push_back(std::move(word));
            }
            if (assignments && !list.empty()) {
                constexpr std::array<std::string_view, 6> kDeclare{
                    "export", "declare", "local", "readonly", "typeset", "env"};
                assignments = std::ranges::find(kDeclare, list[0].text.chars) != kDeclare.end();
            }
        }
        return state_.active && !list.empty() ? finished(std::move(list)) : Truth::yes;
    }

    Truth finished(std::vector<ShellWord> list) {
        const std::string name = list[0].text.chars;
        const std::uint32_t place = list[0].text.place(0);
        if (name == "exit" || name == "return") {
            state_.active = false;
            state_.exited = name == "exit";
            return Truth::yes;
        }
        if (name == "[" || name == "test") {
            std::vector<TestWord> operands;
            for (std::size_t i = 1; i < list.size(); ++i) {
                operands.push_back({list[i].text.chars, list[i].quoted});
            }
            if (name == "[" && !operands.empty() && operands.back().marked == "]") {
                operands.pop_back();
            }
            return shell_test(operands);
        }
        if (name == "source" || name == ".") {
            state_.note(place, "another file is read here: passed over");
            return Truth::yes;
        }
        if (name == "false") {
            return Truth::no;
        }
        const auto function = state_.functions.find(name);
        const PlacedText nested =
            function != state_.functions.end() ? function->second : nested_script(list);
        if (!nested.chars.empty()) {
            run_nested(nested, place);
            return Truth::unknown;
        }
        const std::ptrdiff_t flags = flags_in(list);
        if (flags > 0 && flags >= best_.flags) {
            best_ = {std::move(list), flags};
        }
        return Truth::yes;
    }

    void run_nested(const PlacedText& text, std::uint32_t place) {
        if (++state_.depth > kShellDepthMost) {
            state_.fail(place, "commands are nested too deep", "paste the command line");
        }
        state_.spend(text.chars.size(), place);
        const bool before = state_.active;
        Statements{text, state_, best_}.run();
        state_.active = before && !state_.exited;
        --state_.depth;
    }

    ShellWords words_;
    ShellState& state_;
    FlagsCommand& best_;
    std::vector<std::string> here_documents_;  // delimiters
};

}  // namespace

void follow_script(const PlacedText& text, ShellState& state, FlagsCommand& best) {
    Statements{text, state, best}.run();
}

}  // namespace orrery
