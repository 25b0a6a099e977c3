// SPDX-License-Identifier: Apache-2.0
// A real endpoint on the loopback, with a real model behind it.
#include "runtime/serve/http_endpoint.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/serve/paged_decoder.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

using nlohmann::json;

ServedModel byte_model() {
    Transformer model = tiny_llama();
    model.seq_length = 256;
    model.vocab_size = 256;
    return *load_served_model(model, {}, 3);
}

class HttpEndpointTest : public testing::Test {
protected:
    explicit HttpEndpointTest(std::int64_t max_queue = 80)
        : decoder_(served_, {.num_blocks = 400, .block_size = 16}),
          router_(make_request_router("round_robin", 0)),
          server_(*find_batching_rules("vllm_v1"),
                  {.max_num_batched_tokens = 128, .max_num_seqs = 32, .num_blocks = 400},
                  {.context = 256, .max_queue = max_queue},
                  {&decoder_},
                  *router_),
          endpoint_(server_,
                    {.model = "tiny", .vocabulary = 256, .context = 256},
                    {.max_body = 20'000, .max_connections = 100}) {
        const auto port = endpoint_.start({"127.0.0.1", 0});
        EXPECT_TRUE(port) << port.error().to_string();
        port_ = port ? *port : 0;
    }
    httplib::Client client() const {
        httplib::Client one{"127.0.0.1", port_};
        one.set_read_timeout(60);
        return one;
    }
    std::pair<int, json> post(const std::string& body,
                              const std::string& path = "/v1/completions") const {
        const auto response = client().Post(path, body, "application/json");
        if (!response) {
            ADD_FAILURE() << "no answer: " << httplib::to_string(response.error());
            return {};
        }
        return {response->status, json::parse(response->body)};
    }
    // Waits until all blocks are free.
    void expect_all_free() const {
        LiveCounters counters;
        for (int i = 0; i < 1000; ++i) {
            counters = server_.counters();
            if (counters.free_blocks == counters.blocks && counters.running == 0) {
                return;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
        FAIL() << counters.blocks - counters.free_blocks << " blocks are in use";
    }

    ServedModel served_ = byte_model();
    PagedDecoder decoder_;
    std::unique_ptr<RequestRouter> router_;
    LiveServer server_;
    HttpEndpoint endpoint_;
    int port_ = 0;
};

struct StreamedText {
    std::string text;
    int events = 0;
    bool done = false;
};

// The events of a stream of completions.
StreamedText read_events(const std::string& body) {
    StreamedText read;
    std::size_t at = 0;
    for (std::size_t end = body.find("\n\n"); end != std::string::npos;
         at = end + 2, end = body.find("\n\n", at)) {
        const std::string event = body.substr(at + 6, end - at - 6);
        if (event == "[DONE]") {
            read.done = true;
            continue;
        }
        ++read.events;
        const json choice = json::parse(event)["choices"][0];
        read.text += choice.contains("delta") ? choice["delta"].value("content", "")
                                              : choice.value("text", "");
    }
    return read;
}

TEST_F(HttpEndpointTest, AStreamIsTheWholeAnswerInPieces) {
    const std::string greedy = R"({"prompt":"The ","max_tokens":40,"temperature":0)";
    const auto [status, whole] = post(greedy + "}");
    ASSERT_EQ(status, 200);
    EXPECT_EQ(whole["usage"]["completion_tokens"], 40);
    EXPECT_EQ(whole["choices"][0]["finish_reason"], "length");
    const auto response =
        client().Post("/v1/completions", greedy + R"(,"stream":true})", "application/json");
    ASSERT_TRUE(response);
    EXPECT_EQ(response->get_header_value("Content-Type"), "text/event-stream");
    const StreamedText stream = read_events(response->body);
    EXPECT_TRUE(stream.done);
    EXPECT_GE(stream.events, 2);
    EXPECT_EQ(stream.text, whole["choices"][0]["text"]);
    const auto [chat_status, chat] = post(
        R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":4})", "/v1/chat/completions");
    EXPECT_EQ(chat_status, 200);
    EXPECT_EQ(chat["choices"][0]["message"]["role"], "assistant");
    expect_all_free();
}

TEST_F(HttpEndpointTest, SixtyFourStreamsAtOnceLoseNothing) {
    std::atomic<int> good{0};
    std::vector<std::thread> clients;
    for (int i = 0; i < 64; ++i) {
        clients.emplace_back([&, i] {
            const std::string body = R"({"prompt":")" + std::string(1 + i % 50, 'a') +
                                     R"(","max_tokens":60,"temperature":0,"stream":true})";
            const auto response = client().Post("/v1/completions", body, "application/json");
            good += response && response->status == 200 && read_events(response->body).done ? 1 : 0;
            if (!response || response->status != 200) {
                ADD_FAILURE() << (response ? response->body : httplib::to_string(response.error()));
            }
        });
    }
    for (std::thread& one : clients) {
        one.join();
    }
    EXPECT_EQ(good, 64);
    EXPECT_EQ(server_.counters().finished, 64);
    EXPECT_EQ(server_.counters().output_tokens, 64 * 60);
    expect_all_free();
}

TEST_F(HttpEndpointTest, RefusesWithTheRightStatus) {
    EXPECT_EQ(post("{").first, 400);
    EXPECT_EQ(post(R"({"prompt":"a","max_tokens":5000})").first, 400);
    EXPECT_EQ(post(R"({"prompt":"a","model":"gpt-4"})").first, 404);
    const auto [status, error] = post(std::string(30'000, 'x'));
    EXPECT_EQ(status, 413);
    EXPECT_EQ(error["error"]["message"], "the body is too large");
    EXPECT_EQ(post("{}", "/v1/nothing").first, 404);
    const auto get = client().Get("/v1/completions");
    ASSERT_TRUE(get);
    EXPECT_EQ(get->status, 404);
    EXPECT_TRUE(json::parse(get->body).contains("error"));
    const auto models = client().Get("/v1/models");
    ASSERT_TRUE(models);
    EXPECT_EQ(json::parse(models->body)["data"][0]["id"], "tiny");
    EXPECT_EQ(client().Get("/health")->status, 200);
    EXPECT_NE(client().Get("/metrics")->body.find("orrery_cache_blocks 400"), std::string::npos);
}

// Of a stream, in the middle; of a whole answer, before it comes.
TEST_F(HttpEndpointTest, AHangUpCancelsTheRequest) {
    httplib::Client one = client();
    httplib::Request request;
    request.method = "POST";
    request.path = "/v1/completions";
    request.body = R"({"prompt":"a","max_tokens":250,"stream":true})";
    request.set_header("Content-Type", "application/json");
    request.content_receiver = [](const char*, std::size_t, std::uint64_t, std::uint64_t) {
        return false;
    };
    EXPECT_FALSE(one.send(request));
    one.stop();
    httplib::Client hasty = client();
    hasty.set_read_timeout(0, 1000);
    EXPECT_FALSE(
        hasty.Post("/v1/completions", R"({"prompt":"a","max_tokens":250})", "application/json"));
    hasty.stop();
    expect_all_free();
    EXPECT_EQ(post(R"({"prompt":"a","max_tokens":2})").first, 200);
}

class FullQueueTest : public HttpEndpointTest {
protected:
    FullQueueTest() : HttpEndpointTest(2) {}
};

TEST_F(FullQueueTest, TooManyRequestsAreRefused) {
    std::atomic<int> taken{0};
    std::atomic<int> refused{0};
    std::vector<std::thread> clients;
    for (int i = 0; i < 12; ++i) {
        clients.emplace_back([&] {
            const int status = post(R"({"prompt":"a","max_tokens":200})").first;
            taken += status == 200 ? 1 : 0;
            refused += status == 429 ? 1 : 0;
        });
    }
    for (std::thread& one : clients) {
        one.join();
    }
    EXPECT_EQ(taken + refused, 12);
    EXPECT_GE(taken, 2);
    EXPECT_GE(refused, 1);
}

TEST_F(HttpEndpointTest, EndsWithWhatIsUnderWay) {
    std::atomic<int> status{0};
    std::thread late{[&] { status = post(R"({"prompt":"a","max_tokens":200})").first; }};
    while (server_.counters().running == 0 && status == 0) {
        std::this_thread::yield();
    }
    endpoint_.stop(Time::seconds(60));
    late.join();
    EXPECT_EQ(status, 200);
    EXPECT_EQ(server_.counters().finished, 1);
}

TEST(ListenAddress, IsAHostAndAPort) {
    EXPECT_EQ(listen_address("127.0.0.1:80")->port, 80);
    EXPECT_EQ(listen_address("[::1]:8000")->host, "::1");
    for (const char* text : {"", "localhost", ":80", "a:", "a:b", "a:70000", "a:-1", "a:80x"}) {
        EXPECT_FALSE(listen_address(text)) << text;
    }
}

}  // namespace
}  // namespace orrery
