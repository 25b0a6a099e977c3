// SPDX-License-Identifier: Apache-2.0
// Measured factors of a congestion control, as written by `orrery network --store`:
//   algorithm       a word of network.packet.congestion
//   measured_on     the fabric's shape: keys of cluster.fabric
//   ring, all_to_all, point_to_point    {efficiency, queueing_delay}
#include <fmt/format.h>

#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/file_kind.h"
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/specs/network_words.h"

namespace orrery {
namespace {

constexpr std::string_view kSection = "congestion_controls";
constexpr const char* kPath = "network.congestion";

constexpr Key kFactorRows[] = {
    key<&CongestionFactor::efficiency>("efficiency", "Rates of packets / fair shares.")
        .range(0.01, 1.5)
        .required(),
    key<&CongestionFactor::queueing_delay>("queueing_delay", "Delay of each transfer.").required(),
};
constexpr auto kFactorKeys =
    key_table<CongestionFactor>("factor", kFactorRows, "{efficiency: 0.9, queueing_delay: 10 us}");

template <auto kMember>
constexpr Key factor(std::string_view name, std::string_view meaning) {
    return part<kMember>(name, kFactorKeys, meaning).required();
}

constexpr Key algorithm() {
    Key row = plain_choice<kCongestionKinds>("algorithm", "Congestion control that was measured.");
    row.read = [](MapReader& reader, const Key& of, void* object) {
        packet::CongestionKind kind{};
        const bool good = reader.choice(of.name, kind, kCongestionKinds, of.presence());
        if (good) {
            static_cast<CongestionFactors*>(object)->algorithm = word_of(kind, kCongestionKinds);
        }
        return good;
    };
    return row.required();
}

constexpr Key kCongestionRows[] = {
    key<&CongestionFactors::name>("name", "What reports call the factors.").by("the entry's name"),
    algorithm(),
    part<&CongestionFactors::measured_on>(
        "measured_on", kFabricKeys, "Shape of the fabric of the measurement.")
        .required(),
    factor<&CongestionFactors::ring>("ring", "Factors of rings and trees over nodes."),
    factor<&CongestionFactors::all_to_all>("all_to_all", "Factors of all-to-all."),
    factor<&CongestionFactors::point_to_point>("point_to_point",
                                               "Factors of messages between two nodes."),
};

// The map for which `value` stands: an entry of the catalogue, a file, or `value` itself.
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
    if (Error other = of_another_kind(*file, {"congestion_control"}); !other.what.empty()) {
        errors.push_back(std::move(other));
        return {};
    }
    return catalogue.resolve(*file, kSection, kPath, errors);
}

}  // namespace

const KeyTable<CongestionFactors> kCongestionKeys =
    key_table<CongestionFactors>("congestion_control", kCongestionRows);

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
    factors.name = "inline";
    read_map(map, kPath, kCongestionKeys, factors, errors);
    if (value.is_scalar()) {
        factors.name = value.text;
    }
    settings.congestion_where = value.where();
    settings.congestion = std::move(factors);
}

}  // namespace orrery
