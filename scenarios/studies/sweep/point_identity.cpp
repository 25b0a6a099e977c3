// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/point_identity.h"

#include "scenarios/format/document/document_node.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/provenance/fingerprint.h"
#include "scenarios/format/provenance/version.h"

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

}  // namespace

std::string scenario_fingerprint(const fs::path& scenario, const std::string& catalogue) {
    Fingerprint fingerprint;
    fingerprint.add(build_identity().version);
    fingerprint.add(build_identity().sources);
    fingerprint.add(catalogue);
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
