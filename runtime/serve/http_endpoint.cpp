// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/http_endpoint.h"

#include <fmt/format.h>
#include <httplib.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <thread>

#include "engine/base/splitmix.h"
#include "runtime/serve/text_stream.h"

namespace orrery {
namespace {

constexpr auto kPoll = std::chrono::milliseconds{50};  // between checks of a silent client
constexpr const char* kJsonType = "application/json";

std::int64_t unix_seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

void answer_error(httplib::Response& response, const ApiError& error) {
    response.status = error.status;
    response.set_content(error_json(error), kJsonType);
}

ApiError refusal_error(Refusal refusal) {
    switch (refusal) {
        case Refusal::queue_full:
            return {.status = 429,
                    .message = "the queue is full; try again later",
                    .type = "rate_limit_error",
                    .code = "queue_full"};
        case Refusal::too_long:
            return {.message = "the request does not fit into the key-value cache",
                    .code = "context_length_exceeded"};
        default:
            return {.status = 503,
                    .message = "the server is ending",
                    .type = "server_error",
                    .code = "unavailable"};
    }
}

// Passes the tokens of one request from the instance's thread to the connection's.
class TokenQueue {
public:
    void push(const TokenEvent& event) {
        const std::scoped_lock lock{mutex_};
        tokens_.push_back(event.token);
        finished_ = finished_ || event.finished;
        changed_.notify_all();
    }
    // The tokens since the last call; waits a while if there are none.
    std::vector<std::int32_t> pop(bool& finished) {
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, kPoll, [&] { return !tokens_.empty() || finished_; });
        finished = finished_;
        return std::exchange(tokens_, {});
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::int32_t> tokens_;
    bool finished_ = false;
};

// A request being answered. The destructor cancels the rest of it.
class OpenAnswer {
public:
    OpenAnswer(LiveServer& server, const ServedName& served, CompletionRequest request)
        : server_(server),
          served_(served),
          request_(std::move(request)),
          queue_(std::make_shared<TokenQueue>()),
          text_(request_.stops) {
        usage_.prompt_tokens = std::ssize(request_.prompt);
    }
    ~OpenAnswer() {
        if (submitted_.refusal == Refusal::none && submitted_.ticket != 0) {
            server_.cancel(submitted_.ticket);
        }
    }
    OpenAnswer(const OpenAnswer&) = delete;
    OpenAnswer& operator=(const OpenAnswer&) = delete;

    Refusal submit() {
        submitted_ =
            server_.submit({.prompt = request_.prompt,
                            .output_tokens = request_.max_tokens,
                            .draw = request_.draw,
                            .adapter = request_.adapter},
                           [queue = queue_](const TokenEvent& event) { queue->push(event); });
        answers_.emplace(request_.chat,
                         served_.name_of(request_.adapter),
                         submitted_.ticket,
                         unix_seconds());
        return submitted_.refusal;
    }

    // Writes the next part of the answer. False if the client has disconnected.
    bool write(httplib::DataSink& sink, bool ends) {
        bool finished = false;
        const std::vector<std::int32_t> tokens = queue_->pop(finished);
        usage_.completion_tokens += std::ssize(tokens);
        const std::string text = text_.add(served_.tokenizer.decode(tokens), finished);
        finished = finished || text_.stopped();
        whole_ += text;
        if (!finished && (ends || !server_.status())) {
            return write_failure(sink);
        }
        std::string out;
        if (request_.stream) {
            out = std::exchange(begun_, true) ? "" : answers_->begin();
            out += text.empty() ? "" : answers_->piece(text);
        }
        const char* const reason = text_.stopped() ? "stop" : "length";
        if (finished && request_.stream) {
            out += answers_->end(reason);
            out += request_.include_usage ? answers_->usage(usage_) : "";
            out += CompletionAnswers::done();
        } else if (finished) {
            out = answers_->whole(whole_, reason, usage_);
        }
        const bool alive = out.empty() ? sink.is_writable() : sink.write(out.data(), out.size());
        if (finished) {
            sink.done();
        }
        return alive;
    }

private:
    // The status line is already sent, so that the error goes into the body, or into an event.
    bool write_failure(httplib::DataSink& sink) {
        const ApiError error = refusal_error(Refusal::stopped);
        const std::string out = request_.stream
                                    ? CompletionAnswers::error(error) + CompletionAnswers::done()
                                    : error_json(error);
        const bool alive = sink.write(out.data(), out.size());
        sink.done();
        return alive;
    }

    LiveServer& server_;
    const ServedName& served_;
    CompletionRequest request_;
    std::shared_ptr<TokenQueue> queue_;
    TextStream text_;
    std::string whole_;
    Usage usage_;
    bool begun_ = false;
    Submitted submitted_;
    std::optional<CompletionAnswers> answers_;
};

// `counted` is released when the answer ends.
httplib::ContentProviderWithoutLength provider_of(std::shared_ptr<OpenAnswer> answer,
                                                  std::shared_ptr<void> counted,
                                                  const std::atomic<bool>& ends) {
    return [answer = std::move(answer), counted = std::move(counted), &ends](
               std::size_t, httplib::DataSink& sink) { return answer->write(sink, ends); };
}

std::string metrics_text(const LiveCounters& counters) {
    std::string text;
    const auto metric =
        [&](const char* name, const char* kind, const char* help, std::int64_t value) {
            text += fmt::format("# HELP orrery_{0} {1}\n# TYPE orrery_{0} {2}\norrery_{0} {3}\n",
                                name,
                                help,
                                kind,
                                value);
        };
    metric("requests_waiting", "gauge", "Requests that wait for blocks.", counters.waiting);
    metric("requests_running", "gauge", "Requests that are computed.", counters.running);
    metric("requests_finished_total", "counter", "Requests answered.", counters.finished);
    metric(
        "requests_cancelled_total", "counter", "Requests whose client left.", counters.cancelled);
    metric("requests_refused_total", "counter", "Requests refused.", counters.refused);
    metric("preemptions_total", "counter", "Caches given up.", counters.preemptions);
    metric("prompt_tokens_total", "counter", "Tokens of prompts.", counters.prompt_tokens);
    metric("cached_tokens_total", "counter", "Of them found in the cache.", counters.cached_tokens);
    metric("output_tokens_total", "counter", "Tokens generated.", counters.output_tokens);
    metric("cache_blocks", "gauge", "Blocks of the key-value cache.", counters.blocks);
    metric("cache_blocks_free", "gauge", "Blocks without a user.", counters.free_blocks);
    return text;
}

}  // namespace

Result<ListenAddress> listen_address(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    unsigned port = 0;
    bool good = colon != std::string::npos && colon > 0;
    if (good) {
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
        good = error == std::errc{} && stop == end && port <= 65'535;
    }
    if (!good) {
        return fail("", fmt::format("'{}' is no address and port", text), "127.0.0.1:8000");
    }
    std::string host = text.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    return ListenAddress{.host = host, .port = static_cast<std::uint16_t>(port)};
}

class HttpEndpoint::Work {
public:
    Work(LiveServer& server, ServedName served, const EndpointLimits& limits)
        : server_(server), served_(std::move(served)), began_s_(unix_seconds()) {
        const auto threads = static_cast<std::size_t>(limits.max_connections);
        http_.new_task_queue = [threads] { return new httplib::ThreadPool{threads}; };
        http_.set_payload_max_length(static_cast<std::size_t>(limits.max_body));
        http_.set_tcp_nodelay(true);  // tokens are small messages
        // A client that neither sends nor reads for this time counts as disconnected.
        http_.set_read_timeout(5);
        http_.set_write_timeout(5);
        http_.set_keep_alive_timeout(5);
        http_.set_socket_options([this](socket_t socket) {
            const int yes = 1;
            ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
            socket_ = socket;
        });
        add_routes();
    }
    ~Work() { stop(Time{}); }

    Result<std::uint16_t> start(const ListenAddress& address) {
        int port = address.port;
        if (port == 0) {
            port = http_.bind_to_any_port(address.host);
        } else if (!http_.bind_to_port(address.host, port)) {
            port = -1;
        }
        if (port < 0) {
            return fail("",
                        fmt::format("can't listen at {}:{}", address.host, address.port),
                        "an address of this machine, and a port that is free");
        }
        // The library's backlog is 5 connections, so that simultaneous clients would lose theirs. A
        // second call of listen() raises the backlog.
        if (::listen(socket_, SOMAXCONN) != 0) {
            return fail("", fmt::format("can't listen at {}:{}", address.host, port));
        }
        thread_ = std::thread{[this] { http_.listen_after_bind(); }};
        for (int i = 0; i < 5000 && !http_.is_running(); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
        return static_cast<std::uint16_t>(port);
    }

    void stop(Time grace) {
        if (!thread_.joinable()) {
            return;
        }
        server_.refuse_more();
        ending_ = true;
        const Time until = server_.now() + grace;
        while (server_.now() < until && server_.status() && unanswered_ > 0) {
            std::this_thread::sleep_for(kPoll);
        }
        ends_ = true;
        http_.stop();
        thread_.join();
    }

private:
    void add_routes() {
        using httplib::Request;
        using httplib::Response;
        http_.Get("/health", [this](const Request&, Response& response) {
            const bool good = !ending_ && server_.status().has_value();
            response.status = good ? 200 : 503;
            response.set_content(good ? R"({"status":"ok"})" : R"({"status":"ending"})", kJsonType);
        });
        http_.Get("/v1/models", [this](const Request&, Response& response) {
            response.set_content(models_json(served_, began_s_), kJsonType);
        });
        http_.Get("/metrics", [this](const Request&, Response& response) {
            response.set_content(metrics_text(server_.counters()),
                                 "text/plain; version=0.0.4; charset=utf-8");
        });
        for (const bool chat : {false, true}) {
            http_.Post(chat ? "/v1/chat/completions" : "/v1/completions",
                       [this, chat](const Request& request, Response& response) {
                           complete(request.body, chat, response);
                       });
        }
        http_.set_exception_handler([](const Request&, Response& response, std::exception_ptr) {
            answer_error(response,
                         {.status = 500, .message = "the server failed", .type = "server_error"});
        });
        http_.set_error_handler([](const Request& request, Response& response) {
            if (response.body.empty()) {
                answer_error(response,
                             {.status = response.status, .message = words_of(request, response)});
            }
        });
    }

    static std::string words_of(const httplib::Request& request,
                                const httplib::Response& response) {
        switch (response.status) {
            case 404:
                return fmt::format("there is no {} {}", request.method, request.path);
            case 413:
                return "the body is too large";
            case 414:
                return "the path is too long";
            default:
                return "the request can't be read";
        }
    }

    void complete(const std::string& body, bool chat, httplib::Response& response) {
        auto request = parse_completion(body, chat, served_, splitmix64(++seeds_));
        if (!request) {
            return answer_error(response, request.error());
        }
        const bool stream = request->stream;
        // Count it before submission, because stop() waits for every request that the server has
        // accepted.
        ++unanswered_;
        const std::shared_ptr<void> counted{nullptr, [this](void*) { --unanswered_; }};
        auto answer = std::make_shared<OpenAnswer>(server_, served_, std::move(*request));
        if (const Refusal refusal = answer->submit(); refusal != Refusal::none) {
            if (refusal == Refusal::queue_full) {
                response.set_header("Retry-After", "1");
            }
            return answer_error(response, refusal_error(refusal));
        }
        if (stream) {
            response.set_header("Cache-Control", "no-cache");
        }
        response.set_chunked_content_provider(stream ? "text/event-stream" : kJsonType,
                                              provider_of(answer, counted, ends_));
    }

    LiveServer& server_;
    ServedName served_;
    std::int64_t began_s_;
    httplib::Server http_;
    socket_t socket_ = INVALID_SOCKET;  // the listening socket, which the library owns
    std::thread thread_;
    std::atomic<std::uint64_t> seeds_{static_cast<std::uint64_t>(began_s_)};
    std::atomic<std::int64_t> unanswered_{0};
    std::atomic<bool> ending_{false};  // refuses new requests
    std::atomic<bool> ends_{false};    // cancels running requests
};

HttpEndpoint::HttpEndpoint(LiveServer& server, ServedName served, const EndpointLimits& limits)
    : work_(std::make_unique<Work>(server, std::move(served), limits)) {}

HttpEndpoint::~HttpEndpoint() = default;

Result<std::uint16_t> HttpEndpoint::start(const ListenAddress& address) {
    return work_->start(address);
}

void HttpEndpoint::stop(Time grace) {
    work_->stop(grace);
}

}  // namespace orrery
