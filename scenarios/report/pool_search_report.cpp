// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_text.h"
#include "scenarios/report/serving_report.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNames[] = {"rate", "cost", "energy"};

// "3 x tp 8 + 5 x tp 8"
std::string words_of_pools(const FoundPools& found) {
    std::string words = words_of_pool(found.pools.front());
    if (found.pools.size() > 1) {
        words += " + " + words_of_pool(found.pools.back());
    }
    return words;
}

Json pools_json(const FoundPools& found) {
    return json_list<Json>(found.pools, [](const ServingPoolSpec& pool) -> Json {
        return {{"role", name(pool.role)},
                {"instances", pool.instances},
                {"tensor_model_parallel_size", pool.plan.tensor_model_parallel_size},
                {"pipeline_model_parallel_size", pool.plan.pipeline_model_parallel_size},
                {"data_parallel_size", pool.plan.data_parallel_size}};
    });
}

}  // namespace

Report pool_search_sections(const Scenario& scenario, const PoolSearchResult& result) {
    const FoundPools& best = result.best.front();
    const bool costs = best.answer.cost_per_million_tokens > 0;
    const bool energies = best.answer.kwh_per_million_tokens > 0;
    Report report{.title = scenario.name};
    report.lines = {fmt::format("{} by {} on {}",
                                scenario.model.name,
                                scenario.serving.engine.name,
                                words_of(scenario.cluster)),
                    fmt::format("{} of {} pools were served until they missed an objective; {} "
                                "others reach less at once, {} don't fit or meet none",
                                result.tried - result.worse - result.unfit,
                                result.tried,
                                result.worse,
                                result.unfit)};
    if (!result.why_unfit.empty()) {
        report.lines.push_back("the first of the latter: " + result.why_unfit);
    }
    report.cards = {
        {words_of_pools(best), "the best pools"},
        {fmt::format("{:.3g}", best.rate), "requests a second within the objectives"},
        {fmt::format("{:.0f}", best.answer.output_tokens_per_s), "output tokens a second"}};
    ReportSection section{
        .title = "Best pools",
        .note =
            "Each at the largest rate at which 99 of 100 requests meet the objectives, within 3 "
            "%. Two pools: prompts + generation. Latencies are those of 99 of 100 requests."};
    section.table.columns = {{"pools"},
                             {"GPUs", Unit::count},
                             {"requests a second", Unit::number, 2},
                             {"a GPU", Unit::number, 3},
                             {"tokens a second", Unit::number, 0},
                             {"first token", Unit::seconds},
                             {"output token", Unit::seconds},
                             {"end to end", Unit::seconds}};
    if (costs) {
        section.table.columns.push_back({"cost, million tokens", Unit::number, 3});
    }
    if (energies) {
        section.table.columns.push_back({"kWh, million tokens", Unit::number, 3});
    }
    for (const FoundPools& found : result.best) {
        const ServingAnswer& answer = found.answer;
        std::vector<Cell> row{words_of_pools(found),
                              found.gpus,
                              found.rate,
                              found.rate / static_cast<double>(found.gpus),
                              answer.output_tokens_per_s,
                              answer.ttft_s.p99,
                              answer.tpot_s.p99,
                              answer.e2e_s.p99};
        if (costs) {
            row.emplace_back(answer.cost_per_million_tokens);
        }
        if (energies) {
            row.emplace_back(answer.kwh_per_million_tokens);
        }
        section.table.rows.push_back(std::move(row));
    }
    report.sections.push_back(std::move(section));
    return report;
}

std::string pool_search_json(const Scenario& scenario, const PoolSearchResult& result) {
    Json best = json_list<Json>(result.best, [&](const FoundPools& found) -> Json {
        const ServingAnswer& answer = found.answer;
        return {{"pools", pools_json(found)},
                {"gpus", found.gpus},
                {"rate", found.rate},
                {"output_tokens_per_s", answer.output_tokens_per_s},
                {"ttft_p99_s", answer.ttft_s.p99},
                {"tpot_p99_s", answer.tpot_s.p99},
                {"e2e_p99_s", answer.e2e_s.p99},
                {"cost_per_million_tokens", known_or_null<Json>(answer.cost_per_million_tokens)},
                {"kwh_per_million_tokens", known_or_null<Json>(answer.kwh_per_million_tokens)}};
    });
    const Json json = {
        {"scenario", scenario.name},
        {"model", scenario.model.name},
        {"engine", scenario.serving.engine.name},
        {"cluster", words_of(scenario.cluster)},
        {"objective", kNames[static_cast<std::size_t>(scenario.pool_search.objective)]},
        {"best", std::move(best)},
        {"tried", result.tried},
        {"worse", result.worse},
        {"unfit", result.unfit}};
    return json_text(json);
}

}  // namespace orrery
