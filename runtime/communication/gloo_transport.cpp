// SPDX-License-Identifier: Apache-2.0
#include "runtime/communication/gloo_transport.h"

#include <fmt/format.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>

#include "engine/base/check.h"
#include "runtime/communication/tcp_store.h"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// Gloo's interface to a key-value store.
class StoreAdapter : public gloo::rendezvous::Store {
public:
    StoreAdapter(TcpStoreClient& client, Milliseconds timeout)
        : client_(client), timeout_(timeout) {}

    void set(const std::string& key, const std::vector<char>& data) override {
        const Result<void> done = client_.set(key, std::string{data.begin(), data.end()});
        if (!done) {
            throw gloo::IoException(done.error().what);
        }
    }
    std::vector<char> get(const std::string& key) override {
        const Result<std::string> value = client_.get(key, timeout_);
        if (!value) {
            throw gloo::IoException(value.error().what);
        }
        return {value->begin(), value->end()};
    }
    void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
    void wait(const std::vector<std::string>& keys, const Milliseconds& timeout) override {
        for (const std::string& key : keys) {
            if (const Result<std::string> value = client_.get(key, timeout); !value) {
                throw gloo::IoException(value.error().what);
            }
        }
    }

private:
    TcpStoreClient& client_;
    Milliseconds timeout_;
};

using Device = gloo::transport::tcp::Device;

// Gloo's event loop sleeps for up to 10 ms. Making or closing a connection removes a socket from
// the loop and waits until it wakes, and so does ending the loop. This timer keeps the loop awake.
class Awake final : public gloo::transport::tcp::Handler {
public:
    explicit Awake(std::shared_ptr<Device> device)
        : device_(std::move(device)), timer_(timerfd_create(CLOCK_MONOTONIC, kFlags)) {
        if (timer_ >= 0) {
            constexpr timespec kPeriod{.tv_sec = 0, .tv_nsec = 200'000};
            const itimerspec times{.it_interval = kPeriod, .it_value = kPeriod};
            timerfd_settime(timer_, 0, &times, nullptr);
            device_->registerDescriptor(timer_, EPOLLIN, this);
        }
    }
    ~Awake() override {
        if (timer_ >= 0) {
            if (device_ != nullptr) {
                device_->unregisterDescriptor(timer_, this);
            }
            close(timer_);
        }
    }
    // Ends the loop, unless another transport holds the device.
    void release() { device_.reset(); }
    Awake(const Awake&) = delete;
    Awake& operator=(const Awake&) = delete;
    void handleEvents(int) override {
        std::uint64_t times = 0;
        [[maybe_unused]] const ssize_t count = read(timer_, &times, sizeof times);
    }

private:
    static constexpr int kFlags = TFD_NONBLOCK | TFD_CLOEXEC;
    std::shared_ptr<Device> device_;
    int timer_;
};

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

struct Posted {
    const Message* message;
    Buffer buffer;
};

// Messages that are handed to Gloo together. The poster writes all but `messages`.
struct Batch {
    std::vector<Posted> messages;
    bool is_done = false;  // all are posted, or one of them failed
    const Message* failed = nullptr;
    std::string reason;
};

// Hands messages to Gloo on its own thread. Gloo's event loop skips a connection whose lock another
// thread holds, and asks again at once: where processes share cores, a sender that is interrupted
// while it holds the lock let the loop spin for the rest of its time slice (three quarters of the
// processor time of a small training).
class Poster final : public gloo::transport::tcp::Handler {
public:
    explicit Poster(std::shared_ptr<Device> device)
        : device_(std::move(device)), event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
        ORRERY_CHECK(event_ >= 0);
        device_->registerDescriptor(event_, EPOLLIN, this);
    }
    ~Poster() override {
        device_->unregisterDescriptor(event_, this);
        close(event_);
    }
    Poster(const Poster&) = delete;
    Poster& operator=(const Poster&) = delete;

    // The batch must live until wait() has returned.
    void post(Batch& batch) {
        {
            const std::lock_guard lock{mutex_};
            waiting_.push_back(&batch);
        }
        constexpr std::uint64_t kOne = 1;
        ORRERY_CHECK(write(event_, &kOne, sizeof kOne) == sizeof kOne);
    }
    void wait(const Batch& batch) {
        std::unique_lock lock{mutex_};
        done_.wait(lock, [&] { return batch.is_done; });
    }
    void handleEvents(int) override {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t bytes = read(event_, &count, sizeof count);
        std::vector<Batch*> batches;
        {
            const std::lock_guard lock{mutex_};
            batches.swap(waiting_);
        }
        for (Batch* batch : batches) {
            hand_over(*batch);
            {
                const std::lock_guard lock{mutex_};
                batch->is_done = true;
            }
            done_.notify_all();
        }
    }

private:
    static void hand_over(Batch& batch) {
        const Message* current = nullptr;
        try {
            for (const Posted& posted : batch.messages) {
                current = posted.message;
                const int peer = static_cast<int>(current->peer);
                if (current->is_send) {
                    posted.buffer->send(peer, current->tag);
                } else {
                    posted.buffer->recv(peer, current->tag);
                }
            }
        } catch (const std::exception& error) {
            batch.failed = current;
            batch.reason = error.what();
            for (const Posted& posted : batch.messages) {
                if (posted.message->is_send) {
                    posted.buffer->abortWaitSend();
                } else {
                    posted.buffer->abortWaitRecv();
                }
            }
        }
    }

    std::shared_ptr<Device> device_;
    int event_;
    std::mutex mutex_;
    std::condition_variable done_;
    std::vector<Batch*> waiting_;
};

class GlooTransport final : public Transport {
public:
    GlooTransport(std::shared_ptr<Device> device,
                  std::shared_ptr<gloo::rendezvous::Context> context,
                  Milliseconds timeout)
        : device_(std::move(device)),
          poster_(std::make_unique<Poster>(device_)),
          context_(std::move(context)),
          timeout_(timeout) {}
    ~GlooTransport() override {
        Awake awake{std::move(device_)};
        for (const Pending& p : pending_) {
            poster_->wait(p.batch);
        }
        poster_.reset();
        pending_.clear();
        context_.reset();
        awake.release();
    }
    GlooTransport(const GlooTransport&) = delete;
    GlooTransport& operator=(const GlooTransport&) = delete;

    std::uint32_t rank() const override { return static_cast<std::uint32_t>(context_->rank); }
    std::uint32_t num_ranks() const override { return static_cast<std::uint32_t>(context_->size); }

    Result<void> exchange(std::span<const Message> messages) override {
        Batch batch;
        batch.messages.reserve(messages.size());
        // Receives first, so that incoming data have a buffer.
        for (const bool sends : {false, true}) {
            for (const Message& message : messages) {
                if (message.is_send == sends) {
                    batch.messages.push_back({&message, buffer_of(message)});
                }
            }
        }
        poster_->post(batch);
        return finish(batch, Clock::now() + timeout_);
    }

    Result<void> post_send(const Message& message) override {
        auto& pending = pending_.emplace_back();
        pending.bytes.assign(message.bytes.begin(), message.bytes.end());
        pending.message = message;
        pending.message.bytes = pending.bytes;
        pending.batch.messages.push_back({&pending.message, buffer_of(pending.message)});
        poster_->post(pending.batch);
        return {};
    }

    Result<void> flush() override {
        const auto deadline = Clock::now() + timeout_;
        while (!pending_.empty()) {
            if (const Result<void> sent = finish(pending_.front().batch, deadline); !sent) {
                return sent;
            }
            pending_.pop_front();
        }
        return {};
    }

private:
    struct Pending {
        std::vector<std::byte> bytes;
        Message message;
        Batch batch;
    };

    Buffer buffer_of(const Message& message) {
        return context_->createUnboundBuffer(message.bytes.data(), message.bytes.size());
    }

    Result<void> finish(const Batch& batch, Clock::time_point deadline) {
        const Message* current = nullptr;
        std::optional<std::string> reason;
        try {
            for (const Posted& posted : batch.messages) {
                current = posted.message;
                if (!has_come(posted, deadline)) {
                    reason = "was aborted";
                    break;
                }
            }
        } catch (const std::exception& error) {
            reason = error.what();
        }
        poster_->wait(batch);
        if (batch.failed != nullptr) {
            return failure(*batch.failed, batch.reason);
        }
        if (reason) {
            return failure(*current, *reason);
        }
        return {};
    }

    static bool has_come(const Posted& posted, Clock::time_point deadline) {
        // Gloo treats a negative time as its default.
        const auto left = std::max(
            Milliseconds{1}, std::chrono::duration_cast<Milliseconds>(deadline - Clock::now()));
        return posted.message->is_send ? posted.buffer->waitSend(left)
                                       : posted.buffer->waitRecv(left);
    }

    tl::unexpected<Error> failure(const Message& message, std::string_view reason) const {
        return fail(
            {.where = fmt::format("rank {}", rank()),
             .what = fmt::format("{} rank {} failed: {}",
                                 message.is_send ? "sending to" : "receiving from",
                                 message.peer,
                                 reason),
             .hint = fmt::format("rank {} may have died, or be slower than the deadline of {} ms",
                                 message.peer,
                                 timeout_.count()),
             .cause = ErrorCause::lost_peer,
             .peer = message.peer});
    }

    std::shared_ptr<Device> device_;
    std::unique_ptr<Poster> poster_;
    std::shared_ptr<gloo::rendezvous::Context> context_;
    Milliseconds timeout_;
    std::deque<Pending> pending_;  // elements must not move
};

Result<void> connect(gloo::rendezvous::Context& context,
                     const GlooOptions& options,
                     std::shared_ptr<gloo::transport::Device> device) {
    context.setTimeout(options.timeout);
    if (!options.store_folder.empty()) {
        gloo::rendezvous::FileStore store{options.store_folder};
        context.connectFullMesh(store, device);
        return {};
    }
    Result<TcpStoreClient> client =
        TcpStoreClient::connect(options.store_host, options.store_port, options.timeout);
    if (!client) {
        return unexpected<Error>(client.error());
    }
    StoreAdapter store{*client, options.timeout};
    context.connectFullMesh(store, device);
    return {};
}

}  // namespace

Result<std::unique_ptr<Transport>> connect_gloo(const GlooOptions& options) {
    try {
        gloo::transport::tcp::attr attributes{options.listen_host.c_str()};
        // Gloo may write to sockets of dead peers. That must be an error, not a signal that ends
        // the process silently.
        std::signal(SIGPIPE, SIG_IGN);
        const auto device =
            std::dynamic_pointer_cast<Device>(gloo::transport::tcp::CreateDevice(attributes));
        ORRERY_CHECK(device != nullptr);
        auto context = std::make_shared<gloo::rendezvous::Context>(
            static_cast<int>(options.rank), static_cast<int>(options.num_ranks));
        const Awake awake{device};
        if (const Result<void> connected = connect(*context, options, device); !connected) {
            return unexpected<Error>(connected.error());
        }
        return std::make_unique<GlooTransport>(device, std::move(context), options.timeout);
    } catch (const std::exception& error) {
        return fail({.where = fmt::format("rank {}", options.rank),
                     .what = fmt::format("cannot connect to the other ranks: {}", error.what()),
                     .hint = fmt::format("all {} ranks must start within {} ms",
                                         options.num_ranks,
                                         options.timeout.count()),
                     .cause = ErrorCause::lost_peer});
    }
}

}  // namespace orrery
