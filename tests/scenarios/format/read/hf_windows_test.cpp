// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/hf_windows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scenarios/format/read/hf_model.h"

namespace orrery {
namespace hf_windows_test {

bool leaves_out(const std::string& json, std::string_view part) {
    const HfModel model = model_of_hf_config(parse_json(json, "config.json").value()).value();
    return std::ranges::any_of(
        model.changes, [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

TEST(HfWindows, OfSomeLayersAreSaidWhereAPatternFits) {
    const std::string qwen = R"({"model_type": "qwen2", "hidden_size": 64,
        "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4,
        "num_key_value_heads": 4, "vocab_size": 256, "max_position_embeddings": 128,
        "sliding_window": 16, "use_sliding_window": true, )";
    const Transformer all = hf_model(qwen + R"("max_window_layers": 0})");
    EXPECT_EQ(all.sliding_window, 16);
    EXPECT_EQ(all.sliding_window_every, 1);
    const std::string half = qwen + R"("max_window_layers": 2})";
    EXPECT_EQ(hf_model(half).sliding_window, 0);
    EXPECT_TRUE(leaves_out(half, "a window of 16 tokens in 2 of 4 layers"));
    EXPECT_EQ(hf_model(qwen + R"("max_window_layers": 28})").sliding_window, 0);
    for (const char* types :
         {R"(["full_attention", "sliding_attention", "full_attention", "sliding_attention"])",
          R"(["sliding_attention", "full_attention", "sliding_attention", "full_attention"])"}) {
        const Transformer mixed = hf_model(qwen + R"("layer_types": )" + types + "}");
        EXPECT_EQ(mixed.sliding_window, 16);
        EXPECT_EQ(mixed.sliding_window_every, 2);
    }
}

// The layers of Gemma 3, where the file lists them.
TEST(HfWindows, OfAllButEverySixthLayerAreSaid) {
    std::string types;
    for (int layer = 1; layer <= 13; ++layer) {
        types += layer > 1 ? ", " : "";
        types += layer % 6 == 0 ? R"("full_attention")" : R"("sliding_attention")";
    }
    const std::string sizes = R"({"model_type": "gemma3_text", "hidden_size": 64,
        "intermediate_size": 128, "num_hidden_layers": 13, "num_attention_heads": 4,
        "num_key_value_heads": 4, "head_dim": 16, "vocab_size": 256,
        "max_position_embeddings": 128, "sliding_window": 16)";
    const Transformer listed = hf_model(sizes + R"(, "layer_types": [)" + types + "]}");
    EXPECT_EQ(listed.sliding_window_every, 1);
    EXPECT_EQ(listed.full_attention_every, 6);
    EXPECT_EQ(hf_model(sizes + "}"), listed);  // the family's pattern
}

}  // namespace hf_windows_test
}  // namespace orrery
