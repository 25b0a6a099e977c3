// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/provenance/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/base/input_file.h"

namespace orrery {
namespace fs = std::filesystem;
namespace {

// Files of the catalogue without published measurements, which change no simulation.
std::vector<fs::path> catalogue_files(const fs::path& root) {
    std::vector<fs::path> files;
    std::error_code error;
    for (auto entry = fs::recursive_directory_iterator{root, error};
         !error && entry != fs::recursive_directory_iterator{};
         entry.increment(error)) {
        if (entry->is_directory(error) && entry->path().filename() == "published") {
            entry.disable_recursion_pending();
        } else if (entry->is_regular_file(error)) {
            files.push_back(entry->path());
        }
    }
    std::ranges::sort(files);
    return files;
}

}  // namespace

void Fingerprint::byte(unsigned char value) {
    // The prime is 2^88 + 2^8 + 0x3b.
    hash_ ^= value;
    hash_ = (hash_ << 88U) + hash_ * 0x13bU;
}

void Fingerprint::add(std::string_view part) {
    for (const char c : part) {
        byte(static_cast<unsigned char>(c));
    }
    for (std::uint64_t size = part.size(), i = 0; i < sizeof size; ++i) {
        byte(static_cast<unsigned char>(size >> (8 * i)));
    }
}

void Fingerprint::add_file(const fs::path& path) {
    add(read_input(path).value_or(std::string{}));
}

std::string Fingerprint::hexadecimal() const {
    return fmt::format("{:016x}{:016x}",
                       static_cast<std::uint64_t>(hash_ >> 64U),
                       static_cast<std::uint64_t>(hash_));
}

std::string file_fingerprint(const fs::path& file) {
    Fingerprint fingerprint;
    std::error_code error;
    std::vector<fs::path> files;
    for (auto entry = fs::directory_iterator{file, error};
         !error && entry != fs::directory_iterator{};
         entry.increment(error)) {
        if (entry->is_regular_file(error)) {
            files.push_back(entry->path());
        }
    }
    std::ranges::sort(files);
    for (const fs::path& inner : files) {
        fingerprint.add(inner.filename().string());
        fingerprint.add_file(inner);
    }
    if (files.empty()) {
        fingerprint.add_file(file);
    }
    return fingerprint.hexadecimal();
}

std::string catalogue_fingerprint(const fs::path& catalogue) {
    Fingerprint fingerprint;
    for (const fs::path& file : catalogue_files(catalogue)) {
        fingerprint.add(file.lexically_relative(catalogue).string());
        fingerprint.add_file(file);
    }
    return fingerprint.hexadecimal();
}

}  // namespace orrery
