// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "scenarios/report/study_sections.h"
#include "tests/scenarios/golden_report.h"
#include "tests/scenarios/report/json_schema.h"

namespace orrery {
namespace jobs_report_test {

using namespace literals;

JobsAnswer sample_jobs() {
    JobsAnswer answer{.scenario = "two-jobs",
                      .cluster = "16 x dgx-h100, clos",
                      .device = "h100-80g",
                      .network_model = "fluid",
                      .ranks = 128,
                      .version = "0.1.0"};
    for (const char* name : {"llama", "gpt"}) {
        JobAnswer job{.name = name, .start = Time{}, .iteration = 1500_ms};
        job.alone.iteration = 1000_ms;
        job.alone.mfu = 0.45;
        job.alone.ranks = 64;
        job.alone.model = "llama-3-8b";
        job.alone.plan = "tp 8, dp 8";
        job.steps = {1600_ms, 3100_ms};
        job.critical_path[Cause::exposed_data] = 1500_ms;
        answer.jobs.push_back(job);
    }
    answer.links = {{.link_class = "nic", .used = 128},
                    {.link_class = "leaf-spine",
                     .used = 64,
                     .shared = 32,
                     .busiest = "leaf 0 -> spine 1",
                     .of_busiest = {0.25, 0.5}}};
    answer.heat = {{.link_class = "leaf-spine", .utilisation = {0.75, 0.1}}};
    return answer;
}

TEST(JobsReport, SaysHowMuchSlowerEachJobIsAndWhereTheyMeet) {
    expect_golden("jobs", to_text(jobs_sections(sample_jobs())));
}

TEST(JobsReport, SaysOnTopWhichJobDoesNotFit) {
    JobsAnswer answer = sample_jobs();
    answer.jobs[1].alone.memory = {.peak = Bytes{std::int64_t{90} << 30},
                                   .device = Bytes{std::int64_t{80} << 30},
                                   .fits = false};
    EXPECT_EQ(
        jobs_sections(answer).lines.front().find("gpt: DOES NOT FIT: the fullest GPU needs 90"),
        0u);
}

TEST(JobsReport, JsonFollowsItsSchema) {
    std::ifstream file{ORRERY_SOURCE_DIR "/docs/schema/simulate_jobs.schema.json"};
    const auto schema = nlohmann::json::parse(file);
    const auto json = nlohmann::json::parse(jobs_json(sample_jobs()));
    SchemaCheck check;
    check.check(json, schema, "");
    EXPECT_EQ(check.mistakes, std::vector<std::string>{});
    EXPECT_DOUBLE_EQ(json["jobs"][1]["iteration_s"], 1.5);
    EXPECT_DOUBLE_EQ(json["jobs"][1]["iteration_alone_s"], 1);
    EXPECT_EQ(json["jobs"][1]["name"], "gpt");
    EXPECT_DOUBLE_EQ(json["shared_links"][1]["utilisation"]["gpt"], 0.5);
    EXPECT_FALSE(json["shared_links"][0].contains("busiest"));
}

TEST(JobsReport, PageHasALaneOfStepsForEachJob) {
    const std::string page = to_html(jobs_sections(sample_jobs()));
    EXPECT_NE(page.find("Links that several jobs use"), std::string::npos);
    EXPECT_NE(page.find("a step of gpt, 50.0 % longer than alone"), std::string::npos);
    EXPECT_NE(page.find("leaf 0 -> spine 1"), std::string::npos);
}

}  // namespace jobs_report_test
}  // namespace orrery
