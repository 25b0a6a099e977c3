// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/shell_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "scenarios/format/import/shell_arithmetic.h"

namespace orrery {
namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

bool ends_word(char c) {
    return is_blank(c) || c == '\n' || c == ';' || c == '&' || c == '|' || c == '<' || c == '>' ||
           c == '(' || c == ')';
}

bool is_name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// $1, $@, $#, $?, $$, $!, $-, $*
bool is_special(char c) {
    return c != '\0' && std::string_view{"@*#?$!-"}.find(c) != std::string_view::npos;
}

std::string without_marks(const PlacedText& text) {
    std::string known;
    return known_text(text.chars, known) ? known : readable(text.chars);
}

}  // namespace

std::uint32_t ShellWords::offset_of(std::size_t i) const {
    return in_.at.empty() ? 0 : in_.at[std::min(i, in_.at.size() - 1)];
}

void ShellWords::skip_blanks() {
    while (!at_end()) {
        if (is_blank(peek())) {
            advance();
        } else if (peek() == '\\' && peek(1) == '\n') {
            advance(2);
        } else if (peek() == '#') {
            while (!at_end() && peek() != '\n') {
                advance();
            }
        } else {
            return;
        }
    }
}

std::string ShellWords::bare_word() const {
    std::string word;
    for (std::size_t i = i_; i < in_.chars.size() && !ends_word(in_.chars[i]); ++i) {
        const char c = in_.chars[i];
        if (c == '\'' || c == '"' || c == '$' || c == '\\' || c == '`' || word.size() > 64) {
            return {};
        }
        word += c;
    }
    return word;
}

std::vector<ShellWord> ShellWords::word() {
    return expand(true, '\0');
}

ShellWord ShellWords::value() {
    std::vector<ShellWord> fields = expand(false, '\0');
    return fields.empty() ? ShellWord{} : std::move(fields.front());
}

// `until` ends a default inside ${…}, where blanks and operators are ordinary characters.
std::vector<ShellWord> ShellWords::expand(bool split, char until) {
    fields_.clear();
    open_ = false;
    split_ = split;
    while (!at_end()) {
        const char c = peek();
        if (until != '\0' ? c == until : ends_word(c)) {
            break;
        }
        if (c == '\\') {
            if (peek(1) != '\n' && i_ + 1 < in_.chars.size()) {
                add(peek(1), offset_of(i_ + 1));
                field_.quoted = true;
            }
            advance(2);
        } else if (c == '\'') {
            single_quoted();
        } else if (c == '"') {
            double_quoted();
        } else if (c == '$') {
            dollar(false);
        } else if (c == '`') {
            const std::size_t begin = i_;
            advance();
            skip_balanced("`");
            unknown(begin, false, "the output of a command");
        } else {
            add(c, offset());
            advance();
        }
    }
    end_field();
    return std::move(fields_);
}

void ShellWords::add(char c, std::uint32_t offset) {
    open_ = true;
    field_.text.add(c, offset);
    state_.spend(1, offset);
}

void ShellWords::end_field() {
    if (open_) {
        fields_.push_back(std::move(field_));
    }
    field_ = {};
    open_ = false;
}

void ShellWords::single_quoted() {
    const std::uint32_t begin = offset();
    open_ = true;
    field_.quoted = true;
    for (advance(); !at_end() && peek() != '\''; advance()) {
        add(peek(), offset());
    }
    if (peek() != '\'') {
        state_.fail(begin, "the quote ' is never closed");
    }
    advance();
}

void ShellWords::double_quoted() {
    const std::uint32_t begin = offset();
    const bool empty_array = looking_at("\"${") && peek(3) != '#';
    const std::size_t before = field_.text.chars.size() + fields_.size();
    field_.quoted = true;
    const bool was_open = open_;
    advance();
    const std::size_t inside = i_;
    while (!at_end() && peek() != '"') {
        const char next = peek(1);
        if (peek() == '\\' && next == '\n') {
            advance(2);
        } else if (peek() == '\\' && (next == '$' || next == '`' || next == '"' || next == '\\')) {
            add(next, offset_of(i_ + 1));
            advance(2);
        } else if (peek() == '$') {
            dollar(true);
        } else if (peek() == '`') {
            const std::size_t tick = i_;
            advance();
            skip_balanced("`");
            unknown(tick, true, "the output of a command");
        } else {
            add(peek(), offset());
            advance();
        }
    }
    if (peek() != '"') {
        state_.fail(begin, "the quote \" is never closed");
    }
    // "" is a word, and "${EMPTY[@]}" is none.
    const bool nothing = field_.text.chars.size() + fields_.size() == before;
    const std::string_view text = std::string_view{in_.chars}.substr(inside, i_ - inside);
    const bool each = text.ends_with("[@]}") || text == "$@";
    open_ = open_ || was_open || !(nothing && each && (empty_array || text == "$@"));
    advance();
}

// Moves behind the closer. Quotes, parentheses and braces in between are skipped as a whole.
bool ShellWords::skip_balanced(std::string_view closer) {
    const std::uint32_t begin = offset();
    if (++state_.depth > kShellDepthMost) {
        state_.fail(begin, "expansions are nested too deep", "paste the command line");
    }
    while (!at_end() && !looking_at(closer)) {
        const char c = peek();
        advance();
        if (closer == "'") {
            continue;
        }
        if (c == '\\') {
            advance();
        } else if (c == '\'' && closer != "\"") {
            skip_balanced("'");
        } else if (c == '"') {
            skip_balanced("\"");
        } else if (c == '`') {
            skip_balanced("`");
        } else if (c == '(' && closer != "\"") {
            skip_balanced(")");
        } else if (c == '$' && (peek() == '(' || peek() == '{')) {
            const char* close = peek() == '(' ? ")" : "}";
            advance();
            skip_balanced(close);
        }
    }
    --state_.depth;
    if (at_end()) {
        state_.fail(begin, fmt::format("'{}' is missing", closer));
        return false;
    }
    advance(closer.size());
    return true;
}

PlacedText ShellWords::bracketed(std::string_view closer) {
    const std::size_t begin = i_;
    return skip_balanced(closer) ? between(begin, i_ - closer.size()) : PlacedText{};
}

PlacedText ShellWords::between(std::size_t begin, std::size_t end) const {
    const auto at = in_.at.begin();
    return {.chars = in_.chars.substr(begin, end - begin),
            .at = {at + static_cast<std::ptrdiff_t>(begin), at + static_cast<std::ptrdiff_t>(end)}};
}

PlacedText nested_script(const std::vector<ShellWord>& command) {
    PlacedText text;
    if (!command.empty() && command[0].text.chars == "eval") {
        for (std::size_t i = 1; i < command.size(); ++i) {
            text.add(" ", command[i].text.place(0));
            text.add(command[i].text);
        }
        return text;
    }
    for (std::size_t i = 1; i + 1 < command.size(); ++i) {
        const std::string& shell = command[i - 1].text.chars;
        const std::string& option = command[i].text.chars;
        const bool is_shell =
            shell == "sh" || shell.ends_with("/sh") || shell == "bash" || shell.ends_with("/bash");
        if (is_shell && option.starts_with("-") && option.ends_with("c")) {
            return command[i + 1].text;
        }
    }
    return text;
}

std::vector<ShellWord> split_at_blanks(const PlacedText& text) {
    std::vector<ShellWord> words(1);
    for (std::size_t i = 0; i < text.chars.size(); ++i) {
        if (!is_blank(text.chars[i]) && text.chars[i] != '\n') {
            words.back().text.add(text.chars[i], text.at[i]);
        } else if (!words.back().text.chars.empty()) {
            words.emplace_back();
        }
    }
    if (words.back().text.chars.empty()) {
        words.pop_back();
    }
    return words;
}

std::optional<std::int64_t> ShellWords::arithmetic(const PlacedText& expression) {
    ShellWords inner{expression, state_};
    PlacedText expanded;
    for (const ShellWord& part : inner.expand(false, '\x04')) {
        expanded.add(part.text);
    }
    std::string known;
    if (!known_text(expanded.chars, known)) {
        return std::nullopt;
    }
    return shell_arithmetic(known, [&](std::string_view name) -> std::optional<std::string> {
        const auto found = state_.variables.find(name);
        std::string text;
        if (found == state_.variables.end() || found->second.empty() ||
            !known_text(found->second.front().chars, text)) {
            return std::nullopt;
        }
        return text;
    });
}

void ShellWords::unknown(std::size_t begin, bool quoted, const char* what) {
    const std::string_view raw = std::string_view{in_.chars}.substr(begin, i_ - begin);
    state_.note(offset_of(begin),
                fmt::format("{}: only a shell knows {}", what, readable(raw.substr(0, 60))));
    PlacedText text;
    text.add(kUnknownBegin, offset_of(begin));
    text.add(raw.substr(0, 60), offset_of(begin));
    text.add(kMarkEnd, offset_of(begin));
    insert({text}, true, false);
    field_.quoted = field_.quoted || quoted;
}

void ShellWords::insert(const std::vector<PlacedText>& elements, bool quoted, bool each) {
    for (std::size_t k = 0; k < elements.size(); ++k) {
        const PlacedText& text = elements[k];
        if (k > 0 && split_ && (each || !quoted)) {
            end_field();
            field_.quoted = quoted;
        } else if (k > 0) {
            add(' ', text.place(0));
        }
        open_ = open_ || quoted;
        bool marked = false;  // parts that only a shell knows stay whole
        for (std::size_t i = 0; i < text.chars.size() && state_.errors.empty(); ++i) {
            const char c = text.chars[i];
            marked = c == kUnsetBegin || c == kUnknownBegin || (marked && c != kMarkEnd);
            if (!quoted && !marked && split_ && (is_blank(c) || c == '\n')) {
                end_field();
            } else {
                add(c, text.at[i]);
            }
        }
    }
}

void ShellWords::dollar(bool quoted) {
    const std::size_t begin = i_;
    advance();
    if (looking_at("((")) {
        advance(2);
        const PlacedText expression = bracketed("))");
        const auto number = arithmetic(expression);
        if (!number) {
            unknown(begin, quoted, "arithmetic");
            return;
        }
        PlacedText text;
        text.add(fmt::format("{}", *number), offset_of(begin));
        insert({text}, quoted, false);
    } else if (peek() == '(') {
        advance();
        skip_balanced(")");
        unknown(begin, quoted, "the output of a command");
    } else if (peek() == '{') {
        advance();
        parameter(quoted);
    } else if (peek() == '\'' && !quoted) {
        single_quoted();
    } else if (is_name_char(peek()) || is_special(peek())) {
        named(parameter_name(), quoted, begin);
    } else {
        add('$', offset_of(begin));
    }
}

std::string ShellWords::parameter_name() {
    std::string name{peek()};
    advance();
    // $10 is $1 and a zero, unlike ${10}; both are unknown here.
    if (is_name_char(name[0])) {
        while (!at_end() && is_name_char(peek())) {
            name += peek();
            advance();
        }
    }
    return name;
}

void ShellWords::named(const std::string& name, bool quoted, std::size_t begin) {
    const auto found = state_.variables.find(name);
    if (found != state_.variables.end()) {
        insert({found->second.empty() ? PlacedText{} : found->second.front()}, quoted, false);
        return;
    }
    if (name == "@" || name == "*") {
        return;  // the script has no arguments
    }
    PlacedText text;
    text.add(kUnsetBegin, offset_of(begin));
    text.add("${" + name + "}", offset_of(begin));
    text.add(kMarkEnd, offset_of(begin));
    insert({text}, quoted, false);
}

// Called after "${".
void ShellWords::parameter(bool quoted) {
    const std::size_t begin = i_ - 2;
    const bool length = peek() == '#' && peek(1) != '}';
    if (length) {
        advance();
    }
    if (peek() == '!' || !(is_name_char(peek()) || is_special(peek()))) {
        skip_balanced("}");
        unknown(begin, quoted, "an indirect variable");
        return;
    }
    const std::string name = parameter_name();
    std::vector<PlacedText> elements;
    const auto found = state_.variables.find(name);
    if (found != state_.variables.end()) {
        elements = found->second;
    }
    bool each = false;
    bool joined = false;
    if (peek() == '[') {
        advance();
        const std::string index = bracketed("]").chars;
        each = index == "@";
        joined = index == "*";
        if (!each && !joined) {
            const bool digits = !index.empty() && index.size() < 8 &&
                                index.find_first_not_of("0123456789") == std::string::npos;
            if (!digits) {
                skip_balanced("}");
                unknown(begin, quoted, "an element of an array");
                return;
            }
            const std::size_t k = std::stoul(index);
            elements = k < elements.size() ? std::vector{elements[k]} : std::vector<PlacedText>{};
        }
    } else if (elements.size() > 1) {
        elements.resize(1);
    }
    if (length && peek() == '}') {
        PlacedText text;
        const std::size_t size = each || joined     ? elements.size()
                                 : elements.empty() ? 0
                                                    : without_marks(elements[0]).size();
        text.add(fmt::format("{}", size), offset_of(begin));
        advance();
        insert({text}, quoted, false);
        return;
    }
    if (peek() == '}') {
        advance();
        const bool of_array = each || joined;
        elements.empty() && !of_array ? named(name, quoted, begin) : insert(elements, quoted, each);
        return;
    }
    operated(name, std::move(elements), each, begin, quoted);
}

// ${NAME:-default} and related forms. Forms that change the value's text are left to a shell.
void ShellWords::operated(const std::string& name,
                          std::vector<PlacedText> elements,
                          bool each,
                          std::size_t begin,
                          bool quoted) {
    const bool colon = peek() == ':';
    const char op = colon ? peek(1) : peek();
    if ((op != '-' && op != '=' && op != '+' && op != '?') || ++state_.depth > kShellDepthMost) {
        skip_balanced("}");
        unknown(begin, quoted, "a part of a variable");
        return;
    }
    advance(colon ? 2 : 1);
    ShellWords inner{in_, state_};
    inner.i_ = i_;
    PlacedText otherwise;
    for (const ShellWord& part : inner.expand(false, '}')) {
        otherwise.add(part.text);
    }
    --state_.depth;
    i_ = inner.i_;
    if (peek() != '}') {
        state_.fail(offset_of(begin), "'}' is missing");
    }
    advance();
    std::string all;
    for (const PlacedText& element : elements) {
        all += without_marks(element);
    }
    const bool set = !elements.empty() && !(colon && all.empty());
    if (op == '+') {
        insert({set ? otherwise : PlacedText{}}, quoted, false);
    } else if (set) {
        insert(elements, quoted, each);
    } else if (op == '?') {
        named(name, quoted, begin);
    } else {
        if (op == '=') {
            state_.assign(name, {otherwise}, false);
        }
        insert({otherwise}, quoted, false);
    }
}

}  // namespace orrery
