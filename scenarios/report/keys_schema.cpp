// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/format/document/unit_names.h"
#include "scenarios/format/read/read_distribution.h"
#include "scenarios/format/read/read_stack.h"
#include "scenarios/format/read/scenario_keys.h"
#include "scenarios/report/keys_report.h"
#include "scenarios/report/render/json_text.h"

namespace orrery {
namespace {

using OrderedJson = nlohmann::ordered_json;

// A word in YAML may also look like a number or a boolean.
const OrderedJson kWord{{"type", {"string", "number", "boolean"}}};
const OrderedJson kNumberOrText{{"type", {"string", "number"}}};

std::vector<std::string_view> quantity_units(KeyShape shape) {
    return shape == KeyShape::bandwidth ? bandwidth_units()
           : shape == KeyShape::bytes   ? bytes_units()
           : shape == KeyShape::time    ? time_units()
                                        : flop_rate_units();
}

std::string quantity_pattern(const std::vector<std::string_view>& units) {
    return fmt::format("^ *([0-9]+\\.?[0-9]*|\\.[0-9]+) *({}) *$", fmt::join(units, "|"));
}

const std::string& wall_time_pattern() {
    static const std::string pattern = [] {
        std::string units;
        for (const std::string_view unit : wall_time_units()) {
            units += fmt::format("( *[0-9]*\\.?[0-9]+\\.? *{})?", unit);
        }
        return "^(?=.*[0-9])" + units + " *$";
    }();
    return pattern;
}

class SchemaMaker {
public:
    explicit SchemaMaker(const Catalogue& catalogue) : catalogue_(catalogue) {}

    OrderedJson of_file(const FileKind& kind) {
        OrderedJson schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                           {"title", fmt::format("Orrery: {}", kind.what)}};
        OrderedJson map = map_schema(*kind.keys);
        const bool of_catalogue = !kind.catalogue.empty();
        if (kind.word == "stack") {
            map = by_condition(std::move(map));
        }
        if (kind.word == "fabric") {
            map["properties"]["kind"]["description"] = "Topology; it says that this is a fabric.";
        } else {
            map["properties"]["kind"] = {{"const", kind.word},
                                         {"description", "Kind of the file."}};
        }
        if (of_catalogue) {
            map = with_base(std::move(map), kind.catalogue);
        }
        schema.update(map);
        schema["$defs"] = definitions_;
        return schema;
    }

private:
    static OrderedJson reference(const KeyMap& map) {
        return {{"$ref", fmt::format("#/$defs/{}", map.name)}};
    }

    // A stack gives only some keys, and its values may depend on a precision or a generation.
    static OrderedJson by_condition(OrderedJson map) {
        map.erase("required");
        for (auto& value : map["properties"]) {
            OrderedJson description = std::move(value["description"]);
            value.erase("description");
            OrderedJson cases{{"type", "object"},
                              {"propertyNames", {{"enum", stack_selectors()}}},
                              {"additionalProperties", value}};
            value = {{"anyOf", {value, std::move(cases)}}, {"description", std::move(description)}};
        }
        return map;
    }

    // The map's own keys. Maps inside it become definitions.
    OrderedJson map_schema(const KeyMap& map) {
        OrderedJson properties = OrderedJson::object();
        OrderedJson required = OrderedJson::array();
        for (const ScenarioKey& key : keys_of(map, "")) {
            if (key.use == FieldUse::derived) {
                continue;
            }
            OrderedJson value = listed(key, value_schema(key));
            value["description"] = description(key);
            properties[key.key] = std::move(value);
            if (key.use == FieldUse::required) {
                required.push_back(key.key);
            }
        }
        OrderedJson schema{
            {"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
        if (!required.empty()) {
            schema["required"] = required;
        }
        return schema;
    }

    void define(const KeyMap& map) {
        const std::string name{map.name};
        if (!definitions_.contains(name)) {
            definitions_[name] = nullptr;
            OrderedJson schema = map_schema(map);
            definitions_[name] = std::move(schema);
        }
    }

    static std::string description(const ScenarioKey& key) {
        const bool optional = key.use == FieldUse::optional;
        return key.meaning + (optional ? fmt::format(" Default: {}.", key.default_value) : "");
    }

    static OrderedJson listed(const ScenarioKey& key, OrderedJson value) {
        if (!key.listed) {
            return value;
        }
        OrderedJson list{{"type", "array"}, {"items", value}};
        return {{"anyOf", {std::move(value), std::move(list)}}};
    }

    // A map based on a catalogue entry need not have its required keys.
    OrderedJson with_base(OrderedJson map, std::string_view section) const {
        map["properties"]["base"] = entry_name(section);
        if (map.contains("required")) {
            OrderedJson complete{{"required", map["required"]}};
            map.erase("required");
            map["anyOf"] = {{{"required", {"base"}}}, std::move(complete)};
        }
        return map;
    }

    OrderedJson entry_name(std::string_view section) const {
        return {{"anyOf", {{{"enum", catalogue_.names(section)}}, {{"type", "string"}}}},
                {"description", "A name of the catalogue."}};
    }

    OrderedJson value_schema(const ScenarioKey& key);
    OrderedJson entry_schema(const ScenarioKey& key);
    OrderedJson ladder_schema(const KeyMap& policies);

    const Catalogue& catalogue_;
    OrderedJson definitions_ = OrderedJson::object();
};

OrderedJson number_schema(const ScenarioKey& key) {
    if (key.shape == KeyShape::real) {
        return {{"type", "number"}, {"minimum", key.reals.least}, {"maximum", key.reals.most}};
    }
    return {{"type", "integer"}, {"minimum", key.integers.least}, {"maximum", key.integers.most}};
}

OrderedJson text_schema(const std::string& pattern) {
    return {{"type", "string"}, {"pattern", pattern}};
}

OrderedJson words_schema(const std::vector<std::string>& words) {
    if (words == std::vector<std::string>{"true", "false"}) {
        return {{"type", "boolean"}};
    }
    return {{"enum", words}};
}

OrderedJson SchemaMaker::entry_schema(const ScenarioKey& key) {
    const std::string name = fmt::format("{}_or_base", key.inner->name);
    if (!definitions_.contains(name)) {
        definitions_[name] = nullptr;
        OrderedJson map = with_base(map_schema(*key.inner), key.catalogue);
        // Files from which the required keys may come.
        for (const char* file : {"nccl_topology", "hf_config"}) {
            if (map.contains("anyOf") && map["properties"].contains(file)) {
                map["anyOf"].push_back({{"required", {file}}});
            }
        }
        for (const FileKind& kind : file_kinds()) {
            if (kind.catalogue == key.catalogue && kind.word != "fabric") {
                map["properties"]["kind"] = {{"const", kind.word}};
            }
        }
        definitions_[name] = std::move(map);
    }
    return {{"anyOf", {entry_name(key.catalogue), {{"$ref", "#/$defs/" + name}}}}};
}

OrderedJson SchemaMaker::ladder_schema(const KeyMap& policies) {
    OrderedJson words =
        json_list<OrderedJson>(policies.keys, [&](const Key& policy) { return policy.name; });
    define(policies);
    OrderedJson map = {
        {"allOf", {reference(policies), {{"minProperties", 1}, {"maxProperties", 1}}}}};
    OrderedJson item{{"anyOf", {{{"enum", words}}, std::move(map)}}};
    return {{"type", "array"}, {"items", std::move(item)}};
}

OrderedJson distribution_schema() {
    const OrderedJson time = text_schema(wall_time_pattern());
    const auto number = [](double least, double most) {
        return OrderedJson{{"type", "number"}, {"minimum", least}, {"maximum", most}};
    };
    OrderedJson map{
        {"type", "object"},
        {"properties",
         {{"mean", time},
          {"median", time},
          {"sigma", number(kSigmas.least, kSigmas.most)},
          {"shape", number(kWeibullShapes.least, kWeibullShapes.most)}}},
        {"additionalProperties", false}};
    return {{"anyOf", {time, std::move(map)}}};
}

OrderedJson SchemaMaker::value_schema(const ScenarioKey& key) {
    switch (key.shape) {
        case KeyShape::boolean:
            return {{"type", "boolean"}};
        case KeyShape::integer:
        case KeyShape::real:
            return number_schema(key);
        case KeyShape::word:
        case KeyShape::path:
            return kWord;
        case KeyShape::choice:
            return words_schema(key.words);
        case KeyShape::bandwidth:
        case KeyShape::bytes:
        case KeyShape::time:
        case KeyShape::flop_rate:
            return text_schema(quantity_pattern(quantity_units(key.shape)));
        case KeyShape::wall_time: {
            OrderedJson time = text_schema(wall_time_pattern());
            return key.words.empty() ? time : OrderedJson{{"anyOf", {{{"enum", key.words}}, time}}};
        }
        case KeyShape::distribution:
            return distribution_schema();
        case KeyShape::map:
            define(*key.inner);
            return key.words.empty()
                       ? reference(*key.inner)
                       : OrderedJson{{"anyOf", {{{"enum", key.words}}, reference(*key.inner)}}};
        case KeyShape::map_list:
            define(*key.inner);
            return {{"type", "array"}, {"items", reference(*key.inner)}};
        case KeyShape::map_or_list:
            define(*key.inner);
            return {
                {"anyOf",
                 {reference(*key.inner), {{"type", "array"}, {"items", reference(*key.inner)}}}}};
        case KeyShape::entry:
            return entry_schema(key);
        case KeyShape::ladder:
            return ladder_schema(*key.inner);
        case KeyShape::device_real:
            return {{"anyOf",
                     {{{"type", "number"}, {"minimum", 0}},
                      {{"type", "object"},
                       {"additionalProperties", {{"type", "number"}, {"minimum", 0}}}}}}};
        case KeyShape::nodes:
            return {{"anyOf", {kNumberOrText, {{"type", "array"}, {"items", kNumberOrText}}}}};
        case KeyShape::any_list:
            return {{"type", "array"}, {"items", {{"type", "object"}}}};
        case KeyShape::any:
            return {{"type", "object"}};
    }
    return {};
}

}  // namespace

std::string keys_schema(const FileKind& kind, const Catalogue& catalogue) {
    return json_text(SchemaMaker{catalogue}.of_file(kind));
}

}  // namespace orrery
