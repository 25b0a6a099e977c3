// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "scenarios/report/trace/perfetto_messages.h"
#include "scenarios/report/trace/perfetto_trace.h"
#include "tests/test_folder.h"

namespace orrery {
namespace perfetto_network_test {

using namespace literals;

NetworkTrace sample() {
    return {.title = "ring of 1 B",
            .tracks = {{.name = "rank 0 -> rank 1",
                        .slices = {{.name = "5 GB/s", .begin = 1_us, .end = 2_us}}}},
            .counters = {{.name = "leaf 0 -> spine 1 (%)", .values = {{Time{}, 0}, {1_us, 12.5}}}}};
}

TEST(PerfettoNetwork, HoldsTheNamesAndTheValues) {
    std::ostringstream out;
    write_network_trace(out, sample());
    const std::string bytes = out.str();
    for (const char* text :
         {"flows: ring of 1 B", "links", "rank 0 -> rank 1", "5 GB/s", "leaf 0 -> spine 1 (%)"}) {
        EXPECT_NE(bytes.find(text), std::string::npos) << text;
    }
    const std::string value = perfetto::Message{}.real(44, 12.5).data();
    ASSERT_EQ(value.size(), 10U);  // two bytes of tag, eight of the double
    double decoded = 0;
    std::memcpy(&decoded, value.data() + 2, sizeof decoded);
    EXPECT_EQ(decoded, 12.5);
    EXPECT_NE(bytes.find(value), std::string::npos);
}

TEST(PerfettoNetwork, AFileIsThereWholeOrNotAtAll) {
    const TestFolder folder;
    const std::string file = (folder / "t").string();
    EXPECT_TRUE(write_network_trace(file, sample()));
    EXPECT_EQ(folder.num_files(), 1U);
    EXPECT_FALSE(write_network_trace("/dev/full", sample()));
}

}  // namespace perfetto_network_test
}  // namespace orrery
