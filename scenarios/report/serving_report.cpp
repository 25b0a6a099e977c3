// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/serving_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/served_load_sections.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

std::string words_of_load(const WorkloadSpec& load) {
    if (!load.trace.empty()) {
        return "requests of " + load.trace.filename().string();
    }
    if (!load.clients.empty()) {
        const std::string table = load.clients.filename().string();
        const std::string of =
            load.client_group.empty() ? table : load.client_group + " of " + table;
        return load.request_rate > 0
                   ? fmt::format("clients {}, {:g} requests a second", of, load.request_rate)
                   : "clients " + of;
    }
    const std::string lengths =
        load.lengths.empty()
            ? fmt::format("{:g} tokens in, {:g} out", load.input_tokens, load.output_tokens)
            : "lengths of " + load.lengths.filename().string();
    if (load.users > 0) {
        return fmt::format("{} users, {}", load.users, lengths);
    }
    return load.request_rate > 0
               ? fmt::format("{:g} requests a second, {}", load.request_rate, lengths)
               : "all requests at once, " + lengths;
}

ReportSection latencies(const ServingAnswer& answer) {
    ReportSection section{
        .title = "Latencies",
        .note =
            "The time of an output token is the mean after the first token of a request."};
    section.table.columns = {{""},
                             {"mean", Unit::seconds},
                             {"p50", Unit::seconds},
                             {"p90", Unit::seconds},
                             {"p99", Unit::seconds}};
    const auto row = [&](const char* name, const LatencySummary& of) {
        section.table.rows.push_back({name,
                                      known_cell(of.mean),
                                      known_cell(of.p50),
                                      known_cell(of.p90),
                                      known_cell(of.p99)});
    };
    row("first token", answer.ttft_s);
    row("output token", answer.tpot_s);
    if (answer.slow_gap_s.mean > 0) {
        row("slow tokens", answer.slow_gap_s);
        section.note +=
            " Slow tokens: the mean of the longest tenth of a request's times between "
            "tokens.";
    }
    row("end to end", answer.e2e_s);
    return section;
}

ReportSection pools(const Scenario& scenario, const ServingAnswer& answer) {
    ReportSection section{.title = "Pools",
                          .note =
                              "Busy: the share of the time in which the first stage of an "
                              "instance computes. The cache is an instance's, in tokens."};
    section.table.columns = {{"pool"},
                             {"instances", Unit::words},
                             {"busy", Unit::share},
                             {"steps", Unit::count},
                             {"tokens a step", Unit::number},
                             {"cache", Unit::count},
                             {"most in use", Unit::count}};
    for (std::size_t i = 0; i < answer.pools.size(); ++i) {
        const ServingAnswer::Pool& pool = answer.pools[i];
        section.table.rows.push_back({name(pool.role),
                                      words_of_pool(scenario.serving.pools[i]),
                                      pool.busy,
                                      pool.batches,
                                      pool.mean_batch,
                                      pool.cache_tokens,
                                      pool.most_cache_tokens});
    }
    for (const ServingAnswer::Pool& pool : answer.pools) {
        if (pool.drafted_tokens > 0) {
            section.after.push_back(fmt::format("{} of {} proposed tokens were accepted ({}).",
                                                pool.accepted_tokens,
                                                pool.drafted_tokens,
                                                name(pool.role)));
        }
    }
    if (answer.transfers > 0) {
        section.after.push_back(
            fmt::format("{} caches of prompts moved between the pools: {} in all, {} each on "
                        "average.",
                        answer.transfers,
                        to_short_text(answer.transferred),
                        to_short_text(Time::seconds(answer.transfer_s))));
    }
    return section;
}

Json tiers_json(const ServingAnswer& answer) {
    return json_list<Json>(answer.tiers, [](const ServingAnswer::Tier& tier) -> Json {
        return {{"kind", name(tier.kind)},
                {"capacity_tokens", tier.capacity},
                {"most_tokens", tier.most},
                {"written_tokens", tier.written},
                {"loaded_tokens", tier.loaded},
                {"left_tokens", tier.left}};
    });
}

Json row_json(const ServingAnswer& answer) {
    if (!answer.row) {
        return {};
    }
    return {{"mean_watts", answer.row->mean_watts},
            {"peak_watts", answer.row->peak_watts},
            {"limit_watts", answer.row->limit_watts},
            {"capped", answer.row->capped},
            {"brakes", answer.row->brakes}};
}

Json encoder_json(const ServingAnswer& answer) {
    if (!answer.encoder) {
        return {};
    }
    return {{"instances", answer.encoder->instances},
            {"images", answer.encoder->images},
            {"busy", answer.encoder->busy},
            {"wait_s", answer.encoder->wait_s}};
}

Json scaled_json(const ServingAnswer& answer) {
    Json list = Json::array();
    for (const ServingAnswer::ScaledPool& pool : answer.scaled) {
        Json timeline = Json::array();
        for (const auto& [seconds, instances] : pool.timeline) {
            timeline.push_back({{"at_s", seconds}, {"instances", instances}});
        }
        list.push_back({{"role", name(pool.role)},
                        {"start_up_s", pool.start_up.seconds()},
                        {"least", pool.least},
                        {"most", pool.most},
                        {"mean", pool.mean},
                        {"timeline", std::move(timeline)}});
    }
    return list;
}

// Share of the requests with at most a latency, over the latency.
ReportSection distribution(const ServingResult& result) {
    constexpr std::size_t kPoints = 60;
    std::vector<double> first;
    std::vector<double> all;
    for (const RequestRecord& record : result.records) {
        if (record.finished()) {
            first.push_back(record.time_to_first_token().seconds());
            all.push_back(record.end_to_end().seconds());
        }
    }
    std::sort(first.begin(), first.end());
    std::sort(all.begin(), all.end());
    ReportSection section{.title = "Requests by latency"};
    PageChart chart{.x = {"latency", "s"}, .y = {"share of requests", "share"}, .log = true};
    PageSeries to_first{.name = "first token"};
    PageSeries to_last{.name = "end to end"};
    const auto share = [](const std::vector<double>& sorted, double at) {
        return static_cast<double>(std::upper_bound(sorted.begin(), sorted.end(), at) -
                                   sorted.begin()) /
               static_cast<double>(sorted.size());
    };
    if (all.size() > 1) {
        const double least = std::max(first.front(), 1e-6);
        for (std::size_t i = 0; i <= kPoints; ++i) {
            const double at =
                least * std::pow(all.back() / least, static_cast<double>(i) / kPoints);
            chart.xs.push_back(at);
            to_first.values.emplace_back(share(first, at));
            to_last.values.emplace_back(share(all, at));
        }
        chart.series = {std::move(to_first), std::move(to_last)};
        section.chart = std::move(chart);
    }
    return section;
}

Json summary_json(const LatencySummary& of) {
    return {{"mean", of.mean}, {"p50", of.p50}, {"p90", of.p90}, {"p99", of.p99}};
}

// "none" if no request has such a latency.
std::string latency_words(double seconds) {
    return seconds > 0 ? to_short_text(Time::seconds(seconds)) : "none";
}

// Latencies over those of an idle instance, beside the objectives.
ReportSection slowdowns(const ServingAnswer::Slowdowns& found, const ServingObjectives& wanted) {
    ReportSection section{
        .title = "Slowdowns",
        .note = "A latency over that of the same request alone on an idle instance; 0 allows all."};
    section.table.columns = {{""},
                             {"p50", Unit::number, 2},
                             {"allowed", Unit::number, 2},
                             {"p90", Unit::number, 2},
                             {"allowed", Unit::number, 2},
                             {"p99", Unit::number, 2},
                             {"allowed", Unit::number, 2}};
    const auto row = [&](const char* name,
                         const LatencySummary& of,
                         const SlowdownObjective& most) {
        section.table.rows.push_back({name, of.p50, most.p50, of.p90, most.p90, of.p99, most.p99});
    };
    row("first token", found.ttft, wanted.ttft_slowdown);
    row("between tokens", found.tbt, wanted.tbt_slowdown);
    row("end to end", found.e2e, wanted.e2e_slowdown);
    return section;
}

// The first faults, and the number of further ones.
ReportSection faults_section(const ServingAnswer& answer) {
    constexpr std::size_t kShown = 12;
    ReportSection section{
        .title = "Faults",
        .note =
            "Noticed and back: of the instances that it stopped, all of them. Moved: requests that "
            "went elsewhere. Lost tokens are keys and values that are computed again."};
    section.table.columns = {{"fault"},
                             {"at", Unit::seconds},
                             {"instances", Unit::count},
                             {"times as slow", Unit::number, 2},
                             {"noticed", Unit::seconds},
                             {"back", Unit::seconds},
                             {"moved", Unit::count},
                             {"lost tokens", Unit::count}};
    const auto time = [](const std::optional<Time>& at) {
        return at ? Cell{at->seconds()} : Cell{};
    };
    for (std::size_t i = 0; i < std::min(kShown, answer.faults.size()); ++i) {
        const ServingAnswer::Fault& fault = answer.faults[i];
        section.table.rows.push_back({fault.what,
                                      fault.at.seconds(),
                                      fault.instances,
                                      known_cell(fault.factor),
                                      time(fault.noticed),
                                      time(fault.back),
                                      fault.moved_requests,
                                      fault.lost_tokens});
    }
    if (answer.faults.size() > kShown) {
        section.after.push_back(fmt::format("{} more faults.", answer.faults.size() - kShown));
    }
    section.after.push_back(
        fmt::format("Instances are up {:.3f} % of the time.", answer.availability * 100));
    return section;
}

Json parts_json(const ServingAnswer& answer) {
    Json json;
    for (std::size_t i = 0; i < kRequestParts.size(); ++i) {
        json[std::string{kRequestParts[i].key}] = summary_json(answer.parts_s[i]);
    }
    return json;
}

// By pool; empty if nothing was recorded over time.
Json loads_json(const ServedTimeline& timeline) {
    Json pools = Json::array();
    for (const std::vector<PoolLoad>& loads : timeline.loads()) {
        Json list = Json::array();
        for (std::size_t part = 0; part < loads.size(); ++part) {
            list.push_back({{"at_s", static_cast<double>(part) * timeline.part().seconds()},
                            {"computing", loads[part].computing},
                            {"sequences", loads[part].sequences},
                            {"waiting", loads[part].waiting},
                            {"caches", loads[part].cache}});
        }
        pools.push_back(std::move(list));
    }
    return pools;
}

Json faults_json(const ServingAnswer& answer) {
    const auto time = [](const std::optional<Time>& at) {
        return at ? Json(at->seconds()) : Json();
    };
    return json_list<Json>(answer.faults, [&](const ServingAnswer::Fault& fault) -> Json {
        return {{"at_s", fault.at.seconds()},
                {"what", fault.what},
                {"instances", fault.instances},
                {"factor", known_or_null<Json>(fault.factor)},
                {"noticed_s", time(fault.noticed)},
                {"back_s", time(fault.back)},
                {"moved_requests", fault.moved_requests},
                {"lost_tokens", fault.lost_tokens}};
    });
}

}  // namespace

std::string words_of_pool(const ServingPoolSpec& pool) {
    const ServingPlan& plan = pool.plan;
    std::string text = fmt::format("{} x tp {}", pool.instances, plan.tensor_model_parallel_size);
    if (plan.pipeline_model_parallel_size > 1) {
        text += fmt::format(", pp {}", plan.pipeline_model_parallel_size);
    }
    if (plan.data_parallel_size > 1) {
        text += fmt::format(", dp {}", plan.data_parallel_size);
    }
    if (plan.context_parallel_size > 1) {
        text += fmt::format(", cp {}", plan.context_parallel_size);
    }
    if (plan.expert_model_parallel_size > 1) {
        text += fmt::format(", ep {}", plan.expert_model_parallel_size);
    }
    return text;
}

namespace {

// Adds the sections of optional features.
void add_parts_of_pools(const ServingAnswer& answer, Report& report) {
    if (answer.encoder) {
        report.sections.push_back(encoder_section(*answer.encoder));
    }
    if (answer.row) {
        report.sections.push_back(row_section(*answer.row));
    }
    if (!answer.chain.empty()) {
        report.sections.push_back(chain_section(answer.chain));
    }
    if (!answer.scaled.empty()) {
        report.sections.push_back(scaling_section(answer));
    }
    if (!answer.tiers.empty()) {
        report.sections.push_back(tiers_section(answer));
    }
    if (!answer.faults.empty()) {
        report.sections.push_back(faults_section(answer));
    }
}

}  // namespace

Report serving_sections(const Scenario& scenario,
                        const ServingAnswer& answer,
                        const ServingResult& result,
                        const ServedTimeline& timeline) {
    Report report{.title = scenario.name};
    report.lines = {fmt::format("{} by {} on {}",
                                scenario.model.name,
                                scenario.serving.engine.name,
                                words_of(scenario.cluster)),
                    words_of_load(scenario.workload) + ": " +
                        (answer.requests == 0 ? "no request is served"
                                              : fmt::format("{} request{} in {}",
                                                            thousands(answer.requests),
                                                            answer.requests == 1 ? "" : "s",
                                                            to_short_text(answer.makespan)))};
    std::ranges::copy(scenario.model_remarks, std::back_inserter(report.lines));
    if (answer.refused > answer.rejected) {
        report.lines.push_back(fmt::format("{} requests are refused: they never fit into the cache",
                                           answer.refused - answer.rejected));
    }
    if (answer.rejected > 0) {
        report.lines.push_back(fmt::format(
            "{} requests are turned away: they would miss an objective", answer.rejected));
    }
    if (answer.preemptions > 0) {
        report.lines.push_back(fmt::format(
            "{} times a sequence gave up its cache and was computed again", answer.preemptions));
    }
    report.cards = {{thousands(std::llround(answer.output_tokens_per_s)), "output tokens a second"},
                    {latency_words(answer.ttft_s.p50), "to the first token, median"},
                    {latency_words(answer.tpot_s.p50), "an output token, median"},
                    {latency_words(answer.e2e_s.p99), "end to end, 99 of 100"}};
    const ServingObjectives& wanted = scenario.serving.objectives;
    if (std::max({wanted.ttft, wanted.tpot, wanted.e2e, wanted.tbt}) > Time{}) {
        report.cards.push_back({fmt::format("{:.3g}", answer.goodput),
                                fmt::format("requests a second met the objectives, {:.1f} % of all",
                                            answer.good_share * 100),
                                answer.good_share < 0.9});
    }
    if (answer.cost_per_million_tokens > 0) {
        report.cards.push_back({fmt::format("{:.3g}", answer.cost_per_million_tokens),
                                "cost of a million output tokens"});
    }
    if (answer.kwh_per_million_tokens > 0) {
        report.cards.push_back({fmt::format("{:.3g} kWh", answer.kwh_per_million_tokens),
                                "energy of a million output tokens"});
    }
    report.sections = {
        latencies(answer), request_times_section(answer), pools(scenario, answer)};
    add_parts_of_pools(answer, report);
    if (answer.slowdowns) {
        report.sections.insert(report.sections.begin() + 1, slowdowns(*answer.slowdowns, wanted));
    }
    if (ReportSection curves = distribution(result); curves.chart) {
        report.sections.push_back(std::move(curves));
    }
    for (ReportSection& section : load_sections(answer, timeline)) {
        report.sections.push_back(std::move(section));
    }
    return report;
}

std::string serving_json(const Scenario& scenario,
                         const ServingAnswer& answer,
                         const ServedTimeline& timeline) {
    Json of_pools = json_list<Json>(answer.pools, [](const ServingAnswer::Pool& pool) -> Json {
        return {{"role", name(pool.role)},
                {"instances", pool.instances},
                {"busy", pool.busy},
                {"steps", pool.batches},
                {"tokens_per_step", pool.mean_batch},
                {"cache_tokens", pool.cache_tokens},
                {"most_cache_tokens", pool.most_cache_tokens},
                {"drafted_tokens", pool.drafted_tokens},
                {"accepted_tokens", pool.accepted_tokens}};
    });
    Json json = {{"scenario", scenario.name},
                 {"model", scenario.model.name},
                 {"engine", scenario.serving.engine.name},
                 {"cluster", words_of(scenario.cluster)},
                 {"requests", answer.requests},
                 {"refused", answer.refused},
                 {"rejected", answer.rejected},
                 {"preemptions", answer.preemptions},
                 {"makespan_s", answer.makespan.seconds()},
                 {"queued_s", summary_json(answer.queued_s)},
                 {"parts_s", parts_json(answer)},
                 {"ttft_s", summary_json(answer.ttft_s)},
                 {"tpot_s", summary_json(answer.tpot_s)},
                 {"slow_gap_s", summary_json(answer.slow_gap_s)},
                 {"e2e_s", summary_json(answer.e2e_s)},
                 {"output_tokens_per_s", answer.output_tokens_per_s},
                 {"requests_per_s", answer.requests_per_s},
                 {"goodput", answer.goodput},
                 {"good_share", answer.good_share},
                 {"cached_share", answer.cached_share},
                 {"pools", std::move(of_pools)},
                 {"load", loads_json(timeline)},
                 {"loaded_share", answer.loaded_share},
                 {"tiers", tiers_json(answer)},
                 {"scaled", scaled_json(answer)},
                 {"gpu_hours", answer.gpu_hours},
                 {"row", row_json(answer)},
                 {"encoder", encoder_json(answer)},
                 {"loads", answer.loads},
                 {"loaded_bytes", answer.loaded.count()},
                 {"load_s", answer.load_s},
                 {"exposed_load_s", answer.exposed_load_s},
                 {"transfers", answer.transfers},
                 {"transferred_bytes", answer.transferred.count()},
                 {"transfer_s", answer.transfer_s},
                 {"cost_per_million_tokens", known_or_null<Json>(answer.cost_per_million_tokens)},
                 {"kwh_per_million_tokens", known_or_null<Json>(answer.kwh_per_million_tokens)},
                 {"availability", answer.availability},
                 {"faults", faults_json(answer)},
                 {"remarks", scenario.model_remarks},
                 {"seed", answer.seed},
                 {"wall_s", answer.wall_s}};
    if (!answer.chain.empty()) {
        json["chain"] = chain_json<Json>(answer.chain);
    }
    if (answer.slowdowns) {
        json["slowdowns"] = {{"ttft", summary_json(answer.slowdowns->ttft)},
                             {"tbt", summary_json(answer.slowdowns->tbt)},
                             {"e2e", summary_json(answer.slowdowns->e2e)}};
    }
    return json_text(json);
}

}  // namespace orrery
