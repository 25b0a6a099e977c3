// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/map_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "engine/base/check.h"
#include "scenarios/format/document/key_synonyms.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/format/document/quantity.h"

namespace orrery {
namespace {

// Reads the whole text as a number. False if it is none.
template <class T>
bool parse_scalar(const std::string& text, T& value) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && stop == end && !text.empty();
}

// Whether the text is a whole number of more than 64 bits.
bool is_too_long(const std::string& text) {
    std::int64_t ignored = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, ignored);
    return error == std::errc::result_out_of_range && stop == end;
}

// "'micro_batch_size' belongs to plan:" if other maps than the one at `path` have the key.
std::string place_of_key(const std::string& key, const std::string& path) {
    constexpr std::size_t kPlacesMost = 3;
    std::string own;
    for (const char c : path) {
        own += c >= '0' && c <= '9' && own.ends_with('[') ? "" : std::string(1, c);
    }
    std::vector<std::string> places = maps_with_key(key);
    if (places.empty() || places.size() > kPlacesMost ||
        std::find(places.begin(), places.end(), own) != places.end()) {
        return {};
    }
    for (std::string& place : places) {
        place = place.empty() ? "the top of the file" : place + ":";
    }
    return fmt::format("'{}' belongs to {}", key, fmt::join(places, " or "));
}

}  // namespace

MapReader::MapReader(const DocumentNode& map, std::string path, Errors& errors)
    : map_(map), path_(std::move(path)), errors_(errors) {
    ORRERY_CHECK(map.is_map());
}

std::string MapReader::full_name(std::string_view key) const {
    return path_.empty() ? std::string{key} : fmt::format("{}.{}", path_, key);
}

bool MapReader::good(std::string_view key) const {
    return std::find(good_.begin(), good_.end(), key) != good_.end();
}

const DocumentNode* MapReader::find(std::string_view key, Presence presence) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
        known_.emplace_back(key);
    }
    const DocumentNode* value = map_.find(key);
    if (value == nullptr && presence == Presence::required) {
        const std::string place = path_.empty() ? "the scenario" : "'" + path_ + "'";
        errors_.push_back({map_.where(),
                           fmt::format("{} lacks the key '{}'", place, key),
                           fmt::format("add '{}: …'", key)});
    }
    return value;
}

void MapReader::wrong_type(const DocumentNode& node, std::string_view key, std::string_view due) {
    const std::string quoted = node.is_scalar() && node.is_string ? ", in quotes" : "";
    errors_.push_back(
        {node.where(),
         fmt::format("{} must be {}, not {}{}", full_name(key), due, node.describe(), quoted),
         {}});
}

const DocumentNode* MapReader::scalar(std::string_view key,
                                      std::string_view due,
                                      Presence presence) {
    const DocumentNode* node = find(key, presence);
    if (node != nullptr && (!node->is_scalar() || node->is_string)) {
        wrong_type(*node, key, due);
        return nullptr;
    }
    return node;
}

bool MapReader::boolean(std::string_view key, bool& value) {
    constexpr std::string_view kDue = "true or false";
    const DocumentNode* node = scalar(key, kDue, Presence::optional);
    if (node == nullptr) {
        return false;
    }
    if (node->text != "true" && node->text != "false") {
        wrong_type(*node, key, kDue);
        return false;
    }
    value = node->text == "true";
    return true;
}

bool MapReader::integer(std::string_view key,
                        std::int64_t& value,
                        IntegerRange range,
                        Presence presence) {
    constexpr std::string_view kDue = "a whole number";
    const DocumentNode* node = scalar(key, kDue, presence);
    if (node == nullptr) {
        return false;
    }
    std::int64_t number = 0;
    const bool read = parse_scalar(node->text, number);
    const bool whole = read || is_too_long(node->text);
    if (!read || number < range.least || number > range.most) {
        errors_.push_back(
            {node->where(),
             whole ? fmt::format("{} is {}, out of range",
                                 full_name(key),
                                 read ? std::to_string(number) : node->describe())
                   : fmt::format("{} must be {}, not {}", full_name(key), kDue, node->describe()),
             fmt::format("{} to {}", range.least, range.most)});
        return false;
    }
    value = number;
    return true;
}

bool MapReader::integer(std::string_view key,
                        std::uint32_t& value,
                        IntegerRange range,
                        Presence presence) {
    ORRERY_CHECK(range.least >= 0 && range.most <= 4'000'000'000);
    std::int64_t number = 0;
    if (!integer(key, number, range, presence)) {
        return false;
    }
    value = static_cast<std::uint32_t>(number);
    return true;
}

bool MapReader::integers(std::string_view key,
                         std::vector<std::int64_t>& values,
                         IntegerRange range) {
    const DocumentNode* node = find(key);
    if (node == nullptr) {
        return false;
    }
    if (!node->is_sequence()) {
        wrong_type(*node, key, "a list of whole numbers");
        return false;
    }
    std::vector<std::int64_t> numbers;
    for (const DocumentNode& item : node->items) {
        std::int64_t number = 0;
        if (!item.is_scalar() || item.is_string || !parse_scalar(item.text, number) ||
            number < range.least || number > range.most) {
            wrong_type(
                item,
                key,
                fmt::format("a list of whole numbers from {} to {}", range.least, range.most));
            return false;
        }
        numbers.push_back(number);
    }
    values = std::move(numbers);
    return true;
}

bool MapReader::real(std::string_view key, double& value, double least, double most) {
    constexpr std::string_view kDue = "a number";
    const DocumentNode* node = scalar(key, kDue, Presence::optional);
    if (node == nullptr) {
        return false;
    }
    const std::optional<double> found = number(*node);
    if (!found) {
        wrong_type(*node, key, kDue);
        return false;
    }
    if (*found < least || *found > most) {
        errors_.push_back({node->where(),
                           fmt::format("{} is {}, out of range", full_name(key), node->text),
                           fmt::format("{} to {}", least, most)});
        return false;
    }
    value = *found;
    return true;
}

std::optional<double> MapReader::number(const DocumentNode& node) {
    double value = 0;
    const bool whole = node.is_scalar() && !node.is_string && parse_scalar(node.text, value);
    return whole && std::isfinite(value) ? std::optional{value} : std::nullopt;
}

bool MapReader::word(std::string_view key, std::string& value, Presence presence) {
    const DocumentNode* node = find(key, presence);
    if (node == nullptr) {
        return false;
    }
    if (!node->is_scalar() || node->text.empty()) {
        wrong_type(*node, key, "a word");
        return false;
    }
    value = node->text;
    return true;
}

template <class T>
bool MapReader::parsed(std::string_view key,
                       T& value,
                       Presence presence,
                       Result<T> (*parse)(std::string_view)) {
    const DocumentNode* node = find(key, presence);
    if (node == nullptr) {
        return false;
    }
    if (!node->is_scalar()) {
        wrong_type(*node, key, "a number with a unit");
        return false;
    }
    const Result<T> result = parse(node->text);
    if (!result) {
        errors_.push_back(
            {node->where(), full_name(key) + ": " + result.error().what, result.error().hint});
        return false;
    }
    value = *result;
    return true;
}

bool MapReader::quantity(std::string_view key, Bandwidth& value, Presence p) {
    return parsed(key, value, p, parse_bandwidth);
}

bool MapReader::quantity(std::string_view key, Bytes& value, Presence p) {
    return parsed(key, value, p, parse_bytes);
}

bool MapReader::quantity(std::string_view key, Time& value, Presence p) {
    return parsed(key, value, p, parse_time);
}

bool MapReader::quantity(std::string_view key, FlopRate& value, Presence p) {
    return parsed(key, value, p, parse_flop_rate);
}

std::size_t MapReader::chosen(std::string_view key,
                              const std::vector<std::string>& words,
                              Presence presence) {
    const DocumentNode* node = find(key, presence);
    if (node == nullptr) {
        return kNoKey;
    }
    if (!node->is_scalar()) {
        wrong_type(*node, key, fmt::format("one of {}", fmt::join(words, ", ")));
        return kNoKey;
    }
    const auto at = std::find(words.begin(), words.end(), node->text);
    if (at == words.end()) {
        errors_.push_back({node->where(),
                           fmt::format("{} can't be {}", full_name(key), node->describe()),
                           fmt::format("one of {}", fmt::join(words, ", "))});
        return kNoKey;
    }
    return static_cast<std::size_t>(at - words.begin());
}

bool MapReader::chosen_from_list(std::string_view key,
                                 const std::vector<std::string>& words,
                                 std::vector<std::size_t>& found,
                                 Presence words_are) {
    const DocumentNode* node = find(key);
    if (node == nullptr) {
        return false;
    }
    const std::string hint = fmt::format("a list out of {}", fmt::join(words, ", "));
    const std::vector<DocumentNode> items =
        node->is_sequence() ? node->items : std::vector<DocumentNode>{*node};
    if (items.empty() && words_are == Presence::required) {
        complain(key, full_name(key) + " is empty", hint);
        return false;
    }
    const std::size_t errors = errors_.size();
    for (const DocumentNode& item : items) {
        const auto at = std::find(words.begin(), words.end(), item.text);
        if (!item.is_scalar() || at == words.end()) {
            errors_.push_back({item.where(),
                               fmt::format("{} can't be {}", full_name(key), item.describe()),
                               hint});
            continue;
        }
        const auto i = static_cast<std::size_t>(at - words.begin());
        if (std::find(found.begin(), found.end(), i) == found.end()) {
            found.push_back(i);
        }
    }
    return errors_.size() == errors;
}

void MapReader::refuse(std::string_view key, std::string_view why, std::string_view hint) {
    if (map_.find(key) != nullptr) {
        complain(key, std::string{why}, std::string{hint});
        refused_.emplace_back(key);
    }
}

void MapReader::complain(std::string_view key, std::string what, std::string hint) {
    const std::size_t i = key_position(map_, key);
    errors_.push_back(
        {i == kNoKey ? map_.where() : map_.keys[i].where(), std::move(what), std::move(hint)});
}

// Hint at the map to which the key belongs (unless it is the beginning of a key here), else at
// another program's name, else at the nearest known key.
std::string MapReader::hint_at(const std::string& unknown) const {
    if (unknown == "version" && path_.empty()) {
        return "files of this release have no version; did a later one write this file?";
    }
    const bool begins_one = std::any_of(known_.begin(), known_.end(), [&](const std::string& key) {
        return key.starts_with(unknown);
    });
    if (const std::string place = place_of_key(unknown, path_); !place.empty() && !begins_one) {
        return place;
    }
    const std::string called = key_called(unknown);
    if (called.empty()) {
        return nearest_hint(unknown, known_);
    }
    // `search` varies keys of the plan under their own names.
    const std::string bare = called.substr(called.rfind('.') + 1);
    const bool here = std::find(known_.begin(), known_.end(), bare) != known_.end();
    return here ? fmt::format("did you mean '{}'?", bare)
                : fmt::format("in a scenario: {}", called);
}

void MapReader::finish() {
    for (const DocumentNode& key : map_.keys) {
        const auto is_in = [&](const std::vector<std::string>& names) {
            return std::find(names.begin(), names.end(), key.text) != names.end();
        };
        if (!is_in(known_) && !is_in(refused_)) {
            const std::string place = path_.empty() ? "" : " in '" + path_ + "'";
            errors_.push_back({key.where(),
                               fmt::format("unknown key {}{}", key.describe(), place),
                               hint_at(key.text)});
        }
    }
}

}  // namespace orrery
