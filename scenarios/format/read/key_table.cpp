// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/key_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {

void read_rows(MapReader& reader, const KeyMap& map, void* object) {
    for (const Key& key : map.keys) {
        if (key.read == nullptr) {
            reader.find(key.name, key.presence());
        } else if (key.read(reader, key, object)) {
            reader.took(key.name);
        }
    }
    if (map.check != nullptr) {
        map.check(reader, object);
    }
}

bool read_map(const DocumentNode& node,
              const std::string& path,
              const KeyMap& map,
              void* object,
              Errors& errors) {
    if (!node.is_map()) {
        errors.push_back({node.where(),
                          fmt::format("{} must be a map, not {}", path, node.describe()),
                          std::string{map.example}});
        return false;
    }
    MapReader reader{node, path, errors};
    read_rows(reader, map, object);
    reader.finish();
    return true;
}

bool read_real(MapReader& reader, const KeyMap& map, std::string_view name, double& value) {
    const Key& row = row_of(map, name);
    return reader.real(name, value, row.reals.least, row.reals.most);
}

bool read_part(MapReader& reader, const Key& row, void* object) {
    const DocumentNode* node = reader.find(row.name, row.presence());
    return node != nullptr &&
           read_map(*node, reader.full_name(row.name), *row.inner, object, reader.errors());
}

const Key& row_of(const KeyMap& map, std::string_view name) {
    const auto found = std::ranges::find(map.keys, name, &Key::name);
    ORRERY_CHECK(found != map.keys.end());
    return *found;
}

namespace {

std::string range_text(const Key& key) {
    const auto& [least, most] = key.integers;
    const std::string numbers = most >= std::int64_t{1} << 62
                                    ? fmt::format("{} or more", least)
                                    : fmt::format("{} to {}", least, most);
    return key.shape == KeyShape::real
               ? number_text(key.reals.least) + " to " + number_text(key.reals.most)
               : numbers;
}

std::string one_value_text(const Key& key) {
    switch (key.shape) {
        case KeyShape::boolean:
            return "true, false";
        case KeyShape::integer:
        case KeyShape::real:
            return range_text(key) + (key.unit.empty() ? "" : " " + std::string{key.unit});
        case KeyShape::word:
            return "a name";
        case KeyShape::choice:
            return fmt::format("{}", fmt::join(key.words(true), ", "));
        case KeyShape::path:
            return "a path";
        case KeyShape::bandwidth:
            return "a bandwidth, like 200 Gbps";
        case KeyShape::bytes:
            return "a size, like 80 GiB";
        case KeyShape::time:
            return "a time, like 2 us";
        case KeyShape::flop_rate:
            return "a rate, like 312 TFLOPS";
        case KeyShape::wall_time:
            return "a span of time, like 10 min" +
                   (key.words == nullptr
                        ? std::string{}
                        : fmt::format(", or {}", fmt::join(key.words(true), ", ")));
        case KeyShape::distribution:
            return "a span of time, {mean: 5 d}, {median: 5 d, sigma: 1.9} or "
                   "{mean: 5 d, shape: 0.5}";
        case KeyShape::map:
            return key.words == nullptr
                       ? "a map"
                       : fmt::format("a map, or {}", fmt::join(key.words(true), ", "));
        case KeyShape::map_list:
            return "a list of maps";
        case KeyShape::map_or_list:
            return "a map, or a list of maps";
        case KeyShape::entry:
            return fmt::format("a name of the catalogue's {}, or a map", key.catalogue);
        case KeyShape::ladder:
            return "a list of names, or of maps of one name";
        case KeyShape::device_real:
            return "a number, or a map of device names to numbers";
        case KeyShape::nodes:
            return "a list of numbers and ranges of nodes, like [0-3, 6]";
        case KeyShape::any_list:
            return "a list of maps of a scenario's keys";
        case KeyShape::any:
            return "a map of a scenario's keys";
    }
    return {};
}

template <class Quantity>
bool read_quantity(MapReader& reader, const Key& key, Quantity& value) {
    Quantity read{};
    if (!reader.quantity(key.name, read, key.presence())) {
        return false;
    }
    if (key.positive && read == Quantity{}) {
        reader.complain(key.name,
                        reader.full_name(key.name) + " must not be zero",
                        key.example.empty() ? one_value_text(key) : std::string{key.example});
        return false;
    }
    value = read;
    return true;
}

}  // namespace

std::string values_text(const Key& key) {
    return one_value_text(key) + (key.listed ? ", or a list of them" : "");
}

namespace key_detail {

bool read_value(MapReader& reader, const Key& key, bool& value) {
    return reader.boolean(key.name, value);
}

bool read_value(MapReader& reader, const Key& key, std::int64_t& value) {
    return reader.integer(key.name, value, key.integers, key.presence());
}

bool read_value(MapReader& reader, const Key& key, std::vector<std::int64_t>& values) {
    const DocumentNode* node = reader.find(key.name);
    std::int64_t one = 0;
    if (node == nullptr || !node->is_scalar()) {
        return reader.integers(key.name, values, key.integers);
    }
    const bool good = reader.integer(key.name, one, key.integers);
    values = good ? std::vector{one} : values;
    return good;
}

bool read_value(MapReader& reader, const Key& key, double& value) {
    reader.find(key.name, key.presence());
    return reader.real(key.name, value, key.reals.least, key.reals.most);
}

bool read_value(MapReader& reader, const Key& key, std::string& value) {
    return reader.word(key.name, value, key.presence());
}

bool read_value(MapReader& reader, const Key& key, Bandwidth& value) {
    return read_quantity(reader, key, value);
}

bool read_value(MapReader& reader, const Key& key, Bytes& value) {
    Bytes size;
    if (!read_quantity(reader, key, size)) {
        return false;
    }
    if (key.reals.most > 0 &&
        (size.count() < key.integers.least || size.count() > key.integers.most)) {
        reader.complain(key.name,
                        fmt::format("{} is out of range", reader.full_name(key.name)),
                        fmt::format("{} B to {} B", key.integers.least, key.integers.most));
        return false;
    }
    value = size;
    return true;
}

bool read_value(MapReader& reader, const Key& key, Time& value) {
    return read_quantity(reader, key, value);
}

bool read_value(MapReader& reader, const Key& key, FlopRate& value) {
    return read_quantity(reader, key, value);
}

bool read_value(MapReader& reader, const Key& key, WallTime& value) {
    const WallTime least = WallTime::microseconds(key.integers.least);
    return read_wall_time(reader, key.name, value, least, key.presence());
}

bool read_value(MapReader& reader, const Key& key, Distribution& value) {
    return read_distribution(reader, key.name, value, reader.errors());
}

std::string text_of(FlopRate value) {
    return fmt::format("{} TFLOPS", value.per_second() * 1e-12);
}

std::string text_of(const Distribution& value) {
    return value.kind == DistributionKind::fixed ? to_text(value.scale) : "";
}

}  // namespace key_detail
}  // namespace orrery
