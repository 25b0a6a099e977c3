// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/memory_report.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/report.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

double mfu_together(const JobAnswer& job) {
    return job.alone.mfu / job.slowdown();
}

std::vector<TextRow> job_rows(const JobsAnswer& answer) {
    std::vector<TextRow> rows{{"job",
                               "plan",
                               "GPUs",
                               "start",
                               "step alone",
                               "together",
                               "slower by",
                               "MFU alone",
                               "together"}};
    for (const JobAnswer& job : answer.jobs) {
        rows.push_back({job.name,
                        job.alone.plan,
                        fmt::format("{}", job.alone.ranks),
                        to_short_text(job.start),
                        to_short_text(job.alone.iteration),
                        to_short_text(job.iteration),
                        fmt::format("{:.1f} %", 100 * (job.slowdown() - 1)),
                        fmt::format("{:.1f} %", 100 * job.alone.mfu),
                        fmt::format("{:.1f} %", 100 * mfu_together(job))});
    }
    return rows;
}

std::vector<TextRow> link_rows(const JobsAnswer& answer) {
    TextRow head{"links", "busiest shared one", "in use", "shared"};
    for (const JobAnswer& job : answer.jobs) {
        head.push_back(job.name);
    }
    std::vector<TextRow> rows{std::move(head)};
    for (const SharedLinks& links : answer.links) {
        TextRow row{links.link_class,
                    links.busiest.empty() ? "-" : links.busiest,
                    fmt::format("{}", links.used),
                    fmt::format("{}", links.shared)};
        for (std::size_t j = 0; j < answer.jobs.size(); ++j) {
            row.push_back(links.of_busiest.empty()
                              ? "-"
                              : fmt::format("{:.1f} %", 100 * links.of_busiest[j]));
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

constexpr const char* kLinksNote =
    "A job's share of the busiest link that several jobs use is what it carries there, over what "
    "the link could carry in the job's step.";

ReportSection steps_of_jobs(const JobsAnswer& answer) {
    ReportSection section{.title = "Steps",
                          .note =
                              "A bar is a step. What a job loses to the others shows as longer "
                              "bars while they run."};
    PageTimeline timeline{.scale = 1e-9, .kinds = {"first step", "step", "next step"}};
    const auto ns = [](Time time) { return time.picoseconds() / 1000; };
    for (const JobAnswer& job : answer.jobs) {
        PageLane lane{.name = job.name};
        Time begin = job.start;
        for (std::size_t step = 0; step < job.steps.size(); ++step) {
            const Time end = job.steps[step];
            lane.spans.push_back({.kind = step == 0 ? 0U : 1U + (step - 1) % 2,
                                  .begin = ns(begin),
                                  .length = ns(end - begin)});
            begin = end;
        }
        timeline.lanes.push_back(std::move(lane));
    }
    section.timeline = std::move(timeline);
    return section;
}

Json path_of(const CauseTimes& path) {
    Json json = Json::object();
    for (std::size_t c = 0; c < kNumCauses; ++c) {
        if (path.of[c] != Time{}) {
            json[std::string{name(static_cast<Cause>(c))}] = path.of[c].seconds();
        }
    }
    return json;
}

Json job_of(const JobAnswer& job) {
    Json ends = json_list<Json>(job.steps, [](const Time end) { return end.seconds(); });
    return {{"name", job.name},
            {"model", job.alone.model},
            {"plan", job.alone.plan},
            {"ranks", job.alone.ranks},
            {"start_s", job.start.seconds()},
            {"iteration_s", job.iteration.seconds()},
            {"iteration_alone_s", job.alone.iteration.seconds()},
            {"slowdown", job.slowdown()},
            {"mfu", mfu_together(job)},
            {"mfu_alone", job.alone.mfu},
            {"uncertainty", job.alone.uncertainty},
            {"peak_memory_bytes", job.alone.memory.peak.count()},
            {"fits", job.alone.memory.fits},
            {"critical_path_s", path_of(job.critical_path)},
            {"step_end_s", std::move(ends)}};
}

Json links_of(const JobsAnswer& answer, const SharedLinks& links) {
    Json json{{"class", links.link_class}, {"used", links.used}, {"shared", links.shared}};
    if (links.shared > 0) {
        json["busiest"] = links.busiest;
        for (std::size_t j = 0; j < answer.jobs.size(); ++j) {
            json["utilisation"][answer.jobs[j].name] = links.of_busiest[j];
        }
    }
    return json;
}

}  // namespace

std::string jobs_json(const JobsAnswer& answer) {
    Json jobs = json_list<Json>(answer.jobs, job_of);
    Json links = json_list<Json>(answer.links,
                                 [&](const SharedLinks& each) { return links_of(answer, each); });
    return json_text(Json{{"scenario", answer.scenario},
                          {"device", answer.device},
                          {"cluster", answer.cluster},
                          {"network_model", answer.network_model},
                          {"ranks", answer.ranks},
                          {"remarks", answer.remarks},
                          {"jobs", std::move(jobs)},
                          {"shared_links", std::move(links)},
                          {"seed", answer.seed},
                          {"simulated_ops", answer.simulated_ops},
                          {"fold_classes", answer.fold_classes},
                          {"flows", answer.flows},
                          {"wall_s", answer.wall_s},
                          {"version", answer.version}});
}

Report jobs_sections(const JobsAnswer& answer) {
    Report report{
        .title = answer.scenario,
        .lines = answer.remarks,
        .facts = {
            {"jobs", fmt::format("{}", answer.jobs.size())},
            {"cluster", fmt::format("{}, {} in use", answer.cluster, counted(answer.ranks, "GPU"))},
            {"network", answer.network_model}}};
    for (const JobAnswer& job : answer.jobs) {
        if (!job.alone.memory.fits) {
            report.lines.insert(report.lines.begin(),
                                job.name + ": " + does_not_fit_line(job.alone.memory));
        }
        report.cards.push_back(
            {.value = to_short_text(job.iteration),
             .what = "a step of " + job.name,
             .bad = !job.alone.memory.fits,
             .more = fmt::format("{:.1f} % longer than alone", 100 * (job.slowdown() - 1))});
    }
    report.sections.push_back({.title = "Jobs", .table = words_table(job_rows(answer), 2)});
    report.sections.push_back(steps_of_jobs(answer));
    report.sections.push_back({.title = "Links that several jobs use",
                               .note = kLinksNote,
                               .table = words_table(link_rows(answer), 2)});
    ReportSection heat{.title = "Use of the links",
                       .note =
                           "A cell is a link; its colour the share of its capacity that all jobs "
                           "together use."};
    for (const LinkHeat& each : answer.heat) {
        heat.heat.push_back({each.link_class, each.utilisation, {}, each.links});
    }
    report.sections.push_back(std::move(heat));
    report.footer = fmt::format("Orrery {}, seed {}.", answer.version, answer.seed);
    return report;
}

}  // namespace orrery
