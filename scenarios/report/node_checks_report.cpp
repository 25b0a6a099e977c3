// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/checks_report.h"
#include "scenarios/report/render/json_text.h"

namespace orrery {

Report node_checks_sections(const NodeChecks& checks, const std::vector<Suspect>& suspects) {
    const std::uint32_t n = checks.num_ranks;
    Report report{.title = fmt::format("Checks between {} ranks", n)};
    report.cards = {{cell_text(checks.all_to_all_s, Unit::seconds), "all-to-all of all ranks"},
                    {suspects.empty() ? "none" : fmt::format("{}", suspects.size()),
                     "suspected ranks",
                     !suspects.empty()}};
    ReportSection section{.title = "Ranks and pairs",
                          .note =
                              "next: all-reduce with the next rank. Pairs in GB/s each way, "
                              "all at the same time."};
    section.table.columns = {{"rank", Unit::count},
                             {"work", Unit::seconds},
                             {"memory", Unit::rate},
                             {"next", Unit::seconds}};
    for (std::uint32_t b = 0; b < n; ++b) {
        section.table.columns.push_back({fmt::format("to {}", b), Unit::rate, 2});
    }
    for (std::uint32_t a = 0; a < n; ++a) {
        std::vector<Cell> row{
            a, checks.compute_s[a], checks.memory_rate[a], checks.neighbours_s[a]};
        for (std::uint32_t b = 0; b < n; ++b) {
            row.push_back(a == b ? Cell{} : Cell{checks.pair_rate[std::size_t{a} * n + b]});
        }
        section.table.rows.push_back(std::move(row));
    }
    ReportSection suspected{.title = "Suspected",
                            .table = {.columns = {{"rank", Unit::count}, {"why"}}}};
    for (const Suspect& suspect : suspects) {
        suspected.table.rows.push_back({suspect.rank, suspect.what});
    }
    report.sections = {std::move(section), std::move(suspected)};
    return report;
}

std::string node_checks_json(const NodeChecks& checks, const std::vector<Suspect>& suspects) {
    nlohmann::ordered_json json;
    json["ranks"] = checks.num_ranks;
    json["compute_s"] = checks.compute_s;
    json["memory_bytes_per_s"] = checks.memory_rate;
    json["pair_bytes_per_s"] = checks.pair_rate;
    json["neighbours_s"] = checks.neighbours_s;
    json["all_to_all_s"] = checks.all_to_all_s;
    json["suspects"] = nlohmann::ordered_json::array();
    for (const Suspect& suspect : suspects) {
        json["suspects"].push_back({{"rank", suspect.rank}, {"what", suspect.what}});
    }
    return json_text(json);
}

}  // namespace orrery
