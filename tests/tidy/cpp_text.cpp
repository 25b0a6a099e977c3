// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/cpp_text.h"

#include <algorithm>
#include <cctype>
#include <regex>

namespace orrery::tidy {

namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

void blank(std::string& text, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, text.size()); ++i) {
        if (text[i] != '\n') {
            text[i] = ' ';
        }
    }
}

// The end of the literal that opens at `at` with the quote `text[at]`.
std::size_t end_of_literal(std::string_view text, std::size_t at) {
    std::size_t i = at + 1;
    while (i < text.size() && text[i] != text[at] && text[i] != '\n') {
        i += text[i] == '\\' ? 2 : 1;
    }
    return std::min(i + 1, text.size());
}

// The end of R"delimiter(...)delimiter", whose quote is at `at`.
std::size_t end_of_raw_literal(std::string_view text, std::size_t at) {
    const std::size_t open = text.find('(', at);
    if (open == std::string_view::npos) {
        return text.size();
    }
    const std::string close = ")" + std::string{text.substr(at + 1, open - at - 1)} + "\"";
    const std::size_t end = text.find(close, open);
    return end == std::string_view::npos ? text.size() : end + close.size();
}

std::size_t end_of_comment(std::string_view text, std::size_t at) {
    const bool to_line_end = text[at + 1] == '/';
    const std::size_t end = to_line_end ? text.find('\n', at) : text.find("*/", at + 2);
    if (end == std::string_view::npos) {
        return text.size();
    }
    return to_line_end ? end : end + 2;
}

// Directives say nothing of braces that a reader could match.
std::string without_directives(std::string_view text) {
    std::string code = without_comments_and_literals(text);
    std::size_t begin = 0;
    bool goes_on = false;
    while (begin < code.size()) {
        const std::size_t end = std::min(code.find('\n', begin), code.size());
        const std::size_t first = code.find_first_not_of(" \t", begin);
        const bool directive = goes_on || (first < end && code[first] == '#');
        goes_on = directive && end > begin && code[end - 1] == '\\';
        if (directive) {
            blank(code, begin, end);
        }
        begin = end + 1;
    }
    return code;
}

std::size_t closing_brace(std::string_view code, std::size_t open) {
    int depth = 0;
    for (std::size_t i = open; i < code.size(); ++i) {
        depth += code[i] == '{' ? 1 : 0;
        depth -= code[i] == '}' ? 1 : 0;
        if (depth == 0) {
            return i;
        }
    }
    return code.size();
}

// What stands before a brace, without `template <...>`, whose parameters may say `class`.
std::string without_template(const std::string& head) {
    static const std::regex keyword{R"(^\s*template\s*<)"};
    std::smatch match;
    if (!std::regex_search(head, match, keyword)) {
        return head;
    }
    int depth = 1;
    std::size_t i = static_cast<std::size_t>(match.length(0));
    for (; i < head.size() && depth > 0; ++i) {
        depth += head[i] == '<' ? 1 : 0;
        depth -= head[i] == '>' ? 1 : 0;
    }
    return without_template(head.substr(i));
}

std::size_t newlines(std::string_view code, std::size_t from, std::size_t to) {
    const std::string_view part = code.substr(from, to - from);
    return static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
}

std::size_t after_access_specifier(const std::string& code, std::size_t from, std::size_t to) {
    static const std::regex access{R"(^\s*(public|private|protected)\s*:)"};
    const std::string head = code.substr(from, to - from);
    std::smatch match;
    return std::regex_search(head, match, access) ? from + static_cast<std::size_t>(match.length(0))
                                                  : from;
}

enum class Brace { scope, function, other };

Brace kind_of(const std::string& before) {
    static const std::regex scope{R"(\b(namespace|class|struct|union|enum|extern)\b)"};
    const std::string head = without_template(before);
    const std::size_t parenthesis = head.find('(');
    std::smatch match;
    if (std::regex_search(head, match, scope) &&
        static_cast<std::size_t>(match.position(0)) < parenthesis) {
        // `struct stat status(int) {` returns a struct: that is not written here.
        return Brace::scope;
    }
    return parenthesis == std::string::npos ? Brace::other : Brace::function;
}

}  // namespace

std::string without_comments_and_literals(std::string_view text) {
    std::string code{text};
    std::size_t i = 0;
    while (i < text.size()) {
        const char c = text[i];
        const char before = i > 0 ? text[i - 1] : ' ';
        std::size_t end = i + 1;
        if (c == '/' && i + 1 < text.size() && (text[i + 1] == '/' || text[i + 1] == '*')) {
            end = end_of_comment(text, i);
            blank(code, i, end);
        } else if (c == '"') {
            end = before == 'R' ? end_of_raw_literal(text, i) : end_of_literal(text, i);
            blank(code, i + 1, end - 1);
        } else if (c == '\'' && !is_word(before)) {  // not the separator of 1'000
            end = end_of_literal(text, i);
            blank(code, i + 1, end - 1);
        }
        i = end;
    }
    return code;
}

std::vector<Include> includes_of(std::string_view text) {
    static const std::regex directive{R"re(^\s*#\s*include\s*(<([^>]*)>|"([^"]*)"))re"};
    std::vector<Include> found;
    for (const std::string_view line : lines_of(text)) {
        std::match_results<std::string_view::const_iterator> match;
        if (std::regex_search(line.begin(), line.end(), match, directive)) {
            const bool quoted = match[3].matched;
            found.push_back({.path = match[quoted ? 3 : 2].str(), .quoted = quoted});
        }
    }
    return found;
}

std::vector<Function> functions_of(std::string_view text) {
    const std::string code = without_directives(text);
    std::vector<Function> found;
    std::size_t head = 0;  // where the declaration under way begins
    int parentheses = 0;
    for (std::size_t i = 0; i < code.size(); ++i) {
        parentheses += code[i] == '(' ? 1 : 0;
        parentheses -= code[i] == ')' ? 1 : 0;
        if (parentheses > 0 || (code[i] != '{' && code[i] != '}' && code[i] != ';')) {
            continue;
        }
        if (code[i] == '{') {
            head = after_access_specifier(code, head, i);
            const Brace kind = kind_of(code.substr(head, i - head));
            if (kind != Brace::scope) {
                i = closing_brace(code, i);
            }
            if (kind == Brace::function) {
                const std::size_t next = code.find_first_not_of(" \n", i + 1);
                if (next != std::string::npos && (code[next] == '{' || code[next] == ',')) {
                    continue;  // that was a member's initialiser: the body is to come
                }
                const std::size_t first = code.find_first_not_of(" \n", head);
                found.push_back({newlines(code, 0, first) + 1, newlines(code, first, i) + 1});
            }
        }
        head = i + 1;
    }
    return found;
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

std::size_t columns_of(std::string_view line) {
    return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
    }));
}

}  // namespace orrery::tidy
