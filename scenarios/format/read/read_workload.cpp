// SPDX-License-Identifier: Apache-2.0
// The section `workload`, and traces of requests.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/csv_rows.h"
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/read/read_serving.h"

namespace orrery {
namespace {

constexpr Choice<AdapterPopularity> kPopularities[] = {
    {"in_turn", AdapterPopularity::in_turn},
    {"uniform", AdapterPopularity::uniform},
    {"zipf", AdapterPopularity::zipf},
};

constexpr Key kWorkloadRows[] = {
    key<&WorkloadSpec::num_requests>("num_requests", "Requests in all.")
        .range(1, 100'000'000)
        .of("requests"),
    key<&WorkloadSpec::users>(
        "users", "Closed load: users that send a request when their last one ended; 0: open.")
        .range(0, 10'000'000)
        .of("users"),
    key<&WorkloadSpec::request_rate>("request_rate",
                                     "Open load: Poisson arrivals a second; 0: all at once.")
        .range(0.0, 1e9)
        .of("requests a second"),
    key<&WorkloadSpec::input_tokens>("input_tokens", "Tokens of a prompt.")
        .range(1.0, 1e9)
        .of("tokens"),
    key<&WorkloadSpec::output_tokens>("output_tokens", "Tokens that a request generates.")
        .range(1.0, 1e9)
        .of("tokens"),
    key<&WorkloadSpec::length_spread>(
        "length_spread", "Shortest length as a share of the stated one; drawn uniformly.")
        .range(0.0, 1.0),
    key<&WorkloadSpec::arrival_variation>(
        "arrival_variation",
        "Open load: standard deviation of the times between arrivals over their mean.")
        .range(0.01, 100.0),
    plain("lengths",
          KeyShape::path,
          "Table of share, input_tokens and output_tokens: lengths that a share does not exceed.")
        .by("the two lengths"),
    key<&WorkloadSpec::seed>("seed", "Seed of arrivals and lengths.").range(0, kMostTokens),
    key<&WorkloadSpec::adapters>("adapters", "Low-rank adapters that requests are for; 0: none.")
        .range(0, 1'000'000)
        .of("adapters"),
    choice<kPopularities, &WorkloadSpec::adapter_popularity>("adapter_popularity",
                                                             "Which adapter a request is for."),
    key<&WorkloadSpec::adapter_alpha>("adapter_alpha", "Exponent of adapter_popularity zipf.")
        .range(0.0, 100.0),
    plain("trace", KeyShape::path, "Table of arrival_s, input_tokens and output_tokens.")
        .by("synthetic"),
};

}  // namespace

const KeyTable<WorkloadSpec> kWorkloadKeys = key_table<WorkloadSpec>("workload", kWorkloadRows);

void read_workload(const DocumentNode& section,
                   const std::filesystem::path& folder,
                   WorkloadSpec& workload,
                   Errors& errors) {
    if (!section.is_map()) {
        errors.push_back({section.where(),
                          "workload must be a map, not " + section.describe(),
                          "{num_requests: 1000, request_rate: 10}"});
        return;
    }
    MapReader reader{section, "workload", errors};
    read_keys(reader, kWorkloadKeys, workload);
    std::string trace;
    if (reader.word("trace", trace)) {
        workload.trace = folder / trace;
        for (const char* key : {"num_requests", "request_rate", "input_tokens", "output_tokens"}) {
            if (section.find(key) != nullptr) {
                reader.complain(key,
                                fmt::format("workload.{} is of a synthetic load, and a trace is "
                                            "given",
                                            key),
                                "keep one");
            }
        }
    }
    std::string lengths;
    if (reader.word("lengths", lengths)) {
        workload.lengths = folder / lengths;
        for (const char* key : {"trace", "input_tokens", "output_tokens", "length_spread"}) {
            if (section.find(key) != nullptr) {
                reader.complain(
                    key, fmt::format("workload.lengths stands for workload.{}", key), "keep one");
            }
        }
    }
    const double most = std::floor(kLongestLoad_s * workload.request_rate);
    if (workload.users == 0 && workload.request_rate > 0 &&
        static_cast<double>(workload.num_requests) > most) {
        reader.complain("request_rate",
                        fmt::format("{} requests at {:g} a second come over more than {:.0f} days",
                                    workload.num_requests,
                                    workload.request_rate,
                                    kLongestLoad_s / 86'400),
                        fmt::format("at most {:.0f} requests, or a higher rate", most));
    }
    if (workload.users > 0 && section.find("request_rate") != nullptr) {
        reader.complain("request_rate",
                        "users of a closed load send when their last request has ended",
                        "users or request_rate");
    }
    reader.finish();
}

void check_adapters(const DocumentNode& section,
                    const ServingSpec& serving,
                    const WorkloadSpec& workload,
                    Errors& errors) {
    const bool ranked = std::ranges::all_of(
        serving.pools, [](const ServingPoolSpec& pool) { return pool.plan.adapter_rank > 0; });
    if (workload.adapters > 0 && serving.engine.mixes_adapters && !ranked) {
        errors.push_back({section.find("adapters")->where(),
                          "workload.adapters needs the rank of the adapters",
                          "serving.pools.adapter_rank: 16"});
    }
}

ResultOrErrors<std::vector<Request>> read_request_trace(const std::filesystem::path& file) {
    const auto rows = read_csv(file.string(), {"arrival_s", "input_tokens", "output_tokens"}, true);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    std::vector<Request> requests;
    Errors errors;
    for (const CsvRow& row : *rows) {
        const auto arrival = parse_number(row.fields[0]);
        const auto input = parse_integer(row.fields[1]);
        const auto output = parse_integer(row.fields[2]);
        if (!arrival || *arrival < 0 || *arrival > kLongestLoad_s || !input || *input < 1 ||
            *input > kMostTokens || !output || *output < 1 || *output > kMostTokens) {
            errors.push_back({row.where,
                              "a request needs an arrival in seconds and tokens above zero",
                              "0.25,1024,128"});
            continue;
        }
        const Time at = Time::seconds(*arrival);
        if (!requests.empty() && at < requests.back().arrival) {
            errors.push_back({row.where,
                              "this request comes before the one above it",
                              "sort the trace by arrival_s"});
            continue;
        }
        requests.push_back({.arrival = at, .prompt_tokens = *input, .output_tokens = *output});
    }
    if (errors.empty() && requests.empty()) {
        errors.push_back({file.string(), "the trace has no request", {}});
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return requests;
}

}  // namespace orrery
