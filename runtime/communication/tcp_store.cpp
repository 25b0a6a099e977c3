// SPDX-License-Identifier: Apache-2.0
#include "runtime/communication/tcp_store.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;
constexpr std::uint32_t kLongestMessage = 1u << 20;

std::string endpoint(const std::string& host, std::uint16_t port) {
    return fmt::format("{}:{}", host, port);
}

struct AddressesFree {
    void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, AddressesFree>;

Result<Addresses> resolve(const std::string& host, std::uint16_t port, bool passive) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = passive ? AI_PASSIVE : 0;
    addrinfo* found = nullptr;
    const int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (status != 0) {
        return fail(endpoint(host, port),
                    fmt::format("cannot find the host: {}", gai_strerror(status)),
                    "check MASTER_ADDR");
    }
    return Addresses{found};
}

// Sends at once: without this the kernel may delay small messages until earlier ones are
// acknowledged.
void send_at_once(int socket) {
    const int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

// Whether the socket becomes readable before the deadline.
bool readable(int socket, Clock::time_point deadline) {
    for (;;) {
        const auto left = std::chrono::duration_cast<Milliseconds>(deadline - Clock::now());
        if (left.count() < 0) {
            return false;
        }
        pollfd waiting{.fd = socket, .events = POLLIN, .revents = 0};
        const int ready = poll(&waiting, 1, static_cast<int>(left.count()) + 1);
        if (ready > 0) {
            return true;
        }
        if (ready < 0 && errno != EINTR) {
            return false;
        }
    }
}

bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool send_message(int socket, const std::string& message) {
    const auto length = static_cast<std::uint32_t>(message.size());
    std::string framed(sizeof length, '\0');
    std::memcpy(framed.data(), &length, sizeof length);
    return send_all(socket, framed + message);
}

// Removes a complete message from the front of the received bytes.
std::optional<std::string> next_message(std::string& arrived) {
    std::uint32_t length = 0;
    if (arrived.size() < sizeof length) {
        return std::nullopt;
    }
    std::memcpy(&length, arrived.data(), sizeof length);
    if (arrived.size() < sizeof length + length) {
        return std::nullopt;
    }
    std::string message = arrived.substr(sizeof length, length);
    arrived.erase(0, sizeof length + length);
    return message;
}

class Server final : public TcpStoreServer {
public:
    Server(int listener, int stop, std::uint16_t port)
        : listener_(listener), stop_(stop), port_(port), thread_([this] { serve(); }) {}
    ~Server() override {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t told = write(stop_, &one, sizeof one);
        thread_.join();
        close(listener_);
        close(stop_);
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    std::uint16_t port() const override { return port_; }

private:
    struct Peer {
        int socket = -1;
        std::string arrived;
        std::vector<std::string> wanted;  // keys that the client waits for
    };

    void serve() {
        std::vector<pollfd> waiting;
        for (;;) {
            waiting = {{.fd = stop_, .events = POLLIN, .revents = 0},
                       {.fd = listener_, .events = POLLIN, .revents = 0}};
            for (const Peer& peer : peers_) {
                waiting.push_back({.fd = peer.socket, .events = POLLIN, .revents = 0});
            }
            if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
                break;
            }
            if (waiting[0].revents != 0) {
                break;
            }
            for (std::size_t i = waiting.size(); i-- > 2;) {
                if (waiting[i].revents != 0 && !read_from(peers_[i - 2])) {
                    close(peers_[i - 2].socket);
                    peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(i - 2));
                }
            }
            if (waiting[1].revents != 0) {
                if (const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
                    socket >= 0) {
                    send_at_once(socket);
                    peers_.push_back({.socket = socket, .arrived = {}, .wanted = {}});
                }
            }
        }
        for (const Peer& peer : peers_) {
            close(peer.socket);
        }
    }

    bool read_from(Peer& peer) {
        std::vector<char> chunk(4096);
        const ssize_t count = recv(peer.socket, chunk.data(), chunk.size(), 0);
        if (count <= 0) {
            return count < 0 && errno == EINTR;
        }
        peer.arrived.append(chunk.data(), static_cast<std::size_t>(count));
        if (peer.arrived.size() > kLongestMessage) {
            return false;  // not a client of ours
        }
        while (const std::optional<std::string> message = next_message(peer.arrived)) {
            if (!obey(peer, *message)) {
                return false;
            }
        }
        return true;
    }

    bool obey(Peer& peer, const std::string& message) {
        const std::size_t end = message.find('\0');
        if (message.empty() || end == std::string::npos) {
            return false;
        }
        const std::string key = message.substr(1, end - 1);
        if (message[0] == 'G') {
            peer.wanted.push_back(key);
            answer(peer);
            return true;
        }
        if (message[0] != 'S') {
            return false;
        }
        values_[key] = message.substr(end + 1);
        for (Peer& other : peers_) {
            answer(other);
        }
        return true;
    }

    void answer(Peer& peer) {
        while (!peer.wanted.empty()) {
            const auto value = values_.find(peer.wanted.front());
            if (value == values_.end()) {
                return;
            }
            send_message(peer.socket, value->second);
            peer.wanted.erase(peer.wanted.begin());
        }
    }

    int listener_;
    int stop_;
    std::uint16_t port_;
    std::vector<Peer> peers_;
    std::map<std::string, std::string> values_;
    std::thread thread_;
};

std::uint16_t bound_port(int socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
    const auto port = address.ss_family == AF_INET6
                          ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                          : reinterpret_cast<const sockaddr_in&>(address).sin_port;
    return ntohs(port);
}

}  // namespace

Result<std::unique_ptr<TcpStoreServer>> TcpStoreServer::start(const std::string& host,
                                                              std::uint16_t port) {
    const Result<Addresses> addresses = resolve(host, port, true);
    if (!addresses) {
        return unexpected<Error>(addresses.error());
    }
    int problem = 0;
    for (const addrinfo* a = addresses->get(); a != nullptr; a = a->ai_next) {
        const int listener = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (listener < 0) {
            problem = errno;
            continue;
        }
        const int yes = 1;
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (bind(listener, a->ai_addr, a->ai_addrlen) == 0 && listen(listener, SOMAXCONN) == 0) {
            return std::make_unique<Server>(
                listener, eventfd(0, EFD_CLOEXEC), bound_port(listener));
        }
        problem = errno;
        close(listener);
    }
    return fail(endpoint(host, port),
                fmt::format("cannot listen here: {}", std::strerror(problem)),
                "choose another MASTER_PORT");
}

Result<TcpStoreClient> TcpStoreClient::connect(const std::string& host,
                                               std::uint16_t port,
                                               Milliseconds timeout) {
    const auto deadline = Clock::now() + timeout;
    int problem = 0;
    do {
        const Result<Addresses> addresses = resolve(host, port, false);
        if (!addresses) {
            return unexpected<Error>(addresses.error());
        }
        for (const addrinfo* a = addresses->get(); a != nullptr; a = a->ai_next) {
            const int s = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
            if (s >= 0 && ::connect(s, a->ai_addr, a->ai_addrlen) == 0) {
                send_at_once(s);
                return TcpStoreClient{s};
            }
            problem = errno;
            if (s >= 0) {
                close(s);
            }
        }
        std::this_thread::sleep_for(Milliseconds{20});
    } while (Clock::now() < deadline);
    return fail(endpoint(host, port),
                fmt::format("rank 0 does not answer: {}", std::strerror(problem)),
                "it listens at MASTER_ADDR:MASTER_PORT; all ranks must name the same");
}

TcpStoreClient::TcpStoreClient(TcpStoreClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)) {}

TcpStoreClient& TcpStoreClient::operator=(TcpStoreClient&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
}

TcpStoreClient::~TcpStoreClient() {
    if (socket_ >= 0) {
        close(socket_);
    }
}

Result<void> TcpStoreClient::set(const std::string& key, const std::string& value) {
    if (!send_message(socket_, "S" + key + '\0' + value)) {
        return fail("store", fmt::format("rank 0 is gone: {}", std::strerror(errno)));
    }
    return {};
}

Result<std::string> TcpStoreClient::get(const std::string& key, Milliseconds timeout) {
    if (!send_message(socket_, "G" + key + '\0')) {
        return fail("store", fmt::format("rank 0 is gone: {}", std::strerror(errno)));
    }
    const auto deadline = Clock::now() + timeout;
    std::string arrived;
    for (;;) {
        if (std::optional<std::string> message = next_message(arrived)) {
            return *std::move(message);
        }
        if (!readable(socket_, deadline)) {
            return fail("store",
                        fmt::format("'{}' was not set within {} ms", key, timeout.count()),
                        "a rank has not started");
        }
        std::vector<char> chunk(4096);
        const ssize_t count = recv(socket_, chunk.data(), chunk.size(), 0);
        if (count <= 0) {
            return fail("store", "rank 0 closed the connection");
        }
        arrived.append(chunk.data(), static_cast<std::size_t>(count));
    }
}

}  // namespace orrery
