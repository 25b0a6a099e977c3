// SPDX-License-Identifier: Apache-2.0
// Checks JSON against the part of JSON Schema (2020-12) that docs/schema uses: type, enum, minimum,
// maximum, required, properties, additionalProperties and items. Any other keyword is a mistake.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace orrery {

class SchemaCheck {
public:
    using Json = nlohmann::json;

    std::vector<std::string> mistakes;

    void check(const Json& value, const Json& schema, const std::string& at) {
        for (const auto& [keyword, unused] : schema.items()) {
            static const std::vector<std::string> kKnown{"$schema",
                                                         "title",
                                                         "description",
                                                         "type",
                                                         "enum",
                                                         "minimum",
                                                         "maximum",
                                                         "required",
                                                         "properties",
                                                         "additionalProperties",
                                                         "items"};
            if (std::find(kKnown.begin(), kKnown.end(), keyword) == kKnown.end()) {
                complain(at, "the schema has the keyword " + keyword);
            }
        }
        if (!is_type(value, schema.value("type", ""))) {
            complain(at, "is no " + schema.value("type", ""));
            return;
        }
        if (schema.contains("enum") &&
            std::find(schema["enum"].begin(), schema["enum"].end(), value) ==
                schema["enum"].end()) {
            complain(at, "is none of the words");
        }
        if ((schema.contains("minimum") && value < schema["minimum"]) ||
            (schema.contains("maximum") && value > schema["maximum"])) {
            complain(at, "is out of range: " + value.dump());
        }
        if (value.is_object()) {
            check_object(value, schema, at);
        }
        for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
            check(value[i], schema.at("items"), at + "/" + std::to_string(i));
        }
    }

private:
    void complain(const std::string& at, const std::string& what) {
        mistakes.push_back(at + " " + what);
    }
    static bool is_type(const Json& value, const std::string& type) {
        return type == "object"    ? value.is_object()
               : type == "array"   ? value.is_array()
               : type == "string"  ? value.is_string()
               : type == "boolean" ? value.is_boolean()
               : type == "integer" ? value.is_number_integer()
                                   : type == "number" && value.is_number();
    }
    void check_object(const Json& value, const Json& schema, const std::string& at) {
        for (const Json& name : schema.value("required", Json::array())) {
            if (!value.contains(name.get<std::string>())) {
                complain(at, "lacks " + name.get<std::string>());
            }
        }
        const Json properties = schema.value("properties", Json::object());
        for (const auto& [name, item] : value.items()) {
            if (properties.contains(name)) {
                check(item, properties[name], at + "/" + name);
            } else if (schema.contains("additionalProperties") &&
                       schema["additionalProperties"] == Json(false)) {
                complain(at, "has " + name);
            } else if (schema.contains("additionalProperties") &&
                       schema["additionalProperties"].is_object()) {
                check(item, schema["additionalProperties"], at + "/" + name);
            }
        }
    }
};

}  // namespace orrery
