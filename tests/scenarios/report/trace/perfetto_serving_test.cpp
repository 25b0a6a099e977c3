// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>

#include "scenarios/report/trace/perfetto_trace.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

using namespace literals;

ServedTimeline kept(std::size_t most) {
    ServedTimeline timeline;
    timeline.keep(most);
    for (int i = 0; i < 3; ++i) {
        timeline.completed({.instance = 1,
                            .begin = 1_ms * i,
                            .first_stage_end = 1_ms * (i + 1),
                            .end = 1_ms * (i + 1),
                            .prompts = 2,
                            .prompt_tokens = 40,
                            .generating = 3});
    }
    return timeline;
}

std::string trace_of(const ServedTimeline& timeline) {
    ServingAnswer answer;
    answer.pools = {{.instances = 2}};
    std::ostringstream out;
    write_serving_trace(out, answer, timeline);
    return out.str();
}

TEST(PerfettoServing, HasAStepOfEachInstanceAndSaysWhatIsLeftOut) {
    const std::string all = trace_of(kept(3));
    for (const char* name :
         {"aggregated", "instance 1", "queue", "cache in use", "40 of 2 prompts, 3 generate"}) {
        EXPECT_NE(all.find(name), std::string::npos) << name;
    }
    EXPECT_EQ(all.find("left out"), std::string::npos);
    EXPECT_NE(trace_of(kept(2)).find("1 later steps are left out"), std::string::npos);
}

TEST(PerfettoServing, AppearsAsAFile) {
    const TestFolder folder;
    ServingAnswer answer;
    answer.pools = {{.instances = 2}};
    ASSERT_TRUE(write_serving_trace((folder / "load.trace").string(), answer, kept(3)));
    EXPECT_FALSE(folder.text("load.trace").empty());
    EXPECT_FALSE(write_serving_trace((folder / "no/such").string(), answer, kept(3)));
}

}  // namespace
}  // namespace orrery
