// SPDX-License-Identifier: Apache-2.0
// An HTTP endpoint in front of a live server for clients of OpenAI's API:
//   POST /v1/completions, /v1/chat/completions   whole answers, or streams of server-sent events
//   GET  /v1/models, /health, /metrics           the model; 503 when it ends; Prometheus' text
// Errors are JSON in OpenAI's form: 400 for invalid requests, 404 for unknown paths and models, 413
// for large bodies, 429 for a full queue, 503 when the server ends. A client that disconnects
// cancels its request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/base/result.h"
#include "runtime/serve/live_server.h"
#include "runtime/serve/openai_api.h"

namespace orrery {

struct EndpointLimits {
    std::int64_t max_body = 1 << 20;  // bytes of a request
    // Connections served at once; others wait.
    std::int64_t max_connections = 288;
};

// "127.0.0.1:8000"; port 0 takes any free port. Error::where is empty.
struct ListenAddress {
    std::string host;
    std::uint16_t port = 0;
};
Result<ListenAddress> listen_address(const std::string& text);

class HttpEndpoint {
public:
    // `server` must outlive the endpoint.
    HttpEndpoint(LiveServer& server, ServedName served, const EndpointLimits& limits);
    ~HttpEndpoint();  // calls stop() with no grace
    HttpEndpoint(const HttpEndpoint&) = delete;
    HttpEndpoint& operator=(const HttpEndpoint&) = delete;

    // Listens, and answers from its own thread. Returns the port.
    Result<std::uint16_t> start(const ListenAddress& address);
    // Refuses new requests, lets running ones end for at most `grace`, and closes.
    void stop(Time grace);

private:
    class Work;
    std::unique_ptr<Work> work_;
};

}  // namespace orrery
