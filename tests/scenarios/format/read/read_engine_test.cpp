// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/format/read/read_serving.h"
#include "tests/scenarios/served_text.h"

namespace orrery {
namespace read_engine_test {

TEST(ReadEngine, TimesOfTheHostMayBeSet) {
    const auto read = read_served_text(
        "{engine: {base: vllm-v1, host_per_response: 40 us, stream_interval: 8, "
        "host_per_prompt_token: 2 us}}",
        "{}");
    ASSERT_TRUE(read) << read.error().front().to_string();
    const ServingEngine& engine = read->serving.engine;
    EXPECT_EQ(engine.host_per_response, Time::seconds(40e-6));
    EXPECT_EQ(engine.stream_interval, 8);
    EXPECT_EQ(engine.host_per_prompt_token, Time::seconds(2e-6));
}

TEST(ReadEngine, UnknownSchedulersAndEnginesAreNamed) {
    EXPECT_EQ(first_error("{engine: {base: vllm-v1, scheduler: magic}}", "{}"),
              "s.yaml:4:35: error: serving.engine.scheduler can't be 'magic' (hint: vllm_v1, "
              "vllm_v0, "
              "sarathi, orca, tensorrt_llm, tensorrt_llm_max_utilization, sglang, static)");
    EXPECT_NE(first_error("{engine: vlm-v1}", "{}").find("vllm-v1"), std::string::npos);
}

}  // namespace read_engine_test
}  // namespace orrery
