// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/provenance/stored_result.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>
#include <utility>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/json_document.h"
#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/provenance/fingerprint.h"
#include "scenarios/format/read/reader.h"

namespace orrery {
namespace {

const DocumentNode* map_in(MapReader& reader, std::string_view key, Presence presence) {
    const DocumentNode* map = reader.find(key, presence);
    if (map != nullptr && !map->is_map()) {
        reader.complain(key, fmt::format("{} must be a map", reader.full_name(key)));
        return nullptr;
    }
    return map;
}

void read_build(const DocumentNode& map, const std::string& path, BuildIdentity& build, Errors& e) {
    MapReader reader{map, path, e};
    reader.word("version", build.version, Presence::required);
    reader.word("commit", build.commit);
    reader.boolean("changed", build.changed);
    reader.word("sources", build.sources);
    reader.word("compiler", build.compiler);
}

void read_origin(MapReader& reader, ScenarioOrigin& origin, Errors& errors) {
    const DocumentNode* scenario = map_in(reader, "scenario", Presence::required);
    if (scenario == nullptr) {
        return;
    }
    MapReader inner{*scenario, reader.full_name("scenario"), errors};
    inner.word("file", origin.file);
    if (const DocumentNode* effective = map_in(inner, "effective", Presence::required)) {
        origin.effective = from_json_form(*effective);
    }
    if (const DocumentNode* overrides = reader.find("overrides")) {
        for (const DocumentNode& item : overrides->items) {
            origin.overrides.push_back(item.text);
        }
    }
}

void read_inputs(MapReader& reader, StoredProvenance& stored, Errors& errors) {
    if (const DocumentNode* options = map_in(reader, "options", Presence::optional)) {
        for (std::size_t i = 0; i < options->keys.size(); ++i) {
            stored.options.emplace_back(options->keys[i].text, options->items[i].text);
        }
    }
    const DocumentNode* inputs = reader.find("inputs");
    for (std::size_t i = 0; inputs != nullptr && i < inputs->items.size(); ++i) {
        MapReader one{inputs->items[i], fmt::format("provenance.inputs[{}]", i), errors};
        InputFile& input = stored.inputs.emplace_back();
        one.word("file", input.file, Presence::required);
        one.word("hash", input.hash, Presence::required);
    }
}

std::vector<int> numbers_of(const std::string& version) {
    std::vector<int> numbers;
    std::istringstream parts{version};
    for (std::string part; std::getline(parts, part, '.');) {
        numbers.push_back(std::atoi(part.c_str()));
    }
    return numbers;
}

// Adds an error about the newer program first: it writes keys that this one does not know, which
// cause the other errors.
Errors with_reason(Errors errors, const std::string& source, const BuildIdentity& made_by) {
    const std::string& own = build_identity().version;
    if (numbers_of(made_by.version) > numbers_of(own)) {
        errors.insert(
            errors.begin(),
            {source,
             fmt::format(
                 "was made by Orrery {}, which is later than this {}", made_by.version, own),
             "install that version or a later one"});
    }
    return errors;
}

}  // namespace

ResultOrErrors<StoredProvenance> stored_provenance(const DocumentNode& result) {
    const DocumentNode* block = result.is_map() ? result.find("provenance") : nullptr;
    if (block == nullptr || !block->is_map()) {
        return unexpected<Errors>(
            Errors{{result.where(),
                    "has no provenance, so it does not say what it is a result of",
                    "a result of orrery with --json, of this version or a later one"}});
    }
    Errors errors;
    StoredProvenance stored;
    MapReader reader{*block, "provenance", errors};
    reader.word("command", stored.command, Presence::required);
    reader.word("catalogue", stored.catalogue, Presence::required);
    if (const DocumentNode* build = map_in(reader, "build", Presence::required)) {
        read_build(*build, "provenance.build", stored.build, errors);
    }
    read_origin(reader, stored.origin, errors);
    read_inputs(reader, stored, errors);
    if (!errors.empty()) {
        return unexpected<Errors>(with_reason(std::move(errors), block->where(), stored.build));
    }
    return stored;
}

ResultOrErrors<StoredProvenance> read_stored_result(const std::filesystem::path& file) {
    const ResultOrErrors<DocumentNode> document = read_json_file(file);
    if (document) {
        return stored_provenance(*document);
    }
    Errors errors = document.error();
    if (errors.front().where.ends_with(":1:1")) {
        errors.front().hint = "a result that an orrery command has printed with --json";
    }
    return unexpected<Errors>(std::move(errors));
}

ResultOrErrors<Scenario> scenario_of_result(const StoredProvenance& stored,
                                            const std::string& source,
                                            const std::vector<std::string>& overrides) {
    auto scenario = read_effective_scenario(stored.origin.effective,
                                            source,
                                            stored.origin,
                                            {.overrides = overrides, .several_jobs = true});
    return scenario
               ? std::move(scenario)
               : unexpected<Errors>(with_reason(std::move(scenario.error()), source, stored.build));
}

std::vector<std::string> differences_from(const StoredProvenance& stored) {
    std::vector<std::string> sentences;
    const BuildIdentity& now = build_identity();
    if (stored.build.version != now.version || stored.build.sources != now.sources) {
        sentences.push_back(
            fmt::format("it was made by Orrery {}; this is {}", stored.build.words(), now.words()));
    }
    if (stored.catalogue != catalogue_fingerprint(default_catalogue())) {
        sentences.push_back(
            "its catalogue was another one; devices, nodes, fabrics and models are taken from the "
            "result, kernel times and fault rates from today's catalogue");
    }
    return sentences;
}

}  // namespace orrery
