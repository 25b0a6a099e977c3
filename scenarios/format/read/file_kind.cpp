// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "engine/base/check.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_calibration.h"
#include "scenarios/format/read/read_reproduction.h"
#include "scenarios/format/read/scenario_keys.h"
#include "scenarios/format/specs/network_words.h"

namespace orrery {
namespace {

constexpr Choice<int> kNetworkWord[] = {{"network", 0}};
constexpr Key kNetworkFileRows[] = {
    plain_choice<kNetworkWord>("kind", "Kind of the file.").by("from its keys"),
    plain("name", KeyShape::word, "What reports call the network.").by("the file's name"),
    nested("cluster", KeyShape::map, kClusterKeys, "Nodes and networks.").required(),
    nested("network", KeyShape::map, kNetworkKeys, "How the network is simulated.")
        .or_words<kFidelities>()
        .by("fluid"),
};
constexpr KeyMap kNetworkFileKeys = key_map("network_file", kNetworkFileRows);

constexpr Choice<int> kServingWord[] = {{"serving", 0}};
constexpr Key kServingFileRows[] = {
    plain_choice<kServingWord>("kind", "Kind of the file.").required(),
    plain("name", KeyShape::word, "What reports call the load.").by("the file's name"),
    nested("cluster", KeyShape::map, kClusterKeys, "Nodes and networks.").required(),
    entry("model", "models", kModelKeys, "The model.").required(),
    nested("serving", KeyShape::map, kServingKeys, "Instances that serve.").required(),
    nested("workload", KeyShape::map, kWorkloadKeys, "Load that they serve.").required(),
    nested("faults", KeyShape::map_list, kFaultKeys, "Faults while they serve."),
    nested("search", KeyShape::map, kPoolSearchKeys, "Pools among which `orrery search` looks."),
    nested("campaign", KeyShape::map, kCampaignKeys, "`seeds`: runs of `orrery campaign`."),
};
constexpr KeyMap kServingFileKeys = key_map("serving_file", kServingFileRows);

constexpr Choice<int> kSweepWord[] = {{"sweep", 0}};
constexpr Key kSweepRows[] = {
    plain_choice<kSweepWord>("kind", "Kind of the file.").by("from its keys"),
    plain("name", KeyShape::word, "What reports call the sweep.").by("the file's name"),
    plain("scenario", KeyShape::path, "Scenario that varies.").or_list().required(),
    plain("set", KeyShape::any, "Keys of all points, as --set writes them."),
    plain("points", KeyShape::any_list, "Points: a map of keys each."),
    plain("grid", KeyShape::any, "Lists of values by key: every combination is a point."),
};

// The program itself writes this file.
constexpr Key kRecordingRows[] = {
    plain("scenario", KeyShape::path, "Scenario that ran.").required(),
    plain("checksum", KeyShape::word, "Checksum of the scenario.").required(),
};
constexpr KeyMap kRecordingKeys = key_map("recording", kRecordingRows);

constexpr std::string_view kInCatalogue = "a scenario names it, or orrery catalogue NAME shows it";

constexpr FileKind kFileKinds[] = {
    {"scenario", "a scenario", "orrery simulate FILE", &kScenarioKeys, ""},
    {"network", "a network", "orrery network FILE, or add model and plan", &kNetworkFileKeys, ""},
    {"serving", "a served load", "orrery serve FILE", &kServingFileKeys, ""},
    {"sweep", "a sweep", "orrery sweep FILE", &kSweepKeys, ""},
    {"reproduction", "a reproduction", "orrery reproduce NAME", &kReproductionKeys, ""},
    {"recording", "a recorded run", "orrery compare FOLDER", &kRecordingKeys, ""},
    {"device", "a device", kInCatalogue, &kDeviceKeys, "devices"},
    {"node", "a node", kInCatalogue, &kNodeKeys, "nodes"},
    {"fabric", "a fabric", kInCatalogue, &kFabricKeys, "fabrics"},
    {"model", "a model", kInCatalogue, &kModelKeys, "models"},
    {"stack", "a software stack", kInCatalogue, &kPlanKeys, "stacks"},
    {"engine", "an engine that serves", kInCatalogue, &kEngineKeys, "engines"},
    {"faults", "a catalogue of faults", kInCatalogue, &kFaultCatalogueKeys, "faults"},
    {"congestion_control",
     "a congestion control",
     kInCatalogue,
     &kCongestionKeys,
     "congestion_controls"},
    {"calibration",
     "a calibration",
     "orrery simulate SCENARIO --calibration FILE",
     &kCalibrationKeys,
     ""},
};

// Number of the file's keys that are keys of the kind.
std::size_t common_keys(const DocumentNode& root, const FileKind& kind) {
    const std::vector<ScenarioKey> known = keys_of(*kind.keys, "");
    return static_cast<std::size_t>(std::ranges::count_if(root.keys, [&](const DocumentNode& key) {
        return key.text != "name" && key.text != "kind" &&
               std::ranges::find(known, key.text, &ScenarioKey::key) != known.end();
    }));
}

// The kind whose keys fit best; `wanted` unless another kind fits better.
const FileKind* inferred(const DocumentNode& root, std::string_view wanted) {
    const FileKind* best = file_kind(wanted);
    std::size_t most = common_keys(root, *best);
    for (const FileKind& kind : kFileKinds) {
        const std::size_t common = common_keys(root, kind);
        if (common > most) {
            best = &kind;
            most = common;
        }
    }
    return best;
}

}  // namespace

const KeyMap kSweepKeys = key_map("sweep", kSweepRows);

std::span<const FileKind> file_kinds() {
    return kFileKinds;
}

const FileKind* file_kind(std::string_view word) {
    const auto found = std::ranges::find(kFileKinds, word, &FileKind::word);
    return found == std::end(kFileKinds) ? nullptr : found;
}

Error of_another_kind(const DocumentNode& root, std::initializer_list<std::string_view> wanted) {
    ORRERY_CHECK(wanted.size() > 0 && file_kind(*wanted.begin()) != nullptr);
    const FileKind& due = *file_kind(*wanted.begin());
    if (!root.is_map()) {
        const bool table = root.is_scalar() && root.text.find(',') != std::string::npos;
        return {root.where(),
                table ? fmt::format("this is a table (CSV), and {} is due", due.what)
                      : fmt::format("{} must be a map, not {}", due.what, root.describe()),
                fmt::format("orrery keys --schema {} lists its keys", due.word)};
    }
    const DocumentNode* said = root.find("kind");
    const FileKind* kind = nullptr;
    if (said == nullptr) {
        kind = inferred(root, due.word);
    } else if (said->is_scalar()) {
        const bool topology =
            std::ranges::count(kFabricKinds, said->text, &Choice<FabricKind>::word);
        kind = file_kind(topology ? "fabric" : said->text);
    }
    if (kind == nullptr) {
        std::vector<std::string> words;
        for (const FileKind& known : kFileKinds) {
            words.emplace_back(known.word);
        }
        const bool alike = said->is_scalar() && !nearest_names(said->text, words, 1).empty();
        return {said->where(),
                fmt::format("kind can't be {}", said->describe()),
                alike ? nearest_hint(said->text, words)
                      : fmt::format("kind: {} is due here", due.word)};
    }
    if (std::ranges::find(wanted, kind->word) != wanted.end()) {
        return {};
    }
    return {said != nullptr ? said->where() : root.where(),
            fmt::format("this is {}, and {} is due", kind->what, due.what),
            std::string{kind->use}};
}

}  // namespace orrery
