// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/node_checks_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/json_text.h"
#include "scenarios/report/text_table.h"

namespace orrery {

std::string node_checks_text(const NodeChecks& checks, const std::vector<Suspect>& suspects) {
    const std::uint32_t n = checks.num_ranks;
    std::vector<TextRow> rows{{"rank", "work ms", "memory GB/s", "all-reduce with the next ms"}};
    for (std::uint32_t b = 0; b < n; ++b) {
        rows.front().push_back(fmt::format("to {}", b));
    }
    for (std::uint32_t a = 0; a < n; ++a) {
        TextRow row{fmt::format("{}", a),
                    fmt::format("{:.2f}", checks.compute_s[a] * 1e3),
                    fmt::format("{:.1f}", checks.memory_rate[a] * 1e-9),
                    fmt::format("{:.2f}", checks.neighbours_s[a] * 1e3)};
        for (std::uint32_t b = 0; b < n; ++b) {
            const double rate = checks.pair_rate[std::size_t{a} * n + b];
            row.push_back(a == b ? "" : fmt::format("{:.2f}", rate * 1e-9));
        }
        rows.push_back(std::move(row));
    }
    std::string text =
        "Pairs in GB/s each way, all at the same time\n\n" + text_table(rows, 1) +
        fmt::format("\n  all-to-all of {} ranks: {:.2f} ms\n", n, checks.all_to_all_s * 1e3);
    text += suspects.empty() ? "  no rank is suspected\n" : "  suspected:\n";
    for (const Suspect& suspect : suspects) {
        text += fmt::format("    rank {}: {}\n", suspect.rank, suspect.what);
    }
    return text;
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
