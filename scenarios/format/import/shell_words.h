// SPDX-License-Identifier: Apache-2.0
// Words of a bash script, expanded as in bash: quotes, backslashes, variables, arrays,
// ${NAME:-default} and $((…)). Nothing is executed. An expansion that only a shell can make stays
// in the word between marks (shell_text.h) and is reported with its place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/import/shell_state.h"
#include "scenarios/format/import/shell_text.h"

namespace orrery {

struct ShellWord {
    PlacedText text;
    bool quoted = false;  // some part of it is quoted
};

std::vector<ShellWord> split_at_blanks(const PlacedText& text);
// The text that the command gives to another shell: eval, or bash -c behind srun or mpirun. Empty
// for other commands.
PlacedText nested_script(const std::vector<ShellWord>& command);

// Reads one text from its beginning to its end.
class ShellWords {
public:
    ShellWords(const PlacedText& text, ShellState& state) : in_(text), state_(state) {}

    bool at_end() const { return i_ >= in_.chars.size() || !state_.errors.empty(); }
    char peek(std::size_t ahead = 0) const {
        return i_ + ahead < in_.chars.size() ? in_.chars[i_ + ahead] : '\0';
    }
    bool looking_at(std::string_view text) const {
        return std::string_view{in_.chars}.substr(i_).starts_with(text);
    }
    void advance(std::size_t count = 1) { i_ = std::min(i_ + count, in_.chars.size()); }
    std::uint32_t offset() const { return offset_of(i_); }
    // Position of the reader, for between().
    std::size_t position() const { return i_; }
    PlacedText between(std::size_t begin, std::size_t end) const;
    // Skips blanks, joined lines and a comment, but not the line's end.
    void skip_blanks();
    // The characters of the next word, without moving on; empty if it has quotes or expansions.
    std::string bare_word() const;
    // Expands one word to none, one or several. Moves on by at least one character, unless an
    // operator follows.
    std::vector<ShellWord> word();
    // One word that is not split at blanks, such as the value of an assignment.
    ShellWord value();
    // Moves behind the bracket that closes an earlier one. Returns the text between.
    PlacedText bracketed(std::string_view closer);
    // Value of the inside of $((…)) or ((…)).
    std::optional<std::int64_t> arithmetic(const PlacedText& expression);

private:
    std::uint32_t offset_of(std::size_t i) const;
    std::vector<ShellWord> expand(bool split, char until);
    void add(char c, std::uint32_t offset);
    void end_field();
    void single_quoted();
    void double_quoted();
    void dollar(bool quoted);
    void parameter(bool quoted);
    void operated(const std::string& name,
                  std::vector<PlacedText> elements,
                  bool each,
                  std::size_t begin,
                  bool quoted);
    void named(const std::string& name, bool quoted, std::size_t begin);
    void unknown(std::size_t begin, bool quoted, const char* what);
    void insert(const std::vector<PlacedText>& elements, bool quoted, bool each);
    bool skip_balanced(std::string_view closer);
    std::string parameter_name();

    const PlacedText& in_;
    ShellState& state_;
    std::size_t i_ = 0;
    std::vector<ShellWord> fields_;
    ShellWord field_;
    bool open_ = false;
    bool split_ = true;
};

}  // namespace orrery
