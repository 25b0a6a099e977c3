// SPDX-License-Identifier: Apache-2.0
// Tables of keys: a map of a document is a KeyTable, a key of it a row. Reader, hints, `orrery
// keys`, the JSON Schema and the reference page come from the rows. The tables stand in the
// read_*.cpp beside the rules that need code (key_tables.h lists them):
//
//     constexpr Key kRows[] = {
//         key<&RepairSpec::crews>("crews", "Repairs at a time; 0: any number.").range(0,
//         1'000'000), choice<kStores, &StartUpPlan::store>("store", "Store that the processes meet
//         at."), part<&CampaignPlan::repair>("repair", kRepairKeys, "Repair of nodes."),
//     };
//     const KeyTable<RepairSpec> kRepairKeys = key_table<RepairSpec>("repair", kRows);
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/base/field.h"
#include "engine/base/units.h"
#include "engine/base/wall_time.h"
#include "engine/faults/distribution.h"
#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/read_field.h"
#include "scenarios/format/document/unit_names.h"
#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/format/read/read_distribution.h"

namespace orrery {

enum class KeyShape : std::uint8_t {
    boolean,
    integer,
    real,
    word,
    choice,
    path,  // of a file or folder
    bandwidth,
    bytes,
    time,
    flop_rate,
    wall_time,     // with `words`: or one of them
    distribution,  // read_distribution.h
    map,           // of the keys of `inner`
    map_list,      // a list of such maps
    map_or_list,   // such a map, or a list of them
    entry,         // a name of the catalogue, or such a map
    ladder,        // a list of names of `inner`'s keys, or of maps of one such key
    device_real,   // a number, or a map of device names to numbers
    nodes,         // numbers and ranges: [0-3, 6]
    any_list,      // maps of keys of other files
    any,           // a map of such keys
};

// Neutral upper limit of an integer or a span of time.
inline constexpr std::int64_t kLongMost = std::numeric_limits<std::int64_t>::max();

struct KeyMap;

struct Key {
    std::string_view name{};
    std::string_view meaning{};  // one sentence
    KeyShape shape = KeyShape::any;
    FieldUse use = FieldUse::optional;
    bool listed = false;               // a list of such values may stand in place of one
    bool positive = false;             // zero is an error
    std::string_view unit{};           // of a number
    std::string_view default_words{};  // a default that is not one value, or differs by case
    std::string_view example{};        // for the hint at a wrong value
    std::string_view catalogue{};      // section of an entry
    IntegerRange integers{};
    RealRange reals{};
    const KeyMap* inner = nullptr;
    // All words of a choice, or the first one of each value only.
    std::vector<std::string> (*words)(bool first) = nullptr;
    // Null if code reads the key. Returns whether it exists with a valid value.
    bool (*read)(MapReader&, const Key&, void* object) = nullptr;
    std::string (*text)(const void* object) = nullptr;

    constexpr Key required() const {
        return with([](Key& k) { k.use = FieldUse::required; });
    }
    // Range of a number, or the least microseconds of a time.
    template <class Least, class Most>
    constexpr Key range(Least least, Most most) const {
        Key changed = *this;
        changed.reals = {static_cast<double>(least), static_cast<double>(most)};
        if constexpr (std::is_integral_v<Least> && std::is_integral_v<Most>) {
            changed.integers = {least, most};
        }
        return changed;
    }
    constexpr Key of(std::string_view words_of_unit) const {
        return with([&](Key& k) { k.unit = words_of_unit; });
    }
    constexpr Key by(std::string_view words_of_default) const {
        return with([&](Key& k) { k.default_words = words_of_default; });
    }
    constexpr Key above_zero(std::string_view like = {}) const {
        return with([&](Key& k) { k.positive = true, k.example = like; });
    }
    constexpr Presence presence() const {
        return use == FieldUse::required ? Presence::required : Presence::optional;
    }
    constexpr Key or_list() const {
        return with([](Key& k) { k.listed = true; });
    }
    template <const auto& kChoices>
    constexpr Key or_words() const {
        return with([](Key& k) { k.words = &words_of_choices<kChoices>; });
    }

    template <const auto& kChoices>
    static std::vector<std::string> words_of_choices(bool first) {
        std::vector<std::string> words;
        for (const auto& choice : kChoices) {
            if (!first || word_of(choice.value, kChoices) == choice.word) {
                words.emplace_back(choice.word);
            }
        }
        return words;
    }

private:
    template <class Change>
    constexpr Key with(Change change) const {
        Key changed = *this;
        change(changed);
        return changed;
    }
};

struct ScenarioKey;  // scenario_keys.h

struct KeyMap {
    std::string_view name;  // of the map in a schema: "repair"
    std::span<const Key> keys{};
    std::string_view example{};  // for the hint at a value that is no map
    const void* (*defaults)() = nullptr;
    void (*check)(MapReader&, void* object) = nullptr;  // called after the keys are read
    // Replaces `keys` for structs with their own table (models/plan/plan_fields.h).
    void (*fields)(const std::string& path, std::vector<ScenarioKey>& keys) = nullptr;
};
template <class Struct>
struct KeyTable : KeyMap {};

// The row with this name, which must exist.
const Key& row_of(const KeyMap& map, std::string_view name);

// Reads the rows with `read` and marks the others as known. The caller finishes the reader.
void read_rows(MapReader& reader, const KeyMap& map, void* object);
template <class Struct>
void read_keys(MapReader& reader, const KeyTable<Struct>& table, Struct& object) {
    read_rows(reader, table, &object);
}
// Reads one row with `read`.
template <class Struct>
bool read_key(MapReader& reader,
              const KeyTable<Struct>& table,
              std::string_view name,
              Struct& object) {
    const Key& row = row_of(table, name);
    return row.read(reader, row, &object);
}
// Reads a number for code, within the range of its row.
bool read_real(MapReader& reader, const KeyMap& map, std::string_view name, double& value);
// Reads the whole map at `node`. An error if it is no map. Returns whether it is one.
bool read_map(const DocumentNode& node,
              const std::string& path,
              const KeyMap& map,
              void* object,
              Errors& errors);
template <class Struct>
bool read_map(const DocumentNode& node,
              const std::string& path,
              const KeyTable<Struct>& table,
              Struct& object,
              Errors& errors) {
    return read_map(node, path, static_cast<const KeyMap&>(table), &object, errors);
}

// Reads the map under a row's key into the struct of `row.inner`.
bool read_part(MapReader& reader, const Key& row, void* object);

// "1 to 8 ranks", "a bandwidth, like 200 Gbps", "none, selective, full"
std::string values_text(const Key& key);
namespace key_detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <auto kFirst>
struct StructOf;
template <class S, class T, T S::*kFirst>
struct StructOf<kFirst> {
    using Type = S;
};

template <auto kFirst, auto... kRest, class S>
auto& member_of(S& object) {
    if constexpr (sizeof...(kRest) == 0) {
        return object.*kFirst;
    } else {
        return member_of<kRest...>(object.*kFirst);
    }
}
template <auto kFirst, auto... kRest>
auto& value_of(void* object) {
    return member_of<kFirst, kRest...>(*static_cast<typename StructOf<kFirst>::Type*>(object));
}
template <auto kFirst, auto... kRest>
const auto& value_of(const void* object) {
    return member_of<kFirst, kRest...>(
        *static_cast<const typename StructOf<kFirst>::Type*>(object));
}
template <auto... kMembers>
using ValueOf = std::remove_cvref_t<decltype(value_of<kMembers...>(std::declval<void*>()))>;

template <class T>
constexpr KeyShape shape_of() {
    if constexpr (is_optional<T>) {
        return shape_of<typename T::value_type>();
    } else if constexpr (std::is_same_v<T, bool>) {
        return KeyShape::boolean;
    } else if constexpr (std::is_integral_v<T>) {
        return KeyShape::integer;
    } else if constexpr (std::is_same_v<T, double>) {
        return KeyShape::real;
    } else if constexpr (std::is_same_v<T, std::string>) {
        return KeyShape::word;
    } else if constexpr (std::is_same_v<T, Bandwidth>) {
        return KeyShape::bandwidth;
    } else if constexpr (std::is_same_v<T, Bytes>) {
        return KeyShape::bytes;
    } else if constexpr (std::is_same_v<T, Time>) {
        return KeyShape::time;
    } else if constexpr (std::is_same_v<T, FlopRate>) {
        return KeyShape::flop_rate;
    } else if constexpr (std::is_same_v<T, WallTime>) {
        return KeyShape::wall_time;
    } else {
        static_assert(std::is_same_v<T, Distribution>);
        return KeyShape::distribution;
    }
}

// Each reads the value of `key`. An error if the row requires it and it is missing.
bool read_value(MapReader& reader, const Key& key, bool& value);
bool read_value(MapReader& reader, const Key& key, std::int64_t& value);
// A list, or one number.
bool read_value(MapReader& reader, const Key& key, std::vector<std::int64_t>& values);
bool read_value(MapReader& reader, const Key& key, double& value);
bool read_value(MapReader& reader, const Key& key, std::string& value);
bool read_value(MapReader& reader, const Key& key, Bandwidth& value);
bool read_value(MapReader& reader, const Key& key, Bytes& value);
bool read_value(MapReader& reader, const Key& key, Time& value);
bool read_value(MapReader& reader, const Key& key, FlopRate& value);
bool read_value(MapReader& reader, const Key& key, WallTime& value);
bool read_value(MapReader& reader, const Key& key, Distribution& value);

template <class T>
bool read_into(MapReader& reader, const Key& key, T& value) {
    if constexpr (is_optional<T>) {
        typename T::value_type inside{};
        const bool good = read_into(reader, key, inside);
        if (good) {
            value = inside;
        }
        return good;
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        std::int64_t number = 0;
        const bool good = read_value(reader, key, number);
        if (good) {
            value = static_cast<T>(number);
        }
        return good;
    } else {
        return read_value(reader, key, value);
    }
}

std::string text_of(FlopRate value);
std::string text_of(const Distribution& value);
template <class T>
std::string text_of(const T& value) {
    if constexpr (is_optional<T>) {
        return value ? text_of(*value) : "";
    } else if constexpr (std::is_same_v<T, bool>) {
        return value ? "true" : "false";
    } else if constexpr (std::is_integral_v<T>) {
        return std::to_string(value);
    } else if constexpr (std::is_same_v<T, double>) {
        return number_text(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
        return value;
    } else {
        return to_text(value);
    }
}

}  // namespace key_detail

// A key whose value is a member of the struct, or of a member.
template <auto... kMembers>
constexpr Key key(std::string_view name, std::string_view meaning) {
    Key row{.name = name, .meaning = meaning};
    row.shape = key_detail::shape_of<key_detail::ValueOf<kMembers...>>();
    if (row.shape == KeyShape::wall_time || row.shape == KeyShape::distribution) {
        row.integers.least = 0;
    }
    row.read = [](MapReader& reader, const Key& of, void* object) {
        return key_detail::read_into(reader, of, key_detail::value_of<kMembers...>(object));
    };
    row.text = [](const void* object) {
        return key_detail::text_of(key_detail::value_of<kMembers...>(object));
    };
    return row;
}

// A key with one of the words of kChoices.
template <const auto& kChoices, auto... kMembers>
constexpr Key choice(std::string_view name, std::string_view meaning) {
    Key row{.name = name, .meaning = meaning, .shape = KeyShape::choice};
    row.words = &Key::words_of_choices<kChoices>;
    row.read = [](MapReader& reader, const Key& of, void* object) {
        return reader.choice(
            of.name, key_detail::value_of<kMembers...>(object), kChoices, of.presence());
    };
    row.text = [](const void* object) {
        return std::string{word_of(key_detail::value_of<kMembers...>(object), kChoices)};
    };
    return row;
}

// A key with a size and a unit, for a member that counts bytes; `most` in bytes.
template <auto... kMembers>
constexpr Key bytes(std::string_view name, std::string_view meaning) {
    Key row = key<kMembers...>(name, meaning);
    row.shape = KeyShape::bytes;
    row.read = [](MapReader& reader, const Key& of, void* object) {
        Bytes value;
        const bool good = key_detail::read_value(reader, of, value);
        if (good) {
            auto& count = key_detail::value_of<kMembers...>(object);
            count = static_cast<std::remove_cvref_t<decltype(count)>>(value.count());
        }
        return good;
    };
    row.text = [](const void* object) {
        return to_text(Bytes{key_detail::value_of<kMembers...>(object)});
    };
    return row;
}

// A map with the keys of another table.
template <auto... kMembers, class Table>
constexpr Key part(std::string_view name, const Table& table, std::string_view meaning) {
    static_assert(std::is_same_v<Table, KeyTable<key_detail::ValueOf<kMembers...>>>,
                  "the table is of another struct");
    Key row{.name = name, .meaning = meaning, .shape = KeyShape::map, .inner = &table};
    row.read = [](MapReader& reader, const Key& of, void* object) {
        return read_part(reader, of, &key_detail::value_of<kMembers...>(object));
    };
    return row;
}

// A map with further keys of the same struct.
template <class Struct>
constexpr Key part_of_same(std::string_view name,
                           const KeyTable<Struct>& table,
                           std::string_view meaning) {
    Key row{.name = name, .meaning = meaning, .shape = KeyShape::map, .inner = &table};
    row.read = [](MapReader& reader, const Key& of, void* object) {
        return read_part(reader, of, object);
    };
    return row;
}

// A key that code reads.
constexpr Key plain(std::string_view name, KeyShape shape, std::string_view meaning) {
    return {.name = name, .meaning = meaning, .shape = shape};
}
template <const auto& kChoices>
constexpr Key plain_choice(std::string_view name, std::string_view meaning) {
    return plain(name, KeyShape::choice, meaning).template or_words<kChoices>();
}
constexpr Key nested(std::string_view name,
                     KeyShape shape,
                     const KeyMap& inner,
                     std::string_view meaning) {
    return {.name = name, .meaning = meaning, .shape = shape, .inner = &inner};
}
// A name of the catalogue's `section`, or a map.
constexpr Key entry(std::string_view name,
                    std::string_view section,
                    const KeyMap& inner,
                    std::string_view meaning) {
    return {.name = name,
            .meaning = meaning,
            .shape = KeyShape::entry,
            .catalogue = section,
            .inner = &inner};
}

// Compares types, because g++ 12 with -fsanitize=undefined does not accept a function's address as
// a constant in a comparison with null.
template <class Struct, void (*kCheck)(MapReader&, Struct&)>
inline constexpr bool kHasCheck =
    !std::is_same_v<std::integral_constant<void (*)(MapReader&, Struct&), kCheck>,
                    std::integral_constant<void (*)(MapReader&, Struct&), nullptr>>;

template <class Struct, void (*kCheck)(MapReader&, Struct&) = nullptr>
constexpr KeyTable<Struct> key_table(std::string_view name,
                                     std::span<const Key> rows,
                                     std::string_view example = {}) {
    KeyTable<Struct> table{{.name = name, .keys = rows, .example = example}};
    table.defaults = []() -> const void* {
        static const Struct object{};
        return &object;
    };
    if constexpr (kHasCheck<Struct, kCheck>) {
        table.check = [](MapReader& reader, void* object) {
            kCheck(reader, *static_cast<Struct*>(object));
        };
    }
    return table;
}
// A map of keys that code reads.
constexpr KeyMap key_map(std::string_view name, std::span<const Key> rows) {
    return {.name = name, .keys = rows};
}

}  // namespace orrery
