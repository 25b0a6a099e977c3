// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sweep/point_identity.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/input_file.h"
#include "scenarios/read/document_node.h"
#include "scenarios/read/yaml_document.h"
#include "scenarios/version.h"

namespace orrery {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t kNamedFileBytesMax = std::uintmax_t{64} << 20U;

void add_named_file(const std::string& text, const fs::path& folder, Fingerprint& fingerprint) {
    std::error_code error;
    const fs::path path = folder / text;
    if (!text.empty() && fs::is_regular_file(path, error) &&
        fs::file_size(path, error) <= kNamedFileBytesMax && !error) {
        fingerprint.add_file(path);
    }
}

void add_named_files(const DocumentNode& node, const fs::path& folder, Fingerprint& fingerprint) {
    if (node.is_scalar()) {
        add_named_file(node.text, folder, fingerprint);
    }
    for (const DocumentNode& item : node.items) {
        add_named_files(item, folder, fingerprint);
    }
}

// What published measurements say changes no simulation.
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

std::string scenario_fingerprint(const fs::path& scenario, const fs::path& catalogue) {
    Fingerprint fingerprint;
    fingerprint.add(kVersion);
    for (const fs::path& file : catalogue_files(catalogue)) {
        fingerprint.add(file.lexically_relative(catalogue).string());
        fingerprint.add_file(file);
    }
    fingerprint.add_file(scenario);
    if (const auto document = read_yaml_file(scenario)) {
        add_named_files(*document, scenario.parent_path(), fingerprint);
    }
    return fingerprint.hexadecimal();
}

std::string point_identity(const std::string& base,
                           const std::vector<std::string>& overrides,
                           const fs::path& folder) {
    Fingerprint fingerprint;
    fingerprint.add(base);
    for (const std::string& setting : overrides) {
        fingerprint.add(setting);
        add_named_file(setting.substr(setting.find('=') + 1), folder, fingerprint);
    }
    return fingerprint.hexadecimal();
}

}  // namespace orrery
