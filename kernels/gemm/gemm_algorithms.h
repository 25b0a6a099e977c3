// SPDX-License-Identifier: Apache-2.0
// The fastest algorithm for each product, in a file. A later run on the same device with the same
// library uses the same algorithms, and so gets the same bits, without measuring again.
//
// The file is text:
//   1. "orrery gemm algorithms 1"
//   2. "device <name>", "cublaslt <version>": where it was measured
//   3. a line for each product: its key (kernels/gemm/gemm_layout.h), the median time in
//   nanoseconds,
//      the library's 64-byte description of the algorithm as 128 hexadecimal digits; or another
//      choice made on the device: its key, which names the version of Orrery's own kernels, a
//      number and zeros
// A file of another device or version is ignored and replaced.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "engine/base/result.h"

namespace orrery {

struct GemmAlgorithm {
    std::array<std::uint64_t, 8> description{};
    std::int64_t nanoseconds = 0;
    bool operator==(const GemmAlgorithm&) const = default;
};

class GemmAlgorithms {
public:
    GemmAlgorithms(std::string device, std::string version)
        : device_(std::move(device)), version_(std::move(version)) {}

    std::optional<GemmAlgorithm> find(const std::string& key) const;
    void set(const std::string& key, const GemmAlgorithm& algorithm);
    std::size_t size() const { return algorithms_.size(); }

    // Loads the entries of a file for this device and version. A missing file, or one for another
    // device or version, has none. A damaged file is an error.
    Result<void> load(const std::filesystem::path& file);
    // Writes the file atomically.
    Result<void> save(const std::filesystem::path& file) const;

private:
    std::string device_;
    std::string version_;
    std::map<std::string, GemmAlgorithm> algorithms_;
};

}  // namespace orrery
