// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/study_sections.h"
#include "tests/scenarios/golden_report.h"

namespace orrery {
namespace {

TEST(NetworkPage, ShowsBandwidthsAndEveryLink) {
    NetworkAnswer answer{.scenario = "net", .pattern = "all_reduce", .ranks = 64};
    answer.rows = {{.size = Bytes{1 << 20}, .time = Time::seconds(1e-3), .algbw = 5, .busbw = 9},
                   {.size = Bytes{1 << 21}, .time = Time::seconds(2e-3), .algbw = 6, .busbw = 11}};
    answer.classes = {{.link_class = "nic", .links = 4, .used = 2, .mean = 0.25, .max = 0.75}};
    answer.heat = {{"nic", {0, 0.75, 0.25, 0}}};
    answer.busiest = {{.link = "node 3 nic 2 -> tor 18", .utilisation = 0.75}};
    answer.notes = {"a link changed"};
    const std::string html = to_html(network_sections(answer));
    EXPECT_NE(html.find("\"values\":[0.0,0.75,0.25,0.0]"), std::string::npos);
    EXPECT_NE(html.find("\"values\":[9.0,11.0]"), std::string::npos);
    EXPECT_NE(html.find("node 3 nic 2 -> tor 18"), std::string::npos);
    EXPECT_NE(html.find("a link changed"), std::string::npos);
}

using namespace literals;

NetworkAnswer one_size() {
    NetworkAnswer a{.scenario = "s",
                    .cluster = "8 x dgx",
                    .pattern = "all_reduce",
                    .fidelity = "fluid",
                    .routing = "ecmp",
                    .ranks = 8};
    a.rows = {{.size = 4_MiB,
               .count = 1 << 20,
               .reduction = "sum",
               .algorithm = "nvls_tree",
               .protocol = "Simple",
               .channels = 16,
               .time = 100_us,
               .algbw = 41.94,
               .busbw = 73.4}};
    a.links_size = 4_MiB;
    a.classes = {{.link_class = "nic", .links = 4, .used = 2, .mean = 0.25, .max = 0.75}};
    a.busiest = {{.link = "leaf 0 -> spine 1", .utilisation = 0.5, .bytes = 1 << 20, .flows = 3}};
    return a;
}

TEST(NetworkSections, HaveTheColumnsOfNcclTests) {
    expect_golden("network", to_text(network_sections(one_size())));
}

TEST(NetworkSections, SayWhereTheTunersChoiceMakesALargerSizeSlower) {
    NetworkAnswer a = one_size();
    a.rows.push_back(a.rows[0]);
    a.rows[1].size = 8_MiB;
    a.rows[1].algorithm = "ring";
    a.rows[1].algbw = 30;
    const auto lines = network_sections(a).sections.front().after;
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(
        lines[0],
        "From 4.00 MiB to 8.00 MiB NCCL's tuner goes from nvls_tree Simple to ring Simple, and "
        "algbw falls: its own estimate chooses so.");
    a.rows[1].algbw = 50;
    EXPECT_TRUE(network_sections(a).sections.front().after.empty());
}

TEST(NetworkSections, TimesOfFlowsThatNeverEndAreNoZeros) {
    NetworkAnswer a = one_size();
    a.flows = {{.size = 1_MiB, .flows = 8, .finished = 0}};
    const std::string text = to_text(network_sections(a));
    EXPECT_EQ(text.find("0.00 us"), std::string::npos) << text;
    EXPECT_EQ(text.find("0.00  "), std::string::npos) << text;
}

TEST(NetworkSections, SayWhatGaveUpWhatWaitedAndWhatWasMeasured) {
    NetworkAnswer a = one_size();
    a.rows[0].finished = false;
    a.rows[0].measured = 80_us;
    a.flows = {{.size = 1_MiB, .flows = 8, .finished = 7, .moved = 2, .stalled = 3, .max = 5_ms}};
    a.packets = {{.size = 1_MiB, .pauses = 77, .queue_max = 3_KiB, .queue_at = "leaf 0 -> host 0"}};
    a.notes = {"at 1.000 ms leaf 0 -> spine 1: down"};
    expect_golden("network_packets", to_text(network_sections(a)));
}

}  // namespace
}  // namespace orrery
