// SPDX-License-Identifier: Apache-2.0
// Translates keys of a Hugging Face config.json to those of a model section, for the families in
// scenarios/format/read/hf_config.cpp and hf_experts.cpp.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/read/hf_config.h"
#include "scenarios/format/read/hf_keys.h"

namespace orrery {

// Builds the model section. Every entry has the place of its JSON value.
class HfTranslator {
public:
    HfTranslator(const DocumentNode& config, Errors& errors) : config_(config), errors_(errors) {
        DocumentNode& section = result_.section;
        section.kind = DocumentNode::Kind::map;
        section.source = config.source;
        section.line = config.line;
        section.column = config.column;
    }

    // The value of the key, or null if it is missing or null. The key counts as used.
    const DocumentNode* value(std::string_view key) {
        used_.emplace(key);
        const DocumentNode* found = config_.find(key);
        return found == nullptr || found->kind == DocumentNode::Kind::null ? nullptr : found;
    }
    // Whether the key exists, even with the value null, which differs from a family's default.
    bool has(std::string_view key) const { return config_.find(key) != nullptr; }
    bool copy(std::string_view from, std::string_view to) {
        const DocumentNode* found = value(from);
        if (found != nullptr) {
            set(to, *found);
        }
        return found != nullptr;
    }
    void require(std::string_view from, std::string_view to) {
        if (!copy(from, to)) {
            errors_.push_back({config_.where(),
                               "the model lacks the key '" + std::string{from} + "'",
                               "is this a config.json of Hugging Face transformers?"});
        }
    }
    // The file's value, else the default of transformers.
    void copy_or_assume(std::string_view from,
                        std::string_view to,
                        std::string_view otherwise,
                        std::string_view why) {
        if (!copy(from, to)) {
            constant(to, std::string{otherwise});
            assume(std::string{to} + ": " + std::string{otherwise} + " (" + std::string{why} + ")");
        }
    }
    void constant(std::string_view to, std::string text) {
        DocumentNode scalar;
        scalar.kind = DocumentNode::Kind::scalar;
        scalar.source = config_.source;
        scalar.line = config_.line;
        scalar.column = config_.column;
        scalar.text = std::move(text);
        set(to, std::move(scalar));
    }
    void complain(const DocumentNode& at, std::string what, std::string hint) {
        errors_.push_back({at.where(), std::move(what), std::move(hint)});
    }
    const DocumentNode& config() const { return config_; }
    // Lists the keys around the translated section as left out.
    void leave_out_around(const DocumentNode& outer, std::string_view section) {
        for (std::size_t i = 0; i < outer.keys.size(); ++i) {
            if (outer.keys[i].text != section && outer.keys[i].text != "model_type") {
                left_out(outer.keys[i].text, outer.items[i]);
            }
        }
    }
    void assume(std::string what) { result_.assumed.push_back(std::move(what)); }
    void leave_out(std::string what) { result_.changes.push_back(std::move(what)); }

    bool flag(std::string_view key, bool otherwise) {
        const DocumentNode* found = value(key);
        return found == nullptr ? otherwise : found->text == "true";
    }
    // A number of the section so far; 0 if it is missing or no whole number.
    std::int64_t number(std::string_view key) const {
        const DocumentNode* found = result_.section.find(key);
        return found == nullptr ? 0 : whole(*found);
    }
    static std::int64_t whole(const DocumentNode& node) {
        const double number = MapReader::number(node).value_or(0);
        return number >= 1 && number < 1e9 ? static_cast<std::int64_t>(number) : 0;
    }
    void tie(bool otherwise) {
        if (value("tie_word_embeddings") == nullptr) {
            assume(std::string{"tie_word_embeddings: "} + (otherwise ? "true" : "false") +
                   " (the family's default)");
        }
        constant("untie_embeddings_and_output_weights",
                 flag("tie_word_embeddings", otherwise) ? "false" : "true");
    }
    // An error unless the value is one of the words, or absent.
    void is_one_of(std::string_view key, std::initializer_list<std::string_view> words) {
        const DocumentNode* found = value(key);
        std::string known;
        for (const std::string_view word : words) {
            known += (known.empty() ? "one of " : ", ") + std::string{word};
        }
        if (found == nullptr) {
            assume(std::string{key} + ": " + std::string{*words.begin()} +
                   " (the family's default)");
        } else if (std::ranges::find(words, found->text) == words.end()) {
            errors_.push_back({found->where(),
                               std::string{key} + " " + found->describe() + " is not supported",
                               known});
        }
    }

    HfModel take() {
        for (std::size_t i = 0; i < config_.keys.size(); ++i) {
            if (!used_.contains(config_.keys[i].text)) {
                left_out(config_.keys[i].text, config_.items[i]);
            }
        }
        return std::move(result_);
    }

private:
    void set(std::string_view to, DocumentNode scalar) {
        DocumentNode key = scalar;
        key.kind = DocumentNode::Kind::scalar;
        key.text = to;
        key.keys.clear();
        key.items.clear();
        result_.section.set(std::move(key), std::move(scalar));
    }
    void left_out(const std::string& name, const DocumentNode& value) {
        const HfKey key = left_out_hf_key(name, value);
        const std::string text = value.is_scalar() ? name + " " + value.text.substr(0, 40) : name;
        if (key.effect == HfKeyEffect::none) {
            result_.without_effect.push_back(name + " (" + std::string{key.why} + ")");
        } else if (key.effect == HfKeyEffect::answer) {
            result_.changes.push_back(text + ": " + std::string{key.why});
        } else {
            result_.unknown.push_back(text);
        }
    }

    const DocumentNode& config_;
    Errors& errors_;
    HfModel result_;
    std::set<std::string, std::less<>> used_;
};

}  // namespace orrery
