// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/statistics.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/report/serving_report.h"

namespace orrery {
namespace {

using CampaignJson = nlohmann::ordered_json;

struct Figures {
    const char* title;
    const char* key;
    Unit unit;
    double (*of)(const ServingAnswer&);
};

std::int64_t moved_requests(const ServingAnswer& answer) {
    std::int64_t moved = 0;
    for (const ServingAnswer::Fault& fault : answer.faults) {
        moved += fault.moved_requests;
    }
    return moved;
}

std::int64_t lost_tokens(const ServingAnswer& answer) {
    std::int64_t lost = 0;
    for (const ServingAnswer::Fault& fault : answer.faults) {
        lost += fault.lost_tokens;
    }
    return lost;
}

constexpr Figures kFigures[] = {
    {"faults", "faults", Unit::number, [](const ServingAnswer& a) {
         return static_cast<double>(a.faults.size());
     }},
    {"instances are up", "availability", Unit::share, [](const ServingAnswer& a) {
         return a.availability;
     }},
    {"requests that met the objectives", "good_share", Unit::share, [](const ServingAnswer& a) {
         return a.good_share;
     }},
    {"requests moved", "moved_requests", Unit::number, [](const ServingAnswer& a) {
         return static_cast<double>(moved_requests(a));
     }},
    {"tokens computed again", "lost_tokens", Unit::number, [](const ServingAnswer& a) {
         return static_cast<double>(lost_tokens(a));
     }},
    {"first token, mean", "ttft_s", Unit::seconds, [](const ServingAnswer& a) {
         return a.ttft_s.mean;
     }},
    {"first token, 99 of 100", "ttft_p99_s", Unit::seconds, [](const ServingAnswer& a) {
         return a.ttft_s.p99;
     }},
    {"output token, 99 of 100", "tpot_p99_s", Unit::seconds, [](const ServingAnswer& a) {
         return a.tpot_s.p99;
     }},
    {"end to end, 99 of 100", "e2e_p99_s", Unit::seconds, [](const ServingAnswer& a) {
         return a.e2e_s.p99;
     }}};

struct OverRuns {
    double mean = 0;
    double error = 0;  // standard error of the mean
    double least = 0;
    double most = 0;
    double without_faults = 0;  // mean
};

OverRuns over_runs(const ServedCampaign& campaign, const Figures& figure) {
    OverRuns all;
    const auto count = static_cast<double>(campaign.runs.size());
    std::vector<double> values;
    for (const ServedCampaign::Run& run : campaign.runs) {
        values.push_back(figure.of(run.answer));
        all.without_faults += figure.of(run.without_faults) / count;
    }
    const Moments of_values = moments(values);
    all.mean = of_values.mean;
    all.error = of_values.sample_deviation() / std::sqrt(count);
    all.least = *std::min_element(values.begin(), values.end());
    all.most = *std::max_element(values.begin(), values.end());
    return all;
}

}  // namespace

Report served_campaign_sections(const Scenario& scenario, const ServedCampaign& campaign) {
    Report report{.title = scenario.name};
    report.lines = {fmt::format("{} by {}: {} runs, each with requests and faults of its own",
                                scenario.model.name,
                                scenario.serving.engine.name,
                                campaign.runs.size())};
    ReportSection section{.title = "Over the runs",
                          .note = "Without faults: the mean of the same requests. The second "
                                  "column is the standard error of the mean."};
    section.table.columns = {{""},
                             {"mean", Unit::words, 1, true},
                             {"±", Unit::words, 1, true},
                             {"least", Unit::words, 1, true},
                             {"most", Unit::words, 1, true},
                             {"without faults", Unit::words, 1, true}};
    for (const Figures& figure : kFigures) {
        const OverRuns all = over_runs(campaign, figure);
        const auto text = [&](double value) { return cell_text(Cell{value}, figure.unit); };
        section.table.rows.push_back({figure.title,
                                      text(all.mean),
                                      text(all.error),
                                      text(all.least),
                                      text(all.most),
                                      text(all.without_faults)});
    }
    report.sections.push_back(std::move(section));
    return report;
}

std::string served_campaign_json(const Scenario& scenario, const ServedCampaign& campaign) {
    CampaignJson json{{"scenario", scenario.name}};
    for (const Figures& figure : kFigures) {
        const OverRuns all = over_runs(campaign, figure);
        json[figure.key] = {{"mean", all.mean},
                            {"standard_error", all.error},
                            {"least", all.least},
                            {"most", all.most},
                            {"without_faults", all.without_faults}};
    }
    json["runs"] = CampaignJson::array();
    for (const ServedCampaign::Run& run : campaign.runs) {
        CampaignJson one{{"seed", run.seed}};
        for (const Figures& figure : kFigures) {
            one[figure.key] = figure.of(run.answer);
        }
        json["runs"].push_back(std::move(one));
    }
    return json_text(json);
}

}  // namespace orrery
