// SPDX-License-Identifier: Apache-2.0
// The one owner of yaml-cpp. Its events have places, unlike its node tree, and guards can stop a
// hostile file during parsing.
#include "scenarios/format/document/yaml_document.h"

#include <fmt/format.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <sstream>
#include <utility>

#include "engine/base/input_file.h"
#include "scenarios/format/document/utf8.h"

namespace orrery {
namespace {

// Stops yaml-cpp from inside an event; never leaves this file.
struct Stop : std::exception {};

class TreeBuilder : public YAML::EventHandler {
public:
    TreeBuilder(const std::string& text, std::shared_ptr<const std::string> source, Errors& errors)
        : text_(text), source_(std::move(source)), errors_(errors) {}

    DocumentNode take() { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        check_anchor(mark, anchor);
        add(node(DocumentNode::Kind::null, mark));
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_alias(mark); }
    void OnScalar(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  const std::string& value) override {
        check_anchor(mark, anchor);
        check_tag(mark, tag);
        DocumentNode scalar = node(DocumentNode::Kind::scalar, mark);
        scalar.text = value;
        scalar.is_string = tag == "!";
        if (scalar.is_string) {
            check_quotes(mark);
        }
        if (!scalar.is_string && (value == "~" || value == "null")) {
            scalar.kind = DocumentNode::Kind::null;
        }
        add(std::move(scalar));
    }
    void OnSequenceStart(const YAML::Mark& mark,
                         const std::string& tag,
                         YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(DocumentNode::Kind::sequence, mark, tag, anchor);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark,
                    const std::string& tag,
                    YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(DocumentNode::Kind::map, mark, tag, anchor);
    }
    void OnMapEnd() override { close(); }

private:
    DocumentNode node(DocumentNode::Kind kind, const YAML::Mark& mark) const {
        DocumentNode n;
        n.kind = kind;
        n.source = source_;
        n.line = static_cast<std::uint32_t>(std::max(0, mark.line)) + 1;
        n.column = static_cast<std::uint32_t>(std::max(0, mark.column)) + 1;
        return n;
    }
    [[noreturn]] void stop(const YAML::Mark& mark, std::string what, std::string hint) {
        errors_.push_back(
            {node(DocumentNode::Kind::null, mark).where(), std::move(what), std::move(hint)});
        throw Stop{};
    }
    [[noreturn]] void refuse_alias(const YAML::Mark& mark) {
        stop(mark, "anchors and aliases are not supported", "write the value out");
    }
    void check_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
        if (anchor != 0) {
            refuse_alias(mark);
        }
    }
    void check_tag(const YAML::Mark& mark, const std::string& tag) {
        if (!tag.empty() && tag != "?" && tag != "!") {
            stop(mark, fmt::format("the tag '{}' is not supported", tag), "remove it");
        }
    }
    // yaml-cpp accepts a quoted text that the end of the file cuts off.
    void check_quotes(const YAML::Mark& mark) {
        auto at = static_cast<std::size_t>(std::max(0, mark.pos));
        if (at >= text_.size() || (text_[at] != '\'' && text_[at] != '"')) {
            return;
        }
        const char quote = text_[at];
        for (++at; at < text_.size(); ++at) {
            if (quote == '"' && text_[at] == '\\') {
                ++at;
            } else if (text_[at] == quote) {
                if (quote != '\'' || at + 1 >= text_.size() || text_[at + 1] != quote) {
                    return;
                }
                ++at;  // '' is a quote inside single quotes
            }
        }
        stop(mark, "a quote is not closed", "is the file complete?");
    }
    void open(DocumentNode::Kind kind,
              const YAML::Mark& mark,
              const std::string& tag,
              YAML::anchor_t anchor) {
        check_anchor(mark, anchor);
        check_tag(mark, tag);
        if (open_.size() >= kDocumentDepthMax) {
            stop(mark,
                 fmt::format("nested deeper than {} levels", kDocumentDepthMax),
                 "is it the file that you meant?");
        }
        open_.push_back(node(kind, mark));
    }
    void close() {
        DocumentNode done = std::move(open_.back());
        open_.pop_back();
        add(std::move(done));
    }
    void add(DocumentNode child) {
        if (open_.empty()) {
            root_ = std::move(child);
            return;
        }
        DocumentNode& parent = open_.back();
        if (parent.is_map() && parent.keys.size() == parent.items.size()) {
            add_key(parent, std::move(child));
        } else {
            parent.items.push_back(std::move(child));
        }
    }
    void add_key(DocumentNode& parent, DocumentNode key) {
        if (!key.is_scalar()) {
            errors_.push_back({key.where(), "a key must be a word, not " + key.describe(), {}});
        } else if (const std::size_t i = key_position(parent, key.text); i != kNoKey) {
            errors_.push_back({key.where(),
                               fmt::format("duplicate key '{}'", key.text),
                               fmt::format("first given at line {}", parent.keys[i].line)});
        }
        if (parent.keys.size() >= kKeysMax) {
            errors_.push_back({key.where(), fmt::format("more than {} keys", kKeysMax), {}});
            throw Stop{};
        }
        parent.keys.push_back(std::move(key));
    }

    // The search for duplicates is quadratic, so the number of keys is bounded.
    static constexpr std::size_t kKeysMax = 1000;
    const std::string& text_;
    std::shared_ptr<const std::string> source_;
    Errors& errors_;
    DocumentNode root_;
    std::vector<DocumentNode> open_;
};

Error empty_file(const std::string& source) {
    return {.where = source + ":1:1",
            .what = "the file is empty",
            .hint = "orrery init writes a scenario; orrery keys explains the keys",
            .cause = ErrorCause::empty_input};
}

// Hint at the kind of a text that is no YAML, by its first line.
std::string hint_of_other_text(const std::string& text) {
    std::istringstream lines{text};
    std::string line;
    while (std::getline(lines, line) && (line.empty() || line.starts_with('#'))) {
    }
    if (line.find(": ") == std::string::npos && std::ranges::count(line, ',') >= 3) {
        return "this looks like a table (CSV): orrery validate takes tables";
    }
    return line.find(':') == std::string::npos ? "is it a scenario? orrery init writes one" : "";
}

// Hint for a text in which the YAML parser failed at a line (the first is 1).
std::string hint_of_broken_yaml(const std::string& text, int line, std::string_view message) {
    if (std::string hint = hint_of_other_text(text); !hint.empty()) {
        return hint;
    }
    std::istringstream lines{text};
    std::string broken;
    for (int i = 0; i < line && std::getline(lines, broken); ++i) {
    }
    if (broken.substr(0, broken.find_first_not_of(" \t")).find('\t') != std::string::npos) {
        return "YAML indents with spaces; this line begins with a tab";
    }
    const auto says = [&](std::string_view words) {
        return message.find(words) != std::string_view::npos;
    };
    if (says("sequence flow not found")) {
        return "a '[' has no ']'";
    }
    if (says("map flow not found")) {
        return "a '{' has no '}'";
    }
    return "keys of one map begin in one column; a value with ': ' in it needs quotes";
}

// The document of the stream. A second document is an error.
DocumentNode parse_events(const std::string& text, const std::string& source, Errors& errors) {
    TreeBuilder builder{text, std::make_shared<const std::string>(source), errors};
    try {
        std::istringstream stream{text};
        YAML::Parser parser{stream};
        if (!parser.HandleNextDocument(builder)) {
            errors.push_back(empty_file(source));
            return {};
        }
        DocumentNode root = builder.take();
        if (parser.HandleNextDocument(builder)) {
            errors.push_back({builder.take().where(),
                              "a second YAML document in one file",
                              "remove what follows '---'"});
        }
        return root;
    } catch (const Stop&) {
        return {};  // the error is recorded
    } catch (const YAML::Exception& e) {
        const int line = std::max(0, e.mark.line) + 1;
        const int column = std::max(0, e.mark.column) + 1;
        errors.push_back({fmt::format("{}:{}:{}", source, line, column),
                          "not valid YAML: " + e.msg,
                          hint_of_broken_yaml(text, line, e.msg)});
    } catch (const std::exception& e) {
        errors.push_back({source + ":1:1", fmt::format("not valid YAML: {}", e.what()), {}});
    }
    return {};
}

void emit(YAML::Emitter& out, const DocumentNode& node);

void emit_scalar(YAML::Emitter& out, const DocumentNode& scalar) {
    if (scalar.is_string) {
        out << YAML::DoubleQuoted;
    }
    out << scalar.text;
}

void emit_collection(YAML::Emitter& out, const DocumentNode& node) {
    const auto is_map = [](const DocumentNode& item) { return item.is_map(); };
    if (node.items.empty() || (node.is_sequence() && std::ranges::none_of(node.items, is_map))) {
        out << YAML::Flow;
    }
    if (node.is_sequence()) {
        out << YAML::BeginSeq;
        for (const DocumentNode& item : node.items) {
            emit(out, item);
        }
        out << YAML::EndSeq;
        return;
    }
    out << YAML::BeginMap;
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
        out << YAML::Key;
        emit_scalar(out, node.keys[i]);
        out << YAML::Value;
        emit(out, node.items[i]);
    }
    out << YAML::EndMap;
}

void emit(YAML::Emitter& out, const DocumentNode& node) {
    if (node.kind == DocumentNode::Kind::null) {
        out << YAML::Null;
    } else if (node.is_scalar()) {
        emit_scalar(out, node);
    } else {
        emit_collection(out, node);
    }
    if (!node.remark.empty()) {
        out << YAML::Comment(node.remark);
    }
}

}  // namespace

namespace {

Result<std::string> text_of(std::istream& stream, const std::string& name) {
    std::string text(kDocumentBytesMax + 1, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
    if (stream.bad()) {
        return fail(name, "can't be read", {});
    }
    if (text.size() > kDocumentBytesMax) {
        return fail(name + ":1:1",
                    fmt::format("larger than {} KiB", kDocumentBytesMax >> 10),
                    "a scenario or catalogue file has a few KiB");
    }
    return text;
}

}  // namespace

std::string source_name(const std::filesystem::path& path) {
    return path == kStandardInput ? std::string{kStandardInputName} : path.string();
}

Result<std::string> read_text_file(const std::filesystem::path& path) {
    if (path == kStandardInput) {
        // Read once for all readers, because a pipe cannot be read again.
        static const Result<std::string> text = text_of(std::cin, kStandardInputName);
        return text;
    }
    auto stream = open_input(path);
    if (!stream) {
        return unexpected<Error>(stream.error());
    }
    return text_of(*stream, path.string());
}

Error check_text(std::string_view text, const std::string& source) {
    const TextFault fault = find_text_fault(text);
    if (fault.what.empty()) {
        return {};
    }
    return {fmt::format("{}:{}:{}", source, fault.line, fault.column),
            fault.what,
            "a plain UTF-8 text file is due"};
}

ResultOrErrors<DocumentNode> parse_yaml(const std::string& text, const std::string& source) {
    if (text.size() > kDocumentBytesMax) {
        return unexpected<Errors>(Errors{
            {source + ":1:1", fmt::format("larger than {} KiB", kDocumentBytesMax >> 10), {}}});
    }
    if (Error fault = check_text(text, source); !fault.what.empty()) {
        return unexpected<Errors>(Errors{std::move(fault)});
    }
    Errors errors;
    DocumentNode root = parse_events(text, source, errors);
    if (errors.empty() && root.kind == DocumentNode::Kind::null) {
        errors.push_back(empty_file(source));
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return root;
}

ResultOrErrors<DocumentNode> read_yaml_file(const std::filesystem::path& path) {
    Result<std::string> text = read_text_file(path);
    if (!text) {
        return unexpected<Errors>(Errors{text.error()});
    }
    return parse_yaml(*text, source_name(path));
}

std::string to_yaml(const DocumentNode& node, const std::vector<std::string>& heading) {
    YAML::Emitter out;
    out.SetNullFormat(YAML::LowerNull);
    for (const std::string& line : heading) {
        out << YAML::Comment(line) << YAML::Newline;
    }
    emit(out, node);
    return std::string{out.c_str()} + "\n";
}

std::string to_flow_yaml(const DocumentNode& node) {
    YAML::Emitter out;
    out.SetNullFormat(YAML::LowerNull);
    out.SetMapFormat(YAML::Flow);
    out.SetSeqFormat(YAML::Flow);
    emit(out, node);
    return out.c_str();
}

}  // namespace orrery
