// SPDX-License-Identifier: Apache-2.0
// Files of the safetensors format: 8 bytes with the length of a JSON header
// (runtime/state/safetensors_header.h), the header, then the tensors' bytes, all little-endian and
// row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "runtime/data/mapped_file.h"
#include "runtime/state/file_system.h"
#include "runtime/state/safetensors_header.h"

namespace orrery {

// A mapped file with a consistent header. Cheap to copy.
class Safetensors {
public:
    // Error::where is the path.
    static Result<Safetensors> open(const std::filesystem::path& path);

    const std::filesystem::path& path() const { return path_; }
    const std::vector<StoredTensor>& tensors() const { return header_->tensors; }
    const std::map<std::string, std::string>& metadata() const { return header_->metadata; }
    // Null if there is no such tensor.
    const StoredTensor* find(std::string_view name) const;

    std::span<const std::byte> bytes(const StoredTensor& tensor) const;
    // The whole file.
    std::span<const std::byte> file_bytes() const { return file_->bytes(); }
    // A tensor of type F32, BF16 or F16 in fp32.
    Result<std::vector<float>> floats(const StoredTensor& tensor) const;

private:
    std::filesystem::path path_;
    std::shared_ptr<const MappedFile> file_;
    std::shared_ptr<const SafetensorsHeader> header_;
    std::map<std::string_view, const StoredTensor*> by_name_;
    std::size_t data_ = 0;  // offset of the tensors' bytes
};

struct TensorToStore {
    std::string name;
    std::string type;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;
};

// The length and the header of a file with these tensors in this order.
std::string safetensors_begin(const std::vector<TensorToStore>& tensors,
                              const std::map<std::string, std::string>& metadata);
Result<void> write_safetensors(FileSystem& files,
                               const std::filesystem::path& path,
                               const std::vector<TensorToStore>& tensors,
                               const std::map<std::string, std::string>& metadata = {});

// Elements as F32, BF16 or F16, rounded to nearest, ties to even.
std::vector<std::byte> stored_floats(std::span<const float> values, std::string_view type);

float float_of_fp16(std::uint16_t bits);
std::uint16_t fp16_of_float(float value);

}  // namespace orrery
