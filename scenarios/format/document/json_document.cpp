// SPDX-License-Identifier: Apache-2.0
// The one owner of nlohmann-json for reading. Its event interface has no places, so the input
// iterator counts: at an event the lexer has just consumed its token. A value gets the place of its
// key.
#include "scenarios/format/document/json_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/format/document/yaml_document.h"

namespace orrery {
namespace {

struct Cursor {
    std::uint32_t line = 1;
    std::uint32_t column = 1;  // of the next character
};

// Reads characters and moves a cursor that outlives the parser's copies of the iterator.
class CountingIterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* at, Cursor* cursor) : at_(at), cursor_(cursor) {}
    reference operator*() const { return *at_; }
    CountingIterator& operator++() {
        if (*at_ == '\n') {
            ++cursor_->line;
            cursor_->column = 1;
        } else {
            ++cursor_->column;
        }
        ++at_;
        return *this;
    }
    CountingIterator operator++(int) {
        CountingIterator before = *this;
        ++*this;
        return before;
    }
    bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
    bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

private:
    const char* at_;
    Cursor* cursor_;
};

class JsonTreeBuilder {
public:
    using Json = nlohmann::json;

    JsonTreeBuilder(std::shared_ptr<const std::string> source, const Cursor& cursor, Errors& errors)
        : source_(std::move(source)), cursor_(cursor), errors_(errors) {}

    DocumentNode take() { return std::move(root_); }

    bool null() { return add(node(DocumentNode::Kind::null)); }
    bool boolean(bool value) { return plain(value ? "true" : "false"); }
    bool number_integer(Json::number_integer_t value) { return plain(std::to_string(value)); }
    bool number_unsigned(Json::number_unsigned_t value) { return plain(std::to_string(value)); }
    bool number_float(Json::number_float_t, const std::string& text) { return plain(text); }
    bool string(std::string& value) {
        DocumentNode scalar = node(DocumentNode::Kind::scalar);
        scalar.text = value;
        scalar.is_string = true;
        return add(std::move(scalar));
    }
    bool binary(Json::binary_t&) { return false; }  // not in JSON text
    bool start_object(std::size_t) { return open(DocumentNode::Kind::map); }
    bool start_array(std::size_t) { return open(DocumentNode::Kind::sequence); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool key(std::string& text) {
        DocumentNode key = node(DocumentNode::Kind::scalar);
        const auto length = static_cast<std::uint32_t>(text.size()) + 2;  // with its quotes
        key.column = cursor_.column > length ? cursor_.column - length : 1;
        key.text = text;
        DocumentNode& parent = open_.back();
        if (const std::size_t i = key_position(parent, text); i != kNoKey) {
            errors_.push_back({key.where(),
                               "duplicate key " + key.describe(),
                               fmt::format("first given at line {}", parent.keys[i].line)});
        }
        if (parent.keys.size() >= kKeysMax) {
            errors_.push_back({key.where(), fmt::format("more than {} keys", kKeysMax), {}});
            return false;
        }
        place_ = {key.line, key.column};
        has_place_ = true;
        parent.keys.push_back(std::move(key));
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const Json::exception&) {
        errors_.push_back(
            {fmt::format(
                 "{}:{}:{}", *source_, cursor_.line, cursor_.column > 1 ? cursor_.column - 1 : 1),
             "not valid JSON",
             "check for a missing quote, comma or bracket here"});
        return false;
    }

private:
    DocumentNode node(DocumentNode::Kind kind) {
        DocumentNode n;
        n.kind = kind;
        n.source = source_;
        n.line = has_place_ ? place_.line : cursor_.line;
        // The cursor is after the token; for a bracket this is one character too far.
        n.column = has_place_ ? place_.column : std::max(2U, cursor_.column) - 1;
        return n;
    }
    bool plain(std::string text) {
        DocumentNode scalar = node(DocumentNode::Kind::scalar);
        scalar.text = std::move(text);
        return add(std::move(scalar));
    }
    bool open(DocumentNode::Kind kind) {
        if (open_.size() >= kDocumentDepthMax) {
            errors_.push_back({node(kind).where(),
                               fmt::format("nested deeper than {} levels", kDocumentDepthMax),
                               "is it the file that you meant?"});
            return false;
        }
        open_.push_back(node(kind));
        has_place_ = false;
        return true;
    }
    bool close() {
        DocumentNode done = std::move(open_.back());
        open_.pop_back();
        return add(std::move(done));
    }
    bool add(DocumentNode child) {
        has_place_ = false;
        if (open_.empty()) {
            root_ = std::move(child);
        } else {
            open_.back().items.push_back(std::move(child));
        }
        return true;
    }

    static constexpr std::size_t kKeysMax = 1000;
    std::shared_ptr<const std::string> source_;
    const Cursor& cursor_;
    Errors& errors_;
    Cursor place_;  // of the key that waits for its value
    bool has_place_ = false;
    DocumentNode root_;
    std::vector<DocumentNode> open_;
};

}  // namespace

ResultOrErrors<DocumentNode> parse_json(const std::string& text,
                                        const std::string& source,
                                        std::uint32_t first_line) {
    if (Error fault = check_text(text, source); !fault.what.empty()) {
        return unexpected<Errors>(Errors{std::move(fault)});
    }
    Errors errors;
    Cursor cursor{.line = first_line};
    JsonTreeBuilder builder{std::make_shared<const std::string>(source), cursor, errors};
    const char* begin = text.data();
    const bool good = nlohmann::json::sax_parse(
        CountingIterator{begin, &cursor}, CountingIterator{begin + text.size(), &cursor}, &builder);
    if (!good && errors.empty()) {
        errors.push_back({fmt::format("{}:{}:1", source, first_line), "not valid JSON", {}});
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return builder.take();
}

ResultOrErrors<DocumentNode> read_json_file(const std::filesystem::path& path) {
    const Result<std::string> text = read_text_file(path);
    if (!text) {
        return unexpected<Errors>(Errors{text.error()});
    }
    return parse_json(*text, path.string());
}

}  // namespace orrery
