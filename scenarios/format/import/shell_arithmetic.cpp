// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/shell_arithmetic.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "scenarios/format/import/shell_text.h"

namespace orrery {
namespace {

constexpr int kNestedMost = 50;

std::optional<std::int64_t> shell_number(std::string_view text) {
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    while (!text.empty() && text.back() == ' ') {
        text.remove_suffix(1);
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = !text.empty() && error == std::errc{} && end == text.data() + text.size();
    return whole ? std::optional{value} : std::nullopt;
}

std::optional<std::int64_t> power(std::int64_t base, std::int64_t exponent) {
    std::int64_t result = 1;
    if (exponent < 0 || exponent > 63) {
        return std::nullopt;
    }
    for (std::int64_t i = 0; i < exponent; ++i) {
        if (__builtin_mul_overflow(result, base, &result)) {
            return std::nullopt;
        }
    }
    return result;
}

// An operator with its precedence; longer operators come first within a level.
struct Operator {
    std::string_view text;
    int level;
};
constexpr std::array kOperators{Operator{"||", 1},
                                Operator{"&&", 2},
                                Operator{"==", 3},
                                Operator{"!=", 3},
                                Operator{"<=", 4},
                                Operator{">=", 4},
                                Operator{"<", 4},
                                Operator{">", 4},
                                Operator{"+", 5},
                                Operator{"-", 5},
                                Operator{"**", 7},
                                Operator{"*", 6},
                                Operator{"/", 6},
                                Operator{"%", 6}};

std::optional<std::int64_t> apply(std::string_view op, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (op == "+") {
        return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional{result};
    }
    if (op == "-") {
        return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional{result};
    }
    if (op == "*") {
        return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional{result};
    }
    if (op == "/" || op == "%") {
        const bool bad = b == 0 || b == -1;  // -1: the least number has no opposite
        return bad ? std::nullopt : std::optional{op == "/" ? a / b : a % b};
    }
    if (op == "**") {
        return power(a, b);
    }
    const bool truth = op == "||"   ? a != 0 || b != 0
                       : op == "&&" ? a != 0 && b != 0
                       : op == "==" ? a == b
                       : op == "!=" ? a != b
                       : op == "<=" ? a <= b
                       : op == ">=" ? a >= b
                       : op == "<"  ? a < b
                                    : a > b;
    return truth ? 1 : 0;
}

class Expression {
public:
    Expression(std::string_view text, const ShellLookup& variable)
        : text_(text), variable_(variable) {}

    std::optional<std::int64_t> value() {
        const auto result = binary(1);
        blanks();
        return at_ == text_.size() ? result : std::nullopt;
    }

private:
    void blanks() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
            ++at_;
        }
    }
    const Operator* next_operator() {
        blanks();
        for (const Operator& op : kOperators) {
            if (text_.substr(at_).starts_with(op.text)) {
                return &op;
            }
        }
        return nullptr;
    }
    std::optional<std::int64_t> binary(int level) {
        std::optional<std::int64_t> left = unary();
        for (const Operator* op = next_operator(); left && op != nullptr && op->level >= level;
             op = next_operator()) {
            at_ += op->text.size();
            if (++depth_ > kNestedMost) {
                return std::nullopt;
            }
            const auto right = binary(op->text == "**" ? op->level : op->level + 1);
            --depth_;
            left = right ? apply(op->text, *left, *right) : std::nullopt;
        }
        return left;
    }
    std::optional<std::int64_t> unary() {
        blanks();
        if (at_ == text_.size() || ++depth_ > kNestedMost) {
            return std::nullopt;
        }
        const char c = text_[at_];
        std::optional<std::int64_t> result;
        if (c == '-' || c == '+' || c == '!') {
            ++at_;
            const auto operand = unary();
            result = !operand   ? std::nullopt
                     : c == '-' ? apply("-", 0, *operand)
                     : c == '+' ? operand
                                : std::optional<std::int64_t>{*operand == 0 ? 1 : 0};
        } else if (c == '(') {
            ++at_;
            result = binary(1);
            blanks();
            const bool closed = at_ < text_.size() && text_[at_] == ')';
            result = closed ? result : std::nullopt;
            at_ += closed ? 1 : 0;
        } else {
            result = name_or_number();
        }
        --depth_;
        return result;
    }
    std::optional<std::int64_t> name_or_number() {
        const std::size_t begin = at_;
        while (at_ < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
            ++at_;
        }
        const std::string_view word = text_.substr(begin, at_ - begin);
        if (word.empty()) {
            return std::nullopt;
        }
        if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) {
            return shell_number(word);
        }
        const std::optional<std::string> text = variable_(word);
        return text ? shell_number(*text) : std::nullopt;
    }

    std::string_view text_;
    const ShellLookup& variable_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

Truth truth_of(bool value) {
    return value ? Truth::yes : Truth::no;
}

Truth opposite(Truth value) {
    return value == Truth::unknown ? value : truth_of(value == Truth::no);
}

class Test {
public:
    explicit Test(const std::vector<TestWord>& words) : words_(words) {}

    Truth value() {
        const Truth result = either();
        return at_ == words_.size() ? result : Truth::unknown;
    }

private:
    bool next_is(std::string_view op, std::string_view other = {}) {
        if (at_ >= words_.size() || words_[at_].quoted) {
            return false;
        }
        return words_[at_].marked == op || (!other.empty() && words_[at_].marked == other);
    }
    Truth either() {
        Truth result = both();
        while (next_is("||", "-o")) {
            ++at_;
            const Truth right = both();
            result = result == Truth::yes || right == Truth::yes ? Truth::yes
                     : result == Truth::no                       ? right
                     : right == Truth::no                        ? result
                                                                 : Truth::unknown;
        }
        return result;
    }
    Truth both() {
        Truth result = one();
        while (next_is("&&", "-a")) {
            ++at_;
            const Truth right = one();
            result = result == Truth::no || right == Truth::no ? Truth::no
                     : result == Truth::yes                    ? right
                     : right == Truth::yes                     ? result
                                                               : Truth::unknown;
        }
        return result;
    }
    Truth one() {
        if (++depth_ > kNestedMost) {
            at_ = words_.size();
            return Truth::unknown;
        }
        Truth result = Truth::unknown;
        if (next_is("!")) {
            ++at_;
            result = opposite(one());
        } else if (next_is("(")) {
            ++at_;
            result = either();
            at_ += next_is(")") ? 1 : 0;
        } else {
            result = comparison();
        }
        --depth_;
        return result;
    }
    Truth comparison() {
        const std::size_t left = words_.size() - at_;
        if (left == 0) {
            return Truth::no;
        }
        const TestWord& first = words_[at_];
        const bool option = !first.quoted && first.marked.size() == 2 && first.marked[0] == '-';
        if (left >= 2 && option) {
            at_ += 2;
            std::string text;
            const bool known = known_text(words_[at_ - 1].marked, text);
            const bool of_text = first.marked == "-n" || first.marked == "-z";
            return known && of_text ? truth_of(text.empty() == (first.marked == "-z"))
                                    : Truth::unknown;
        }
        if (left >= 3 && is_comparison(words_[at_ + 1])) {
            at_ += 3;
            return compare(words_[at_ - 3], words_[at_ - 2].marked, words_[at_ - 1]);
        }
        ++at_;
        std::string text;
        return known_text(first.marked, text) ? truth_of(!text.empty()) : Truth::unknown;
    }
    static bool is_comparison(const TestWord& word) {
        constexpr std::array<std::string_view, 12> kKnown{
            "=", "==", "!=", "<", ">", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
        return !word.quoted && std::ranges::find(kKnown, word.marked) != kKnown.end();
    }
    static Truth compare(const TestWord& a, const std::string& op, const TestWord& b) {
        std::string left;
        std::string right;
        if (!known_text(a.marked, left) || !known_text(b.marked, right) || op == "=~") {
            return Truth::unknown;
        }
        if (op[0] == '-') {
            const auto x = shell_number(left);
            const auto y = shell_number(right);
            return !x || !y      ? Truth::unknown
                   : op == "-eq" ? truth_of(*x == *y)
                   : op == "-ne" ? truth_of(*x != *y)
                   : op == "-lt" ? truth_of(*x < *y)
                   : op == "-le" ? truth_of(*x <= *y)
                   : op == "-gt" ? truth_of(*x > *y)
                                 : truth_of(*x >= *y);
        }
        if (op == "<" || op == ">") {
            return truth_of(op == "<" ? left < right : left > right);
        }
        // Only a shell can match the pattern of [[ ]].
        if (!b.quoted && right.find_first_of("*?[") != std::string::npos) {
            return Truth::unknown;
        }
        return truth_of((left == right) == (op != "!="));
    }

    const std::vector<TestWord>& words_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> shell_arithmetic(std::string_view expression,
                                             const ShellLookup& variable) {
    return Expression{expression, variable}.value();
}

Truth shell_test(const std::vector<TestWord>& words) {
    return Test{words}.value();
}

}  // namespace orrery
