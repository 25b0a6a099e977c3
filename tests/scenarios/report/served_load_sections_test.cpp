// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/served_load_sections.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using namespace literals;

ServingAnswer two_pools() {
    ServingAnswer answer;
    answer.pools = {{.role = PoolRole::prefill, .instances = 2},
                    {.role = PoolRole::decode, .instances = 4}};
    answer.e2e_s.mean = 2;
    answer.parts_s[0].mean = 0.5;
    answer.parts_s[5].mean = 1.5;
    return answer;
}

ServedTimeline steps_of_two_pools() {
    ServedTimeline timeline;
    timeline.completed({.pool = 0, .first_stage_end = 1_us, .end = 1_us, .prompts = 3, .cache = 1});
    timeline.completed({.pool = 1, .first_stage_end = 1_us, .end = 1_us, .generating = 1});
    timeline.completed({.pool = 1,
                        .begin = 1_us,
                        .first_stage_end = 2_us,
                        .end = 2_us,
                        .generating = 5,
                        .waiting = 7});
    return timeline;
}

TEST(ServedLoadSections, PartsThatNoRequestHadAreLeftOut) {
    const ReportTable table = request_times_section(two_pools()).table;
    ASSERT_EQ(table.rows.size(), 2U);
    EXPECT_EQ(cell_text(table.rows[0][0], Unit::words), "queue");
    EXPECT_EQ(cell_text(table.rows[0][2], Unit::share), "25.0 %");
    EXPECT_EQ(cell_text(table.rows[1][0], Unit::words), "generation");
}

TEST(ServedLoadSections, ChartsHaveTheFiguresOfEachPool) {
    const auto sections = load_sections(two_pools(), steps_of_two_pools());
    ASSERT_EQ(sections.size(), 3U);
    const PageChart& requests = *sections[0].chart;
    ASSERT_EQ(requests.series.size(), 4U);
    ASSERT_EQ(requests.xs.size(), 2U);
    EXPECT_DOUBLE_EQ(*requests.series[0].values[0], 3);
    EXPECT_DOUBLE_EQ(*requests.series[2].values[0], 1);
    EXPECT_DOUBLE_EQ(*requests.series[2].values[1], 5);
    EXPECT_DOUBLE_EQ(*requests.series[3].values[1], 7);
    const PageChart& use = *sections[1].chart;
    EXPECT_DOUBLE_EQ(*use.series[0].values[0], 0.5);   // one of two instances
    EXPECT_DOUBLE_EQ(*use.series[2].values[1], 0.25);  // one of four
    const PageTimeline& batches = *sections[2].timeline;
    ASSERT_EQ(batches.lanes.size(), 2U);
    ASSERT_EQ(batches.lanes[0].spans.size(), 1U);
    EXPECT_EQ(batches.lanes[0].name, "prefill 0");
    EXPECT_EQ(batches.lanes[0].spans[0].kind, 0U);
    ASSERT_EQ(batches.lanes[1].spans.size(), 2U);
    EXPECT_EQ(batches.lanes[1].spans[1].kind, 2U);
    EXPECT_EQ(batches.lanes[1].spans[1].begin, 1000);
    EXPECT_TRUE(load_sections(two_pools(), {}).empty());
}

TEST(ServedLoadSections, TheTableOfRequestsHasARowForEach) {
    ServingResult result;
    result.records.push_back({.arrival = 1_ms,
                              .first_scheduled = 3_ms,
                              .first_token = 7_ms,
                              .last_token = 15_ms,
                              .output_tokens = 5});
    result.records.push_back({.arrival = 2_ms, .refused = true});
    const std::vector<Request> requests{{.prompt_tokens = 11, .output_tokens = 5},
                                        {.prompt_tokens = 12, .output_tokens = 6}};
    EXPECT_EQ(requests_csv(requests, result),
              "request,arrival_s,prompt_tokens,output_tokens,cached_tokens,queued_s,prompt_s,"
              "cache_wait_s,cache_move_s,preempted_s,generation_s,ttft_s,tpot_s,e2e_s,preemptions,"
              "moves,refused\n"
              "0,0.001,11,5,0,0.002,0.004,0,0,0,0.008,0.006,0.002,0.014,0,0,false\n"
              "1,0.002,12,6,0,,,,,,,,,,0,0,true\n");
}

}  // namespace
}  // namespace orrery
