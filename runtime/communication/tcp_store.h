// SPDX-License-Identifier: Apache-2.0
// A key-value store by which the processes of a job find each other. Rank 0 serves it, and all
// ranks are clients. Requests and answers have a length (4 bytes, host order), then that number of
// bytes. A request is 'S' or 'G', the key, a zero byte and, for 'S', the value. A 'G' is answered
// once the key is set.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/base/result.h"

namespace orrery {

// Serves in a thread of its own until it is destroyed.
class TcpStoreServer {
public:
    // Port 0 takes any free port. A port in use is an error.
    static Result<std::unique_ptr<TcpStoreServer>> start(const std::string& host,
                                                         std::uint16_t port);
    virtual ~TcpStoreServer() = default;
    virtual std::uint16_t port() const = 0;
};

class TcpStoreClient {
public:
    // Retries until the server answers or the timeout is over.
    static Result<TcpStoreClient> connect(const std::string& host,
                                          std::uint16_t port,
                                          std::chrono::milliseconds timeout);
    TcpStoreClient(TcpStoreClient&& other) noexcept;
    TcpStoreClient& operator=(TcpStoreClient&& other) noexcept;
    TcpStoreClient(const TcpStoreClient&) = delete;
    TcpStoreClient& operator=(const TcpStoreClient&) = delete;
    ~TcpStoreClient();

    Result<void> set(const std::string& key, const std::string& value);
    // Waits until a client has set the key.
    Result<std::string> get(const std::string& key, std::chrono::milliseconds timeout);

private:
    explicit TcpStoreClient(int socket) : socket_(socket) {}
    int socket_ = -1;
};

}  // namespace orrery
