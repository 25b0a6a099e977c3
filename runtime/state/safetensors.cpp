// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/safetensors.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "engine/base/check.h"
#include "kernels/tensor_view.h"

namespace orrery {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kHeaderBytesMax = 100'000'000;  // limit of the format

// An element from bytes that need not be aligned.
template <class T>
T element(std::span<const std::byte> bytes, std::size_t i) {
    T value{};
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
}

template <class T, class Convert>
void append(std::vector<std::byte>& to, std::span<const float> values, Convert convert) {
    to.resize(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const T bits = convert(values[i]);
        std::memcpy(to.data() + i * sizeof(T), &bits, sizeof(T));
    }
}

}  // namespace

// IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits.
float float_of_fp16(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000U) << 16;
    const std::uint32_t exponent = bits >> 10 & 0x1FU;
    const std::uint32_t fraction = bits & 0x3FFU;
    if (exponent == 0) {
        const float value = static_cast<float>(fraction) * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    const std::uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + (127 - 15);
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

std::uint16_t fp16_of_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
    const float size = std::fabs(value);
    if (std::isnan(value)) {
        return static_cast<std::uint16_t>(sign | 0x7E00U);
    }
    if (size >= 65520.0f) {  // halfway between the largest number and the next power of two
        return static_cast<std::uint16_t>(sign | 0x7C00U);
    }
    if (size < 0x1p-14f) {  // subnormal: a multiple of 2^-24, rounded to even by nearbyint
        return static_cast<std::uint16_t>(
            sign | static_cast<std::uint16_t>(std::nearbyint(size * 0x1p24f)));
    }
    const std::uint32_t magnitude = (bits & 0x7FFFFFFFU) - (112U << 23);
    const std::uint32_t rounded = magnitude + 0xFFFU + (magnitude >> 13 & 1U);
    return static_cast<std::uint16_t>(sign | rounded >> 13);
}

Result<Safetensors> Safetensors::open(const std::filesystem::path& path) {
    auto file = MappedFile::open(path);
    if (!file) {
        return unexpected<Error>(std::move(file.error()));
    }
    const std::span<const std::byte> bytes = (*file)->bytes();
    const auto wrong = [&](const std::string& what) {
        return fail(path.string(), "is not a good safetensors file: " + what);
    };
    if (bytes.size() < kLengthBytes) {
        return wrong("it is too short");
    }
    const auto length = element<std::uint64_t>(bytes, 0);
    if (length > kHeaderBytesMax) {
        return wrong("its header is too long");
    }
    if (length > bytes.size() - kLengthBytes) {
        return wrong("it is cut short");
    }
    Safetensors result;
    result.path_ = path;
    result.file_ = *file;
    result.data_ = kLengthBytes + static_cast<std::size_t>(length);
    const std::string_view json{reinterpret_cast<const char*>(bytes.data()) + kLengthBytes,
                                static_cast<std::size_t>(length)};
    auto header =
        parse_safetensors_header(json, static_cast<std::int64_t>(bytes.size() - result.data_));
    if (!header) {
        return wrong(header.error().what);
    }
    result.header_ = std::make_shared<const SafetensorsHeader>(std::move(*header));
    for (const StoredTensor& tensor : result.header_->tensors) {
        result.by_name_[tensor.name] = &tensor;
    }
    return result;
}

const StoredTensor* Safetensors::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
}

std::span<const std::byte> Safetensors::bytes(const StoredTensor& tensor) const {
    return file_->bytes().subspan(data_ + static_cast<std::size_t>(tensor.begin),
                                  static_cast<std::size_t>(tensor.end - tensor.begin));
}

Result<std::vector<float>> Safetensors::floats(const StoredTensor& tensor) const {
    const std::span<const std::byte> from = bytes(tensor);
    std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
    if (tensor.type == "F32") {
        if (!values.empty()) {
            std::memcpy(values.data(), from.data(), from.size());
        }
    } else if (tensor.type == "BF16") {
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = float_of_bf16(element<std::uint16_t>(from, i));
        }
    } else if (tensor.type == "F16") {
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = float_of_fp16(element<std::uint16_t>(from, i));
        }
    } else {
        return fail(path_.string(),
                    fmt::format("tensor '{}' is of type {}", tensor.name, tensor.type),
                    "weights are F32, BF16 or F16");
    }
    return values;
}

std::string safetensors_begin(const std::vector<TensorToStore>& tensors,
                              const std::map<std::string, std::string>& metadata) {
    SafetensorsHeader header;
    header.metadata = metadata;
    std::set<std::string_view> names;
    std::int64_t end = 0;
    for (const TensorToStore& tensor : tensors) {
        ORRERY_CHECK(names.insert(tensor.name).second);
        const std::int64_t begin = end;
        end += static_cast<std::int64_t>(tensor.bytes.size());
        header.tensors.push_back({tensor.name, tensor.type, tensor.shape, begin, end});
    }
    std::string json = safetensors_header_text(header);
    json.resize((json.size() + 7) / 8 * 8, ' ');  // aligns the tensors
    const std::uint64_t length = json.size();
    std::string text(kLengthBytes, '\0');
    std::memcpy(text.data(), &length, kLengthBytes);
    return text + json;
}

Result<void> write_safetensors(FileSystem& files,
                               const std::filesystem::path& path,
                               const std::vector<TensorToStore>& tensors,
                               const std::map<std::string, std::string>& metadata) {
    const std::string begin = safetensors_begin(tensors, metadata);
    FileSystem::Pieces pieces{std::as_bytes(std::span{begin})};
    for (const TensorToStore& tensor : tensors) {
        pieces.push_back(tensor.bytes);
    }
    return files.write_file(path, pieces);
}

std::vector<std::byte> stored_floats(std::span<const float> values, std::string_view type) {
    std::vector<std::byte> bytes;
    if (type == "F32") {
        append<float>(bytes, values, [](float value) { return value; });
    } else if (type == "BF16") {
        append<std::uint16_t>(bytes, values, bf16_of_float);
    } else {
        ORRERY_CHECK(type == "F16");
        append<std::uint16_t>(bytes, values, fp16_of_float);
    }
    return bytes;
}

}  // namespace orrery
