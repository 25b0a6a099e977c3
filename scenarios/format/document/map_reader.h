// SPDX-License-Identifier: Apache-2.0
// Reads the keys of one map of a document into variables. Every error is collected with its place:
// a missing key, a value of the wrong type or out of range, and (in finish()) every unread key,
// with the nearest known one. A variable keeps its value if its key is missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/field.h"
#include "engine/base/result.h"
#include "engine/base/units.h"
#include "scenarios/format/document/document_node.h"

namespace orrery {

enum class Presence : std::uint8_t { optional, required };

class MapReader {
public:
    // `path` is the dotted name of the map ("plan"), empty for the whole document.
    MapReader(const DocumentNode& map, std::string path, Errors& errors);

    // The value of the key, or null. The key is known from now on in either case.
    const DocumentNode* find(std::string_view key, Presence presence = Presence::optional);

    // Each returns whether the key exists with a valid value.
    bool boolean(std::string_view key, bool& value);
    bool integer(std::string_view key,
                 std::int64_t& value,
                 IntegerRange range = {},
                 Presence presence = Presence::optional);
    bool integer(std::string_view key,
                 std::uint32_t& value,
                 IntegerRange range = {},
                 Presence presence = Presence::optional);
    bool integers(std::string_view key, std::vector<std::int64_t>& values, IntegerRange range);
    bool real(std::string_view key, double& value, double least, double most);
    bool word(std::string_view key, std::string& value, Presence presence = Presence::optional);
    bool quantity(std::string_view key, Bandwidth& value, Presence p = Presence::optional);
    bool quantity(std::string_view key, Bytes& value, Presence p = Presence::optional);
    bool quantity(std::string_view key, Time& value, Presence p = Presence::optional);
    bool quantity(std::string_view key, FlopRate& value, Presence p = Presence::optional);

    template <class T>
    bool choice(std::string_view key,
                T& value,
                std::type_identity_t<Choices<T>> choices,
                Presence presence = Presence::optional) {
        std::vector<std::string> words;
        for (const Choice<T>& c : choices) {
            words.emplace_back(c.word);
        }
        const std::size_t i = chosen(key, words, presence);
        if (i == kNoKey) {
            return false;
        }
        value = choices[i].value;
        return true;
    }

    // A list of words, or one of them. With Presence::optional the list may be empty.
    template <class T>
    bool choices(std::string_view key,
                 std::vector<T>& values,
                 std::type_identity_t<Choices<T>> choices,
                 Presence words_are = Presence::required) {
        std::vector<std::string> words;
        for (const Choice<T>& c : choices) {
            words.emplace_back(c.word);
        }
        std::vector<std::size_t> found;
        if (!chosen_from_list(key, words, found, words_are)) {
            return false;
        }
        values.clear();
        for (const std::size_t i : found) {
            values.push_back(choices[i].value);
        }
        return true;
    }

    // An error if the key exists: it is known, but this version does not support it.
    void refuse(std::string_view key, std::string_view why, std::string_view hint);
    // An error at the key's place, or at the map's if it is absent.
    void complain(std::string_view key, std::string what, std::string hint = {});
    // Reports the unread keys.
    void finish();

    std::string full_name(std::string_view key) const;
    Errors& errors() { return errors_; }
    const DocumentNode& map() const { return map_; }
    // Records that the key had a valid value, for good().
    void took(std::string_view key) { good_.emplace_back(key); }
    bool good(std::string_view key) const;
    bool has(std::string_view key) const { return map_.find(key) != nullptr; }
    // The node as a finite number, in the C locale; nothing for other texts and quoted ones.
    static std::optional<double> number(const DocumentNode& node);

private:
    std::size_t chosen(std::string_view key,
                       const std::vector<std::string>& words,
                       Presence presence);
    bool chosen_from_list(std::string_view key,
                          const std::vector<std::string>& words,
                          std::vector<std::size_t>& found,
                          Presence words_are);
    const DocumentNode* scalar(std::string_view key, std::string_view due, Presence presence);
    template <class T>
    bool parsed(std::string_view key, T& value, Presence p, Result<T> (*parse)(std::string_view));
    std::string hint_at(const std::string& unknown) const;
    void wrong_type(const DocumentNode& node, std::string_view key, std::string_view due);

    const DocumentNode& map_;
    std::string path_;
    Errors& errors_;
    std::vector<std::string> known_;
    std::vector<std::string> good_;
    std::vector<std::string> refused_;  // keys with errors; they are never suggested
};

}  // namespace orrery
