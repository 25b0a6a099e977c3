// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/network_report.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using namespace literals;

NetworkAnswer sample() {
    NetworkAnswer a;
    a.scenario = "s";
    a.pattern = "all_reduce";
    a.fidelity = "fluid";
    a.routing = "ecmp";
    a.ranks = 8;
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
    a.busiest = {{.link = "leaf 0 -> spine 1", .utilisation = 0.5, .bytes = 1 << 20, .flows = 3}};
    return a;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(NetworkReport, HasNcclTestsColumns) {
    const std::string text = network_report(sample());
    EXPECT_TRUE(has(text, "4194304       1048576  float    sum  nvls_tree  Simple"));
    EXPECT_TRUE(has(text, "100.00   41.94   73.40\n")) << text;
    EXPECT_TRUE(has(text, "leaf 0 -> spine 1"));
    EXPECT_FALSE(has(text, "Flow completion times"));
}

TEST(NetworkReport, TellsWhatGaveUpAndWhatWaited) {
    NetworkAnswer a = sample();
    a.rows[0].finished = false;
    a.flows = {{.size = 1_MiB, .flows = 8, .finished = 7, .moved = 2, .stalled = 3, .max = 5_ms}};
    a.packets = {{.size = 1_MiB, .pauses = 77, .queue_max = 3_KiB, .queue_at = "leaf 0 -> host 0"}};
    a.notes = {"at 1.000 ms leaf 0 -> spine 1: down"};
    const std::string text = network_report(a);
    EXPECT_TRUE(has(text, "GAVE UP"));
    EXPECT_TRUE(has(text, "2 moved to another path, 3 stood still"));
    EXPECT_TRUE(has(text, "3.00 KiB at leaf 0 -> host 0"));
    EXPECT_TRUE(has(text, "  at 1.000 ms leaf 0 -> spine 1: down\n"));
}

}  // namespace
}  // namespace orrery
