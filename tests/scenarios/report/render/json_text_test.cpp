// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery {
namespace {

// A file's name may be any bytes; an answer about it is still JSON.
TEST(JsonText, BytesThatAreNoTextAreReplaced) {
    const nlohmann::ordered_json json{{"scenario", "a\xff\xfe.yaml"}, {"seed", 1}};
    const std::string text = json_text(json);
    EXPECT_EQ(text.back(), '\n');
    EXPECT_EQ(nlohmann::json::parse(text)["scenario"], "a\xef\xbf\xbd\xef\xbf\xbd.yaml");
    EXPECT_EQ(json_line(json).find('\n'), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(json_line(json)), nlohmann::json::parse(text));
}

TEST(JsonText, AListHoldsWhatIsMadeOfEachItem) {
    using Json = nlohmann::ordered_json;
    const std::vector<int> numbers{1, 2};
    EXPECT_EQ(json_list<Json>(numbers,
                              [](int i) -> Json {
                                  return {{"twice", 2 * i}};
                              })
                  .dump(),
              R"([{"twice":2},{"twice":4}])");
    EXPECT_EQ(json_list<Json>(std::vector<int>{}, [](int i) { return i; }).dump(), "[]");
}

}  // namespace
}  // namespace orrery
