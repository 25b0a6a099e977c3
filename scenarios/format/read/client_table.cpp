// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/client_table.h"

#include <fmt/format.h>

#include <optional>

#include "kernels/csv_rows.h"

namespace orrery {

namespace {

constexpr double kLongestOfClient = 1e9;
constexpr double kLargestRate = 1e6;
constexpr double kLargestVariation = 100;

// Quantiles from a length of 1 through three ascending ones.
std::optional<std::vector<double>> quantiles_of(const CsvRow& row, std::size_t first) {
    std::vector<double> lengths{1};
    for (std::size_t i = first; i < first + 3; ++i) {
        const auto length = parse_number(row.fields[i]);
        if (!length || *length < lengths.back() || *length > kLongestOfClient) {
            return std::nullopt;
        }
        lengths.push_back(*length);
    }
    lengths.push_back(lengths.back());
    return lengths;
}

}  // namespace

ResultOrErrors<std::vector<LoadClient>> read_client_table(const std::filesystem::path& file,
                                                          const std::string& group) {
    const auto rows = read_csv(file.string(),
                               {"workload",
                                "rate_per_s",
                                "gap_cv",
                                "input_p50",
                                "input_p90",
                                "input_p99",
                                "output_p50",
                                "output_p90",
                                "output_p99"},
                               true);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    std::vector<LoadClient> clients;
    Errors errors;
    for (const CsvRow& row : *rows) {
        if (!group.empty() && row.fields[0] != group) {
            continue;
        }
        const auto rate = parse_number(row.fields[1]);
        const auto variation = parse_number(row.fields[2]);
        const auto inputs = quantiles_of(row, 3);
        const auto outputs = quantiles_of(row, 6);
        if (!rate || *rate <= 0 || *rate > kLargestRate || !variation || *variation < 0.01 ||
            *variation > kLargestVariation || !inputs || !outputs) {
            errors.push_back({row.where,
                              "a client needs a rate, a variation of its gaps, and quantiles of "
                              "its lengths that ascend from 1",
                              "chat,2.5,1.2,100,400,900,50,200,500"});
            continue;
        }
        clients.push_back({.rate = *rate,
                           .gap_variation = *variation,
                           .lengths = {.shares = {0, 0.5, 0.9, 0.99, 1},
                                       .input_tokens = *inputs,
                                       .output_tokens = *outputs}});
    }
    if (errors.empty() && clients.empty()) {
        errors.push_back({file.string(),
                          group.empty() ? "the table has no client"
                                        : fmt::format("no client of the workload '{}'", group),
                          {}});
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return clients;
}

}  // namespace orrery
