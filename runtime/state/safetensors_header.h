// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file: for every tensor its element type, its shape and the range
// of its bytes after the header, and a map of strings "__metadata__". Format:
// https://huggingface.co/docs/safetensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct StoredTensor {
    std::string name;
    std::string type;  // "F32", "BF16", …
    std::vector<std::int64_t> shape;
    std::int64_t begin = 0;  // byte range, relative to the end of the header
    std::int64_t end = 0;
    std::int64_t elements() const;  // only with a checked header
    bool operator==(const StoredTensor&) const = default;
};

struct SafetensorsHeader {
    std::map<std::string, std::string> metadata;
    std::vector<StoredTensor> tensors;  // ascending by `begin`
};

// Bytes of an element; 0 for an unknown type.
std::int64_t bytes_of_type(std::string_view type);

// Checks that every range fits its shape, and that all ranges together cover `data_bytes` without
// gap or overlap. Error::where is empty.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, std::int64_t data_bytes);
std::string safetensors_header_text(const SafetensorsHeader& header);

}  // namespace orrery
