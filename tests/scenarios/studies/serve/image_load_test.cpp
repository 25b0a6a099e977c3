// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/image_load.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/serve/synthetic_load.h"

namespace orrery {
namespace {

Scenario with_images(const std::string& encoder) {
    ReadOptions options;
    options.serving = true;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    auto read = read_scenario_text(
        "kind: serving\ncluster: {nodes: 2, node: dgx-a100-80g, fabric: single-switch-100}\n"
        "model: llama-3-8b\nserving:\n  pools: {instances: 1, tensor_model_parallel_size: 8}\n"
        "  encoder:\n    model: {num_layers: 12, hidden_size: 1024, num_attention_heads: 16, "
        "seq_length: 577, vocab_size: 1}\n    patches: 577\n" +
            encoder +
            "workload: {num_requests: 60, request_rate: 20, input_tokens: 100, "
            "output_tokens: 8, images: 4, image_share: 0.5, image_prompt_tokens: 64}\n",
        "i.yaml",
        ".",
        options);
    EXPECT_TRUE(read);
    return std::move(read).value();
}

std::vector<Request> image_requests(const Scenario& scenario) {
    return requests_of(scenario.workload).value();
}

Result<ServingAnswer> served_images(const Scenario& scenario, ServingResult* result = nullptr) {
    return serve_scenario(scenario, scenario.serving, image_requests(scenario), {}, result);
}

TEST(ImageLoad, ImagesAreDrawnAndLengthenPrompts) {
    const auto drawn = image_requests(with_images(""));
    std::int64_t with = 0;
    for (const Request& request : drawn) {
        with += request.images > 0 ? 1 : 0;
        EXPECT_EQ(request.prompt_tokens, request.images > 0 ? 100 + 4 * 64 : 100);
    }
    EXPECT_GT(with, 15);
    EXPECT_LT(with, 45);
}

// Four requests at once on two encoders: the second pair waits for the first.
TEST(ImageLoad, EncodersTakeTheRequestThatHasWaitedLongest) {
    const Scenario scenario = with_images("    instances: 2\n");
    std::vector<Request> load(5);
    for (std::size_t i = 0; i < 4; ++i) {
        load[i].images = 4;
    }
    const auto encoded = encode_images(scenario, scenario.serving, load);
    ASSERT_TRUE(encoded);
    EXPECT_EQ(encoded->use.images, 16);
    // The request without images comes first now.
    EXPECT_EQ(encoded->places, (std::vector<std::size_t>{4, 0, 1, 2, 3}));
    EXPECT_EQ(encoded->requests[0].arrival, Time{});
    const Time one = encoded->last_end;
    EXPECT_EQ(encoded->requests[1].arrival, encoded->requests[2].arrival);
    EXPECT_GT(encoded->requests[3].arrival, encoded->requests[1].arrival);
    EXPECT_EQ(encoded->requests[3].encoding, encoded->requests[3].arrival);
    EXPECT_NEAR(encoded->busy_s, one.seconds(), 1e-9);  // both encoders worked until the end
    std::vector<RequestRecord> records(5);
    records[1].output_tokens = 7;
    put_in_place(*encoded, records);
    EXPECT_EQ(records[0].output_tokens, 7);
}

// Eight GPUs repeat the work of one; an encoder of its own frees them of it.
TEST(ImageLoad, AnEncoderOfItsOwnSparesTheInstance) {
    ServingResult together;
    ServingResult apart;
    const auto own = served_images(with_images(""), &together);
    const auto two = served_images(with_images("    instances: 2\n"), &apart);
    ASSERT_TRUE(own && two);
    EXPECT_FALSE(own->encoder);
    ASSERT_TRUE(two->encoder);
    EXPECT_EQ(two->encoder->instances, 2);
    EXPECT_GT(two->encoder->busy, 0);
    EXPECT_GT(two->encoder->wait_s, 0);
    EXPECT_LT(two->pools[0].busy, own->pools[0].busy);
    EXPECT_LT(own->pools[0].cache_tokens, two->pools[0].cache_tokens);  // the encoder's weights
    // Records are in the order of the load, and begin with the request's own arrival.
    const auto load = image_requests(with_images(""));
    for (std::size_t i = 0; i < load.size(); ++i) {
        EXPECT_EQ(apart.records[i].arrival, load[i].arrival) << i;
    }
}

TEST(ImageLoad, WhatDoesNotKnowImagesIsAnError) {
    const Scenario apart = with_images("    instances: 2\n");
    const auto load = image_requests(apart);
    EXPECT_TRUE(check_images(apart, apart.serving, load, {}));
    EXPECT_FALSE(check_images(apart, apart.serving, load, {.users = 3}));
    ServingSpec spec = apart.serving;
    spec.objectives.e2e_slowdown.p50 = 2;
    EXPECT_FALSE(check_images(apart, spec, load, {}));
    spec = apart.serving;
    spec.encoder = {};
    EXPECT_FALSE(check_images(apart, spec, load, {}));
    spec = with_images("").serving;
    spec.encoder.tensor_model_parallel_size = 16;
    EXPECT_FALSE(check_images(apart, spec, load, {}));
}

}  // namespace
}  // namespace orrery
