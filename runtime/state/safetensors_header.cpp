// SPDX-License-Identifier: Apache-2.0
// The only user of nlohmann-json in this room.
#include "runtime/state/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace orrery {
namespace {

using Json = nlohmann::json;

constexpr const char* kMetadata = "__metadata__";

struct ElementType {
    std::string_view name;
    std::int64_t bytes;
};
constexpr ElementType kTypes[] = {{"F64", 8},
                                  {"F32", 4},
                                  {"F16", 2},
                                  {"BF16", 2},
                                  {"F8_E4M3", 1},
                                  {"F8_E5M2", 1},
                                  {"I64", 8},
                                  {"U64", 8},
                                  {"I32", 4},
                                  {"U32", 4},
                                  {"I16", 2},
                                  {"U16", 2},
                                  {"I8", 1},
                                  {"U8", 1},
                                  {"BOOL", 1}};

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Parses, and rejects input that the library accepts: duplicate keys, and deeper nesting than any
// header has.
Result<Json> parse(std::string_view text) {
    std::vector<std::set<std::string>> keys;  // keys of the open objects
    std::string wrong;
    const auto look = [&](int depth, Json::parse_event_t event, Json& value) {
        if (depth > 3 && wrong.empty()) {
            wrong = "the header is nested too deeply";
        }
        if (event == Json::parse_event_t::object_start) {
            keys.emplace_back();
        } else if (event == Json::parse_event_t::object_end && !keys.empty()) {
            keys.pop_back();
        } else if (event == Json::parse_event_t::key && !keys.empty() && wrong.empty() &&
                   !keys.back().insert(value.get<std::string>()).second) {
            wrong = fmt::format("the name '{}' occurs twice", value.get<std::string>());
        }
        return wrong.empty();
    };
    Json json = Json::parse(text.begin(), text.end(), look, false);
    if (!wrong.empty()) {
        return fail("", std::move(wrong));
    }
    if (json.is_discarded() || !json.is_object()) {
        return fail("", "the header is not a JSON object");
    }
    return json;
}

// A list of integers >= 0.
bool read_integers(const Json& tensor, const char* key, std::vector<std::int64_t>& into) {
    const auto list = tensor.find(key);
    if (list == tensor.end() || !list->is_array()) {
        return false;
    }
    for (const Json& item : *list) {
        if (!item.is_number_unsigned() ||
            item.get<std::uint64_t>() > static_cast<std::uint64_t>(kMost)) {
            return false;
        }
        into.push_back(item.get<std::int64_t>());
    }
    return true;
}

// Bytes of the elements, or -1 on overflow.
std::int64_t bytes_of(const std::vector<std::int64_t>& shape, std::int64_t element) {
    std::int64_t bytes = element;
    if (std::ranges::find(shape, 0) != shape.end()) {
        return 0;
    }
    for (const std::int64_t extent : shape) {
        if (bytes > kMost / extent) {
            return -1;
        }
        bytes *= extent;
    }
    return bytes;
}

Result<StoredTensor> read_tensor(const std::string& name, const Json& json) {
    const auto wrong = [&](const std::string& what) {
        return fail("", fmt::format("tensor '{}' {}", name, what));
    };
    StoredTensor tensor{.name = name, .type = {}, .shape = {}};
    const auto type = json.is_object() ? json.find("dtype") : json.end();
    if (!json.is_object() || type == json.end() || !type->is_string()) {
        return wrong("has no dtype");
    }
    tensor.type = type->get<std::string>();
    const std::int64_t element = bytes_of_type(tensor.type);
    if (element == 0) {
        return wrong(fmt::format("has the unknown dtype '{}'", tensor.type));
    }
    std::vector<std::int64_t> range;
    if (!read_integers(json, "shape", tensor.shape)) {
        return wrong("has no shape");
    }
    if (!read_integers(json, "data_offsets", range) || range.size() != 2 || range[0] > range[1]) {
        return wrong("has no data_offsets");
    }
    tensor.begin = range[0];
    tensor.end = range[1];
    const std::int64_t bytes = bytes_of(tensor.shape, element);
    if (bytes != tensor.end - tensor.begin) {
        return wrong(
            fmt::format("has {} bytes, which its shape does not fill", tensor.end - tensor.begin));
    }
    return tensor;
}

// The error if the ranges are not consecutive, or empty.
std::string wrong_ranges(const std::vector<StoredTensor>& tensors, std::int64_t data_bytes) {
    std::int64_t end = 0;
    for (const StoredTensor& tensor : tensors) {
        if (tensor.end > data_bytes) {
            return fmt::format("tensor '{}' reaches over the end of the file", tensor.name);
        }
        if (tensor.begin != end) {
            return fmt::format("tensor '{}' {}",
                               tensor.name,
                               tensor.begin < end ? "overlaps another" : "follows a gap");
        }
        end = tensor.end;
    }
    return end == data_bytes ? "" : "the file is longer than its tensors";
}

}  // namespace

std::int64_t StoredTensor::elements() const {
    return (end - begin) / bytes_of_type(type);
}

std::int64_t bytes_of_type(std::string_view type) {
    const auto* found = std::ranges::find(kTypes, type, &ElementType::name);
    return found == std::end(kTypes) ? 0 : found->bytes;
}

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, std::int64_t data_bytes) {
    const Result<Json> root = parse(json);
    if (!root) {
        return unexpected<Error>(root.error());
    }
    SafetensorsHeader header;
    for (const auto& [name, value] : root->items()) {
        if (name != kMetadata) {
            Result<StoredTensor> tensor = read_tensor(name, value);
            if (!tensor) {
                return unexpected<Error>(std::move(tensor.error()));
            }
            header.tensors.push_back(std::move(*tensor));
            continue;
        }
        for (const auto& [key, text] : value.items()) {
            if (!value.is_object() || !text.is_string()) {
                return fail("", "the metadata are not a map of strings");
            }
            header.metadata[key] = text.get<std::string>();
        }
    }
    std::ranges::sort(header.tensors, [](const StoredTensor& a, const StoredTensor& b) {
        return std::pair{a.begin, a.end} < std::pair{b.begin, b.end};
    });
    if (std::string wrong = wrong_ranges(header.tensors, data_bytes); !wrong.empty()) {
        return fail("", std::move(wrong));
    }
    return header;
}

std::string safetensors_header_text(const SafetensorsHeader& header) {
    Json root = Json::object();
    if (!header.metadata.empty()) {
        root[kMetadata] = header.metadata;
    }
    for (const StoredTensor& tensor : header.tensors) {
        root[tensor.name] = {{"dtype", tensor.type},
                             {"shape", tensor.shape},
                             {"data_offsets", {tensor.begin, tensor.end}}};
    }
    return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace orrery
