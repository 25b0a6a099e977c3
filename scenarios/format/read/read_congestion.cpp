// SPDX-License-Identifier: Apache-2.0
// Measured factors of a congestion control, as `orrery network --store` writes them:
//   algorithm       a word of network.packet.congestion
//   measured_on     the fabric's shape: keys of cluster.fabric
//   ring, all_to_all, point_to_point    {efficiency, queueing_delay}
#include <fmt/format.h>

#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/specs/network_words.h"

namespace orrery {
namespace {

constexpr std::string_view kSection = "congestion_controls";
constexpr const char* kPath = "network.congestion";

void read_factor(MapReader& entry, std::string_view key, CongestionFactor& factor, Errors& errors) {
    const DocumentNode* map = entry.find(key, Presence::required);
    if (map == nullptr) {
        return;
    }
    if (!map->is_map()) {
        entry.complain(key,
                       entry.full_name(key) + " must be a map, not " + map->describe(),
                       "{efficiency: 0.9, queueing_delay: 10 us}");
        return;
    }
    MapReader reader{*map, entry.full_name(key), errors};
    reader.find("efficiency", Presence::required);
    reader.real("efficiency", factor.efficiency, 0.01, 1.5);
    reader.quantity("queueing_delay", factor.queueing_delay, Presence::required);
    reader.finish();
}

// The map that `value` stands for: a name of the catalogue, a file, or itself.
DocumentNode entry_of(const DocumentNode& value,
                      const Catalogue& catalogue,
                      const std::filesystem::path& folder,
                      Errors& errors) {
    if (!value.is_scalar() || !value.text.ends_with(".yaml")) {
        return catalogue.resolve(value, kSection, kPath, errors);
    }
    ResultOrErrors<DocumentNode> file = read_yaml_file(folder / value.text);
    if (!file) {
        errors.insert(errors.end(), file.error().begin(), file.error().end());
        return {};
    }
    return std::move(*file);
}

}  // namespace

void read_congestion(const DocumentNode& value,
                     const Catalogue& catalogue,
                     const std::filesystem::path& folder,
                     NetworkSettings& settings,
                     Errors& errors) {
    const std::size_t errors_before = errors.size();
    const DocumentNode map = entry_of(value, catalogue, folder, errors);
    if (!map.is_map()) {
        if (errors.size() == errors_before) {
            errors.push_back({value.where(),
                              fmt::format("{} must be a map, not {}", kPath, map.describe()),
                              "a file that orrery network --store wrote"});
        }
        return;
    }
    CongestionFactors factors;
    factors.name = value.is_scalar() ? value.text : "inline";
    MapReader reader{map, kPath, errors};
    if (value.is_scalar()) {
        reader.find("name");
    } else {
        reader.word("name", factors.name);
    }
    packet::CongestionKind kind{};
    if (reader.choice("algorithm", kind, kCongestionKinds, Presence::required)) {
        factors.algorithm = word_of(kind, kCongestionKinds);
    }
    if (const DocumentNode* shape = reader.find("measured_on", Presence::required);
        shape != nullptr && shape->is_map()) {
        read_fabric(*shape, std::string{kPath} + ".measured_on", factors.measured_on, errors);
    } else if (shape != nullptr) {
        reader.complain("measured_on",
                        std::string{kPath} + ".measured_on must be a map, not " + shape->describe(),
                        "the keys of a fabric");
    }
    read_factor(reader, "ring", factors.ring, errors);
    read_factor(reader, "all_to_all", factors.all_to_all, errors);
    read_factor(reader, "point_to_point", factors.point_to_point, errors);
    reader.finish();
    settings.congestion_where = value.where();
    settings.congestion = std::move(factors);
}

}  // namespace orrery
