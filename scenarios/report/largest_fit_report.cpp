// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_text.h"
#include "scenarios/report/search_report.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Cell> row_of(std::string name, const MemoryUse& use, bool with_host) {
    std::vector<Cell> row{std::move(name), use.needed(), use.device};
    if (with_host) {
        row.insert(row.end(), {Cell{use.host}, Cell{use.host_memory}});
    }
    return row;
}

Json bytes_json(const MemoryUse& use) {
    return {{"peak", use.peak.count()},
            {"needed", use.needed().count()},
            {"device", use.device.count()},
            {"host", use.host.count()},
            {"host_memory", use.host_memory.count()},
            {"moment", use.moment}};
}

}  // namespace

Report fit_sections(const Scenario& scenario, FitOf what, const LargestFit& fit) {
    const bool sequence = what == FitOf::sequence;
    Report report{.title = scenario.name};
    report.lines = {fmt::format("{} on {}", scenario.model.name, words_of(scenario.cluster))};
    report.cards = {
        {fmt::format("{}", fit.most), sequence ? "tokens of a sequence fit" : "layers fit"}};
    ReportSection memory{.title = "Memory",
                         .note =
                             "Of the fullest GPU, and of the fullest server. The answer is "
                             "within 1 % of the most that fits."};
    memory.table.columns = {{""}, {"a GPU needs", Unit::bytes}, {"it has", Unit::bytes}};
    const bool host = fit.memory.host > Bytes{} || fit.beyond.host > Bytes{};
    if (host) {
        memory.table.columns.insert(memory.table.columns.end(),
                                    {{"a server needs", Unit::bytes}, {"it has", Unit::bytes}});
    }
    memory.table.rows = {row_of("the most that fits", fit.memory, host)};
    if (fit.ends_with_offsets) {
        memory.after = {
            "Memory has room for more: the 32-bit offsets of norms end here "
            "(plan.norm_32_bit_offsets)."};
    } else {
        memory.table.rows.push_back(row_of("a little more", fit.beyond, host));
    }
    report.sections.push_back(std::move(memory));
    ReportSection largest{.title = "Largest tensors",
                          .note = fmt::format("While most is in use: {}.", fit.memory.moment)};
    largest.table.columns = {{"tensor"}, {"size", Unit::bytes}};
    for (const BufferUse& buffer : fit.memory.largest) {
        largest.table.rows.push_back({buffer.name, buffer.bytes});
    }
    report.sections.push_back(std::move(largest));
    return report;
}

std::string fit_json(const Scenario& scenario, FitOf what, const LargestFit& fit) {
    Json largest = json_list<Json>(fit.memory.largest, [](const BufferUse& buffer) -> Json {
        return {{"name", buffer.name}, {"bytes", buffer.bytes.count()}};
    });
    const Json json = {{"scenario", scenario.name},
                       {"model", scenario.model.name},
                       {"cluster", words_of(scenario.cluster)},
                       {"fit", what == FitOf::sequence ? "sequence" : "layers"},
                       {"most", fit.most},
                       {"ends_with_offsets", fit.ends_with_offsets},
                       {"memory", bytes_json(fit.memory)},
                       {"beyond", bytes_json(fit.beyond)},
                       {"largest", std::move(largest)}};
    return json_text(json);
}

Report tier_sections(const Scenario& scenario, const std::vector<TierFit>& fits) {
    Report report{.title = scenario.name};
    report.lines = {fmt::format("{} on {}", scenario.model.name, words_of(scenario.cluster))};
    ReportSection section{.title = "Largest model by where its state lies",
                          .note =
                              "In layers of the scenario's width, within 1 %. Each line keeps "
                              "the keys of the lines before it."};
    section.table.columns = {{"state"}, {"layers"}, {"billion parameters"}, {"keys"}};
    std::size_t known = 0;
    for (const TierFit& fit : fits) {
        std::vector<std::string> more(fit.set.begin() + static_cast<std::ptrdiff_t>(known),
                                      fit.set.end());
        known = fit.set.size();
        if (fit.layers == 0 || more.empty()) {
            more = {fit.layers == 0 ? fit.why : ""};
        }
        section.table.rows.push_back(
            {fit.where,
             fit.layers > 0 ? Cell{fmt::format("{}", fit.layers)} : Cell{"none"},
             fit.layers > 0
                 ? Cell{fmt::format("{:.1f}", static_cast<double>(fit.parameters) * 1e-9)}
                 : Cell{""},
             more.front()});
        // One row per key, so that lines stay short.
        for (std::size_t i = 1; i < more.size(); ++i) {
            section.table.rows.push_back({"", "", "", more[i]});
        }
    }
    report.sections.push_back(std::move(section));
    return report;
}

std::string tier_json(const Scenario& scenario, const std::vector<TierFit>& fits) {
    Json tiers = Json::array();
    std::int64_t most = 0;
    for (const TierFit& fit : fits) {
        Json tier = {{"where", fit.where},
                     {"set", fit.set},
                     {"layers", fit.layers},
                     {"parameters", fit.parameters}};
        if (!fit.why.empty()) {
            tier["why"] = fit.why;
        }
        most = std::max(most, fit.layers);
        tiers.push_back(std::move(tier));
    }
    const Json json = {{"scenario", scenario.name},
                       {"model", scenario.model.name},
                       {"cluster", words_of(scenario.cluster)},
                       {"fit", "tiers"},
                       {"most", most},
                       {"tiers", std::move(tiers)}};
    return json_text(json);
}

Report layer_plan_sections(const Scenario& scenario, const LayerPlan& plan) {
    Report report{.title = scenario.name};
    report.lines = {fmt::format("{} on {}", scenario.model.name, words_of(scenario.cluster))};
    report.cards = {{fmt::format("{} of {}", plan.recomputed, plan.layers),
                     "layers of a virtual stage run again"}};
    ReportSection section{.title = "Steps"};
    section.table.columns = {
        {""}, {"time", Unit::seconds}, {"a GPU needs", Unit::bytes}, {"it has", Unit::bytes}};
    const auto row = [](const char* name, const Answer& answer) {
        return std::vector<Cell>{
            name, answer.iteration, answer.memory.needed(), answer.memory.device};
    };
    section.table.rows = {row("as few layers as fit", plan.answer),
                          row("all layers", plan.all_recomputed)};
    section.after = plan.set;
    report.sections.push_back(std::move(section));
    return report;
}

std::string layer_plan_json(const Scenario& scenario, const LayerPlan& plan) {
    const Json json = {{"scenario", scenario.name},
                       {"model", scenario.model.name},
                       {"cluster", words_of(scenario.cluster)},
                       {"fit", "recompute"},
                       {"most", plan.layers - plan.recomputed},
                       {"recomputed_layers", plan.recomputed},
                       {"layers_of_stage", plan.layers},
                       {"set", plan.set},
                       {"iteration_s", plan.answer.iteration.seconds()},
                       {"all_recomputed_iteration_s", plan.all_recomputed.iteration.seconds()},
                       {"memory", bytes_json(plan.answer.memory)}};
    return json_text(json);
}

}  // namespace orrery
