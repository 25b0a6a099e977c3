// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "scenarios/import/megatron_command.h"
#include "scenarios/read/yaml_document.h"

namespace orrery {
namespace {

// One pass over the text, as a shell without expansions reads it.
class Splitter {
public:
    Splitter(const std::string& text, const std::string& source) : text_(text), source_(source) {}

    ResultOrErrors<std::vector<CommandWord>> words() {
        while (at_ < text_.size()) {
            step();
        }
        end_word();
        if (quote_ != 0) {
            return unexpected<Errors>(
                {{quote_where_, fmt::format("the quote {} is never closed", quote_), ""}});
        }
        return std::move(words_);
    }

private:
    std::string here() const { return fmt::format("{}:{}:{}", source_, line_, column_); }

    void advance() {
        if (text_[at_] == '\n') {
            ++line_;
            column_ = 0;
        }
        ++at_;
        ++column_;
    }

    void add(char c) {
        if (!inside_) {
            inside_ = true;
            word_ = {.text = {}, .where = here()};
        }
        if (c != 0) {
            word_.text += c;
        }
    }

    void end_word() {
        if (inside_) {
            words_.push_back(std::move(word_));
            inside_ = false;
        }
    }

    void step() {
        const char c = text_[at_];
        if (quote_ != 0) {
            if (c == quote_) {
                quote_ = 0;
            } else {
                word_.text += c;
            }
        } else if (c == '\'' || c == '"') {
            add(0);
            quote_ = c;
            quote_where_ = here();
        } else if (c == '\\' && at_ + 1 < text_.size()) {
            advance();
            if (text_[at_] == '\n') {
                end_word();
            } else {
                add(text_[at_]);
            }
        } else if (c == '#' && !inside_) {
            while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') {
                advance();
            }
        } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            end_word();
        } else {
            add(c);
        }
        advance();
    }

    const std::string& text_;
    const std::string& source_;
    std::vector<CommandWord> words_;
    CommandWord word_;
    std::string quote_where_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::size_t column_ = 1;
    char quote_ = 0;
    bool inside_ = false;
};

}  // namespace

ResultOrErrors<std::vector<CommandWord>> split_command(const std::string& text,
                                                       const std::string& source) {
    if (const Error fault = check_text(text, source); !fault.what.empty()) {
        return unexpected<Errors>({fault});
    }
    return Splitter{text, source}.words();
}

}  // namespace orrery
