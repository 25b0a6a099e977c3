// SPDX-License-Identifier: Apache-2.0
// The section `workload`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_serving.h"

namespace orrery {
namespace {

constexpr Choice<AdapterPopularity> kPopularities[] = {
    {"in_turn", AdapterPopularity::in_turn},
    {"uniform", AdapterPopularity::uniform},
    {"zipf", AdapterPopularity::zipf},
};

constexpr Choice<LengthDraws> kDraws[] = {
    {"each", LengthDraws::each},
    {"numpy", LengthDraws::numpy},
};

constexpr Key kWorkloadRows[] = {
    key<&WorkloadSpec::num_requests>("num_requests", "Requests in all.")
        .range(1, 10'000'000)
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
    choice<kDraws, &WorkloadSpec::length_draws>(
        "length_draws",
        "Draws each request's lengths; or the whole numbers of NumPy's randint after seed(seed), "
        "all prompts' before all outputs', as the benchmark clients of SGLang and InferenceMAX."),
    key<&WorkloadSpec::arrival_variation>(
        "arrival_variation",
        "Open load: standard deviation of the times between arrivals over their mean.")
        .range(0.01, 100.0),
    key<&WorkloadSpec::arrival_step>(
        "arrival_step",
        "Open load: requests come at multiples of this time only, as those of a trace whose time "
        "stamps are coarse; 0 s: at any time."),
    plain(
        "lengths",
        KeyShape::path,
        "Table of share, input_tokens and output_tokens: lengths that a share does not exceed. Or "
        "of calls, input_tokens and output_tokens: the stages of workflows, whose calls come when "
        "those of the stage before have ended; with template_tokens, prompts begin alike.")
        .by("the two lengths"),
    key<&WorkloadSpec::prediction_error>(
        "prediction_error",
        "Of predicted output lengths: standard deviation of the logarithm of predicted over true.")
        .range(0.0, 10.0),
    key<&WorkloadSpec::repeated_requests>(
        "repeated_requests",
        "Requests, from the first, whose prompts an earlier run left in the prefix caches.")
        .range(0, 10'000'000)
        .of("requests"),
    key<&WorkloadSpec::seed>("seed", "Seed of arrivals and lengths.").range(0, kMostTokens),
    key<&WorkloadSpec::adapters>("adapters", "Low-rank adapters that requests are for; 0: none.")
        .range(0, 1'000'000)
        .of("adapters"),
    choice<kPopularities, &WorkloadSpec::adapter_popularity>("adapter_popularity",
                                                             "Which adapter a request is for."),
    key<&WorkloadSpec::adapter_alpha>("adapter_alpha", "Exponent of adapter_popularity zipf.")
        .range(0.0, 100.0),
    key<&WorkloadSpec::images>("images", "Images of each request that has some; 0: none has.")
        .range(0, 1000)
        .of("images"),
    key<&WorkloadSpec::image_share>("image_share", "Share of the requests that have images.")
        .range(0.0, 1.0),
    key<&WorkloadSpec::image_prompt_tokens>(
        "image_prompt_tokens", "Tokens of the prompt, besides its own, that an image becomes.")
        .range(0, 1'000'000)
        .of("tokens"),
    plain("trace",
          KeyShape::path,
          "Recorded requests: a table of arrival_s, input_tokens and output_tokens, Mooncake's "
          "JSONL or Azure's CSV.")
        .by("synthetic"),
    key<&WorkloadSpec::trace_block_tokens>("trace_block_tokens",
                                           "Tokens of the blocks that a trace numbers.")
        .range(1, 65'536)
        .of("tokens"),
    plain("clients",
          KeyShape::path,
          "Table of clients, each with a rate, a variation of its gaps, and quantiles of lengths.")
        .by("one kind of requests"),
    key<&WorkloadSpec::client_group>("client_group", "Workload of the table of clients.").by("all"),
    key<&WorkloadSpec::turns>("turns",
                              "Mean turns of a conversation: the prompt of a turn begins with the "
                              "turn before and its output.")
        .range(1.0, 1000.0),
    key<&WorkloadSpec::turns_variation>(
        "turns_variation",
        "Standard deviation over mean of a conversation's turns; 0: that of ends which are equally "
        "likely after each turn.")
        .range(0.0, 100.0),
    key<&WorkloadSpec::turn_tokens>(
        "turn_tokens", "Mean of the new tokens of later turns, exponential; 0: as of the first.")
        .range(0.0, 1e9)
        .of("tokens"),
    key<&WorkloadSpec::turn_forks>("turn_forks",
                                   "Share of later turns that repeat only the beginning of what "
                                   "was said; the rest of as long a prompt is new.")
        .range(0.0, 1.0),
    key<&WorkloadSpec::turn_fork_kept>("turn_fork_kept",
                                       "Share of what was said that turns of turn_forks repeat.")
        .range(0.0, 1.0),
    key<&WorkloadSpec::turn_gap>("turn_gap", "Mean time from a turn's arrival to the next one's."),
    key<&WorkloadSpec::system_tokens>("system_tokens",
                                      "Tokens with which all prompts begin, besides their own.")
        .range(0, kMostTokens)
        .of("tokens"),
};

// An error for each key that has no effect beside another one.
void refuse_beside(MapReader& reader,
                   std::initializer_list<const char*> keys,
                   const std::string& why,
                   const char* hint) {
    for (const char* const key : keys) {
        if (reader.has(key)) {
            reader.complain(key, fmt::format("workload.{} {}", key, why), hint);
        }
    }
}

// An error if the other key is missing. Its value may switch this one off.
void need_beside(
    MapReader& reader, const char* key, const char* other, const char* why, const char* hint) {
    if (reader.good(key) && !reader.has(other)) {
        refuse_beside(reader, {key}, why, hint);
    }
}

void check_turns(MapReader& reader, const WorkloadSpec& workload) {
    need_beside(reader, "turns_variation", "turns", "is of conversations", "turns: 4");
    const double least = std::sqrt(1 - 1 / workload.turns);
    if (workload.turns > 1 && workload.turns_variation > 0 && workload.turns_variation <= least) {
        reader.complain("turns_variation",
                        fmt::format("{} turns of equally likely ends vary by {:.3g}, and "
                                    "workload.turns_variation is not more",
                                    workload.turns,
                                    least),
                        "more, or 0");
    }
    need_beside(reader, "turn_tokens", "turns", "is of conversations", "turns: 4");
    need_beside(reader, "turn_forks", "turns", "is of conversations", "turns: 4");
    need_beside(reader, "turn_fork_kept", "turn_forks", "is of turns that fork", "turn_forks: 0.1");
    need_beside(reader, "turn_gap", "turns", "is of conversations", "turns: 4");
}

void check_length_draws(MapReader& reader, const WorkloadSpec& workload) {
    if (!reader.has("lengths")) {
        need_beside(reader,
                    "length_draws",
                    "length_spread",
                    "is of lengths that differ",
                    "length_spread: 0.8");
    }
    if (workload.length_draws == LengthDraws::numpy && workload.has_conversations()) {
        refuse_beside(reader, {"length_draws"}, "numpy is not of conversations", "turns: 1");
    }
}

// What a trace or a table of clients says instead.
constexpr const char* kOfDrawnLoad[] = {"input_tokens",
                                        "output_tokens",
                                        "length_spread",
                                        "length_draws",
                                        "arrival_variation",
                                        "arrival_step",
                                        "repeated_requests",
                                        "turns",
                                        "turns_variation",
                                        "turn_tokens",
                                        "turn_forks",
                                        "turn_fork_kept",
                                        "turn_gap",
                                        "system_tokens"};

void check_sources(MapReader& reader, const WorkloadSpec& workload) {
    if (!workload.trace.empty()) {
        const char* const why = "is of a synthetic load, and a trace is given";
        refuse_beside(reader, {"num_requests", "request_rate"}, why, "keep one");
        for (const char* const key : kOfDrawnLoad) {
            refuse_beside(reader, {key}, why, "keep one");
        }
    }
    if (!workload.clients.empty()) {
        const auto refuse = [&](const char* key) {
            if (reader.has(key)) {
                reader.complain(
                    key, fmt::format("workload.clients stands for workload.{}", key), "keep one");
            }
        };
        for (const char* const key : {"trace", "lengths", "users"}) {
            refuse(key);
        }
        std::ranges::for_each(kOfDrawnLoad, refuse);
    } else {
        refuse_beside(reader, {"client_group"}, "is of a table of clients", "clients: FILE");
    }
    if (workload.trace.empty()) {
        refuse_beside(reader, {"trace_block_tokens"}, "is of the blocks of a trace", "trace: FILE");
    }
    const bool drawn = workload.trace.empty() && workload.clients.empty();
    if (drawn) {
        check_turns(reader, workload);
        check_length_draws(reader, workload);
        for (const char* const key : {"arrival_variation", "arrival_step"}) {
            need_beside(reader,
                        key,
                        "request_rate",
                        "is of requests that come at a rate",
                        "request_rate: 10");
        }
    }
    need_beside(reader, "image_share", "images", "is of images", "images: 1");
    need_beside(reader, "image_prompt_tokens", "images", "is of images", "images: 1");
    if (workload.images > 0 && workload.has_conversations()) {
        refuse_beside(reader, {"images"}, "are not of conversations", "turns: 1");
    }
    need_beside(reader, "adapter_popularity", "adapters", "is of adapters", "adapters: 100");
    need_beside(reader,
                "adapter_alpha",
                "adapter_popularity",
                "is of adapters by zipf",
                "adapter_popularity: zipf");
}

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
    }
    std::string clients;
    if (reader.word("clients", clients)) {
        workload.clients = folder / clients;
    }
    check_sources(reader, workload);
    std::string lengths;
    if (reader.word("lengths", lengths)) {
        workload.lengths = folder / lengths;
        for (const char* key :
             {"trace", "input_tokens", "output_tokens", "length_spread", "length_draws"}) {
            if (section.find(key) != nullptr) {
                reader.complain(
                    key, fmt::format("workload.lengths stands for workload.{}", key), "keep one");
            }
        }
    }
    if (workload.has_conversations() && workload.trace.empty() && workload.clients.empty() &&
        (workload.users > 0 || workload.request_rate <= 0)) {
        reader.complain("turns",
                        "conversations come at a rate",
                        "request_rate: 10, the turns of all conversations together");
    }
    if (workload.repeated_requests > 0 && workload.has_conversations()) {
        refuse_beside(
            reader, {"repeated_requests"}, "are not of conversations", "repeated_requests: 0");
    }
    if (workload.repeated_requests > workload.num_requests) {
        refuse_beside(reader,
                      {"repeated_requests"},
                      fmt::format("are some of the {} requests", workload.num_requests),
                      "at most num_requests");
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

}  // namespace orrery
