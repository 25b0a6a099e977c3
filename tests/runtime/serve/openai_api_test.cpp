// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/openai_api.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery {
namespace {

const ServedName kServed{.model = "tiny", .vocabulary = 256, .context = 64};

tl::expected<CompletionRequest, ApiError> parse(const std::string& body, bool chat = false) {
    return parse_completion(body, chat, kServed, 7);
}

TEST(OpenAiApi, AnAdapterIsNamedBehindTheModel) {
    ServedName served = kServed;
    served.adapters = 12;
    const auto asked = [&](const std::string& name) {
        return parse_completion(R"({"prompt":"a","model":")" + name + "\"}", false, served, 1);
    };
    EXPECT_EQ(asked("tiny")->adapter, -1);
    EXPECT_EQ(asked("tiny/adapter-0")->adapter, 0);
    EXPECT_EQ(asked("tiny/adapter-11")->adapter, 11);
    for (const char* name : {"tiny/adapter-12",
                             "tiny/adapter--1",
                             "tiny/adapter-01",
                             "tiny/adapter-",
                             "tiny/adapter-1x",
                             "tiny/adapter-99999999999",
                             "other/adapter-1",
                             ""}) {
        const auto wrong = asked(name);
        ASSERT_FALSE(wrong) << name;
        EXPECT_EQ(wrong.error().status, 404);
        EXPECT_EQ(wrong.error().message,
                  "the model here is 'tiny', and its adapters are 'tiny/adapter-0' to "
                  "'tiny/adapter-11'");
    }
    const std::string all = models_json(served, 0);
    EXPECT_NE(all.find("\"tiny\""), std::string::npos);
    EXPECT_NE(all.find("\"tiny/adapter-11\""), std::string::npos);
    EXPECT_EQ(all.find("\"tiny/adapter-12\""), std::string::npos);
}

TEST(OpenAiApi, ReadsACompletion) {
    const auto request = parse(
        R"({"model":"tiny","prompt":"ab","max_tokens":5,"temperature":0,"stop":["x","yz"],
            "stream":true,"stream_options":{"include_usage":true},"user":"me","top_p":1.0,"n":1})");
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->prompt, (std::vector<std::int32_t>{'a', 'b'}));
    EXPECT_EQ(request->max_tokens, 5);
    EXPECT_EQ(request->draw.temperature, 0);
    EXPECT_EQ(request->draw.seed, 7u);
    EXPECT_TRUE(request->stream && request->include_usage);
    EXPECT_EQ(request->stops, (std::vector<std::string>{"x", "yz"}));
    EXPECT_EQ(parse(R"({"prompt":[1,2,255]})")->prompt, (std::vector<std::int32_t>{1, 2, 255}));
    EXPECT_EQ(parse(R"({"prompt":["ab"]})")->prompt.size(), 2u);
    EXPECT_EQ(parse(R"({"prompt":"ab"})")->max_tokens, 16);
}

TEST(OpenAiApi, ReadsAChat) {
    const auto chat = parse(
        R"({"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"seed":3})", true);
    ASSERT_TRUE(chat) << chat.error().message;
    EXPECT_EQ(kServed.tokenizer.decode(chat->prompt), "user: hi\nassistant:");
    EXPECT_EQ(chat->draw.seed, 3u);
    EXPECT_EQ(chat->max_tokens + std::ssize(chat->prompt), kServed.context);
}

TEST(OpenAiApi, NamesTheFieldThatIsWrong) {
    for (const auto& [body, param] : std::vector<std::pair<std::string, std::string>>{
             {"", ""},
             {"{", ""},
             {"[]", ""},
             {std::string(5000, '['), ""},
             {R"({"prompt":"a)", ""},
             {"{\"prompt\":\"\xFF\"}", ""},
             {"{}", "prompt"},
             {R"({"prompt":""})", "prompt"},
             {R"({"prompt":5})", "prompt"},
             {R"({"prompt":[256]})", "prompt"},
             {R"({"prompt":[-1]})", "prompt"},
             {R"({"prompt":[1.5]})", "prompt"},
             {R"({"prompt":["a","b"]})", "prompt"},
             {R"({"prompt":[99999999999999999999]})", "prompt"},
             {R"({"prompt":"a","max_tokens":0})", "max_tokens"},
             {R"({"prompt":"a","max_tokens":-3})", "max_tokens"},
             {R"({"prompt":"a","max_tokens":18446744073709551615})", "max_tokens"},
             {R"({"prompt":"a","max_tokens":65})", "max_tokens"},
             {R"({"prompt":"a","max_tokens":64})", "prompt"},
             {R"({"prompt":"a","max_tokens":"5"})", "max_tokens"},
             {R"({"prompt":"a","temperature":-1})", "temperature"},
             {R"({"prompt":"a","temperature":1e999})", ""},
             {R"({"prompt":"a","stream":1})", "stream"},
             {R"({"prompt":"a","stream_options":5})", "stream_options"},
             {R"({"prompt":"a","stream_options":{"include_usage":5}})", "stream_options"},
             {R"({"prompt":"a","stop":[""]})", "stop"},
             {R"({"prompt":"a","stop":["a","b","c","d","e"]})", "stop"},
             {R"({"prompt":"a","stop":5})", "stop"},
             {R"({"prompt":"a","n":2})", "n"},
             {R"({"prompt":"a","logprobs":3})", "logprobs"},
             {R"({"prompt":"a","model":"gpt-4"})", "model"}}) {
        const auto request = parse(body);
        ASSERT_FALSE(request) << body;
        EXPECT_EQ(request.error().param, param) << body;
        EXPECT_TRUE(nlohmann::json::parse(error_json(request.error()))["error"].contains("code"));
    }
    for (const char* body :
         {R"({"messages":[]})",
          R"({"messages":"hi"})",
          R"({"messages":[5]})",
          R"({"messages":[{"role":5}]})",
          R"({"messages":[{"role":"user","content":5}]})",
          R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})"}) {
        const auto request = parse(body, true);
        ASSERT_FALSE(request) << body;
        EXPECT_EQ(request.error().param, "messages") << body;
    }
}

TEST(OpenAiApi, AnswersHaveTheFormOfTheApi) {
    const CompletionAnswers chat{true, "tiny", 4, 100};
    const auto whole = nlohmann::json::parse(chat.whole("hi\n", "stop", {3, 2}));
    EXPECT_EQ(whole["object"], "chat.completion");
    EXPECT_EQ(whole["choices"][0]["message"]["content"], "hi\n");
    EXPECT_EQ(whole["usage"]["total_tokens"], 5);
    EXPECT_TRUE(chat.begin().starts_with("data: {"));
    const CompletionAnswers text{false, "tiny", 4, 100};
    EXPECT_EQ(text.begin(), "");
    const std::string piece = text.piece("x");
    EXPECT_TRUE(piece.ends_with("\n\n"));
    EXPECT_EQ(nlohmann::json::parse(piece.substr(6))["choices"][0]["text"], "x");
}

}  // namespace
}  // namespace orrery
