// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/reproduction_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/format/document/quantity.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/format/read/read_reproduction.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/studies/reproduce/verdict.h"

namespace orrery {
namespace {

using RoomJson = nlohmann::ordered_json;

std::string reproduced_figure(const ReproducedComparison& comparison, double value) {
    const std::string_view unit = comparison.baseline.empty() ? unit_of(comparison.metric) : "x";
    return fmt::format("{:.4g}{}{}", value, unit.empty() ? "" : " ", unit);
}

std::string simulated_figure(const ComparisonOutcome& outcome) {
    return outcome.simulated ? reproduced_figure(outcome.comparison, *outcome.simulated) : "none";
}

std::string figure_difference(const ComparisonOutcome& outcome) {
    return outcome.simulated && outcome.published != 0
               ? cell_text(*outcome.simulated / outcome.published - 1, Unit::change)
               : "";
}

const char* verdict_word(bool pass) {
    return pass ? "pass" : "FAILS";
}

ReportSection rooms_table(const std::vector<RoomOutcome>& rooms) {
    ReportSection section{.title = "Rooms"};
    section.table.columns = {{"room"},
                             {"passed", Unit::words, 1, true},
                             {"first figure"},
                             {"published", Unit::words, 1, true},
                             {"simulated", Unit::words, 1, true},
                             {"verdict"}};
    for (const RoomOutcome& room : rooms) {
        const ComparisonOutcome& first = room.comparisons.front();
        section.table.rows.push_back(
            {room.room.name,
             fmt::format("{} of {}", room.passed(), room.comparisons.size()),
             first.comparison.name,
             reproduced_figure(first.comparison, first.published),
             simulated_figure(first),
             verdict_word(room.pass())});
    }
    return section;
}

ReportSection room_section(const RoomOutcome& outcome) {
    const Reproduction& room = outcome.room;
    ReportSection section{.title = fmt::format("{}: {}, {}", room.name, room.system, room.title)};
    section.table.columns = {{"figure"},
                             {"in"},
                             {"rule"},
                             {"published", Unit::words, 1, true},
                             {"simulated", Unit::words, 1, true},
                             {"error", Unit::words, 1, true},
                             {"verdict"}};
    for (const ComparisonOutcome& one : outcome.comparisons) {
        section.table.rows.push_back({one.comparison.name,
                                      one.comparison.exhibit,
                                      rule_of(one.comparison),
                                      reproduced_figure(one.comparison, one.published),
                                      simulated_figure(one),
                                      figure_difference(one),
                                      verdict_word(one.pass)});
    }
    for (const ComparisonOutcome& one : outcome.comparisons) {
        if (!one.error.empty()) {
            section.after.push_back(one.comparison.name + ": " + one.error);
        }
    }
    if (!room.mechanism.empty()) {
        section.after.push_back("Mechanism: " + room.mechanism);
    }
    if (!outcome.pass() && !room.falls_short.empty()) {
        section.after.push_back("Falls short: " + room.falls_short);
    }
    section.after.push_back(fmt::format("Source: {}, {}", room.source, room.url));
    return section;
}

std::string words_of_gain(Cause cause) {
    return cause == Cause::useful_compute ? "model FLOPs at the peak" : words_for(cause);
}

// The change of each cause's time from the baseline's step to the variant's, the largest first.
ReportSection waterfall_of_gain(const RoomOutcome& room, const ComparisonOutcome& outcome) {
    ReportSection section{.title = fmt::format("{}: {}, from {} to {}",
                                               room.room.name,
                                               outcome.comparison.name,
                                               outcome.comparison.baseline,
                                               outcome.comparison.variant)};
    double before = 0;
    double after = 0;
    std::vector<CauseChange> causes = outcome.causes;
    for (const CauseChange& cause : causes) {
        before += cause.baseline_s;
        after += cause.variant_s;
    }
    const double longest = std::max({before, after, 1e-12});
    const auto change = [](const CauseChange& c) { return c.variant_s - c.baseline_s; };
    std::ranges::stable_sort(causes, [&](const CauseChange& a, const CauseChange& b) {
        return std::abs(change(a)) > std::abs(change(b));
    });
    const auto seconds = [](double s) { return to_short_text(Time::seconds(s)); };
    section.bars.push_back({outcome.comparison.baseline, "", seconds(before), before / longest});
    double at = before;
    for (const CauseChange& cause : causes) {
        const double by = change(cause);
        if (std::abs(by) < 0.001 * before) {
            continue;
        }
        section.bars.push_back({.name = words_of_gain(cause.cause),
                                .text = cell_text(by / before, Unit::change),
                                .more = (by < 0 ? "-" : "+") + seconds(std::abs(by)),
                                .share = (at + by) / longest,
                                .begin = at / longest});
        at += by;
    }
    section.bars.push_back({outcome.comparison.variant,
                            cell_text(after / before - 1, Unit::change),
                            seconds(after),
                            after / longest});
    section.note = fmt::format(
        "Published {}, simulated {}. Light and hatched bars are saved time, full bars added time, "
        "for the tokens of the baseline's step. Causes below 0.1 % are left out.",
        reproduced_figure(outcome.comparison, outcome.published),
        simulated_figure(outcome));
    return section;
}

RoomJson reproduced_json(const ComparisonOutcome& outcome) {
    const ReproducedComparison& comparison = outcome.comparison;
    RoomJson causes = RoomJson::array();
    for (const CauseChange& cause : outcome.causes) {
        causes.push_back({{"cause", name(cause.cause)},
                          {"baseline_s", cause.baseline_s},
                          {"variant_s", cause.variant_s}});
    }
    RoomJson json{{"name", comparison.name},
                  {"exhibit", comparison.exhibit},
                  {"class", name(comparison.kind)},
                  {"rule", rule_of(comparison)},
                  {"metric", name(comparison.metric)},
                  {"unit", comparison.baseline.empty() ? unit_of(comparison.metric) : "x"},
                  {"variant", comparison.variant},
                  {"baseline", comparison.baseline},
                  {"published", outcome.published},
                  {"simulated", outcome.simulated ? RoomJson(*outcome.simulated) : RoomJson()},
                  {"pass", outcome.pass},
                  {"causes", causes}};
    if (!outcome.error.empty()) {
        json["error"] = outcome.error;
    }
    return json;
}

std::size_t passed_rooms(const std::vector<RoomOutcome>& rooms) {
    return static_cast<std::size_t>(
        std::ranges::count_if(rooms, [](const RoomOutcome& room) { return room.pass(); }));
}

ReportTable reproduced_table(const std::vector<RoomOutcome>& rooms) {
    ReportTable table;
    table.columns = {{"room"},
                     {"figure"},
                     {"exhibit"},
                     {"class"},
                     {"rule"},
                     {"metric"},
                     {"published", Unit::number, 6},
                     {"simulated", Unit::number, 6},
                     {"pass"}};
    for (const RoomOutcome& room : rooms) {
        for (const ComparisonOutcome& one : room.comparisons) {
            table.rows.push_back({room.room.name,
                                  one.comparison.name,
                                  one.comparison.exhibit,
                                  name(one.comparison.kind),
                                  rule_of(one.comparison),
                                  name(one.comparison.metric),
                                  one.published,
                                  one.simulated ? Cell{*one.simulated} : Cell{},
                                  one.pass ? "true" : "false"});
        }
    }
    return table;
}

}  // namespace

Report reproduction_sections(const std::vector<RoomOutcome>& rooms, bool waterfalls) {
    Report report{.title = "Published systems, simulated"};
    std::size_t comparisons = 0;
    std::size_t passed = 0;
    for (const RoomOutcome& room : rooms) {
        comparisons += room.comparisons.size();
        passed += room.passed();
    }
    report.lines = {
        fmt::format("An absolute figure passes within {:.0f} %, a ratio within {:.0f} "
                    "%, a direction in its range.",
                    kAbsoluteTolerance * 100,
                    kRatioTolerance * 100)};
    report.cards = {{fmt::format("{} of {}", passed_rooms(rooms), rooms.size()), "rooms pass"},
                    {fmt::format("{} of {}", passed, comparisons), "figures pass"}};
    report.result = reproduced_table(rooms);
    if (rooms.size() > 1) {
        report.sections.push_back(rooms_table(rooms));
    }
    for (const RoomOutcome& room : rooms) {
        report.sections.push_back(room_section(room));
        for (const ComparisonOutcome& one : room.comparisons) {
            if (waterfalls && !one.causes.empty()) {
                report.sections.push_back(waterfall_of_gain(room, one));
            }
        }
    }
    report.footer = fmt::format("Orrery {}.", kVersion);
    return report;
}

std::string reproduction_json(const std::vector<RoomOutcome>& rooms) {
    RoomJson list = RoomJson::array();
    for (const RoomOutcome& room : rooms) {
        const ComparisonOutcome& first = room.comparisons.front();
        RoomJson comparisons = RoomJson::array();
        for (const ComparisonOutcome& one : room.comparisons) {
            comparisons.push_back(reproduced_json(one));
        }
        list.push_back({{"name", room.room.name},
                        {"system", room.room.system},
                        {"title", room.room.title},
                        {"source", room.room.source},
                        {"url", room.room.url},
                        {"class", name(first.comparison.kind)},
                        {"rule", rule_of(first.comparison)},
                        {"published", first.published},
                        {"simulated", first.simulated ? RoomJson(*first.simulated) : RoomJson()},
                        {"pass", room.pass()},
                        {"passed_comparisons", room.passed()},
                        {"mechanism", room.room.mechanism},
                        {"falls_short", room.room.falls_short},
                        {"wall_s", room.wall_s},
                        {"comparisons", comparisons}});
    }
    return json_text(RoomJson{{"passed", passed_rooms(rooms)}, {"reproductions", list}});
}

}  // namespace orrery
