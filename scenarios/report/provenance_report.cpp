// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/provenance_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/base/check.h"
#include "scenarios/report/render/html_page.h"
#include "scenarios/report/render/json_text.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json document_json(const DocumentNode& node) {
    switch (node.kind) {
        case DocumentNode::Kind::null:
            return {};
        case DocumentNode::Kind::scalar:
            return !node.is_string && is_json_value(node.text) ? Json::parse(node.text)
                                                               : Json(node.text);
        case DocumentNode::Kind::sequence: {
            return json_list<Json>(node.items, document_json);
        }
        case DocumentNode::Kind::map:
            break;
    }
    Json map = Json::object();
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
        map[node.keys[i].text] = document_json(node.items[i]);
    }
    return map;
}

Json build_json(const BuildIdentity& build) {
    Json json{{"version", build.version}};
    if (!build.commit.empty()) {
        json["commit"] = build.commit;
        json["changed"] = build.changed;
    }
    if (!build.sources.empty()) {
        json["sources"] = build.sources;
    }
    if (!build.compiler.empty()) {
        json["compiler"] = build.compiler;
        json["features"] = build.features;
    }
    return json;
}

Json origin_json(const ScenarioOrigin& origin) {
    return {{"file", origin.file}, {"effective", document_json(origin.effective)}};
}

Json block_json(const Provenance& provenance) {
    Json json{{"command", provenance.command},
              {"build", build_json(provenance.build)},
              {"catalogue", provenance.catalogue}};
    const auto& scenarios = provenance.scenarios;
    if (scenarios.size() == 1) {
        json["scenario"] = origin_json(*scenarios.front());
        json["overrides"] = scenarios.front()->overrides;
    }
    for (std::size_t i = 0; scenarios.size() > 1 && i < scenarios.size(); ++i) {
        json["scenarios"].push_back(origin_json(*scenarios[i]));
        json["scenarios"].back()["overrides"] = scenarios[i]->overrides;
    }
    if (provenance.seed) {
        json["seed"] = *provenance.seed;
    }
    for (const auto& [name, value] : provenance.options) {
        json["options"][name] = value;
    }
    for (const InputFile& input : provenance.inputs) {
        json["inputs"].push_back({{"file", input.file}, {"hash", input.hash}});
    }
    if (provenance.recorded_by) {
        json["recorded_by"] = build_json(*provenance.recorded_by);
    }
    return json;
}

std::string sources_line(const Provenance& provenance) {
    std::string text = "Made by Orrery " + provenance.build.words();
    for (std::size_t i = 0; i < provenance.scenarios.size(); ++i) {
        text += (i == 0 ? ", of " : ", ") + provenance.scenarios[i]->file;
    }
    return text;
}

}  // namespace

std::string document_text(const DocumentNode& document) {
    return json_text(document_json(document));
}

std::string provenance_json(const Provenance& provenance) {
    return json_text(block_json(provenance));
}

std::string with_provenance(const std::string& json, const Provenance& provenance) {
    Json object = Json::parse(json);
    ORRERY_CHECK(object.is_object());
    object["provenance"] = block_json(provenance);
    return json_text(object);
}

std::string page_with_provenance(const std::string& html, const Provenance& provenance) {
    static constexpr std::string_view kPlace = "<!-- provenance -->";
    const std::size_t at = html.find(kPlace);
    ORRERY_CHECK(at != std::string::npos);
    const std::string section =
        fmt::format("<details class=\"provenance\"><summary>{}</summary>\n<pre>{}</pre></details>",
                    html_text(sources_line(provenance)),
                    html_text(provenance_json(provenance)));
    return html.substr(0, at) + section + html.substr(at + kPlace.size());
}

}  // namespace orrery
