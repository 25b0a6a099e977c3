// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/member.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace orrery {
namespace {

constexpr std::chrono::milliseconds kBeat{100};

std::optional<int> number_of(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && value >= 0
               ? std::optional{value}
               : std::nullopt;
}

}  // namespace

class Member::Watched final : public Transport {
public:
    Watched(Member& member, std::unique_ptr<Transport> transport)
        : member_(member), transport_(std::move(transport)) {}
    std::uint32_t rank() const override { return transport_->rank(); }
    std::uint32_t num_ranks() const override { return transport_->num_ranks(); }
    Result<void> exchange(std::span<const Message> messages) override {
        std::vector<std::uint32_t> peers;
        for (const Message& message : messages) {
            peers.push_back(message.peer);
            member_.sent_ += message.is_send ? static_cast<std::int64_t>(message.bytes.size()) : 0;
        }
        const Wait wait{member_, std::move(peers), messages.empty() ? 0 : messages.front().tag};
        return transport_->exchange(messages);
    }
    Result<void> post_send(const Message& message) override {
        member_.sent_ += static_cast<std::int64_t>(message.bytes.size());
        return transport_->post_send(message);
    }
    Result<void> flush() override {
        const Wait wait{member_, {}, 0};
        return transport_->flush();
    }

private:
    struct Wait {
        Wait(Member& member, std::vector<std::uint32_t> peers, std::uint64_t tag)
            : member_(member) {
            member_.tag_ = tag;
            member_.wait_for(std::move(peers));
        }
        ~Wait() {
            member_.wait_for({});
            const auto time = std::chrono::steady_clock::now() - begin_;
            member_.waited_us_ +=
                std::chrono::duration_cast<std::chrono::microseconds>(time).count();
        }
        Wait(const Wait&) = delete;
        Wait& operator=(const Wait&) = delete;
        Member& member_;
        std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    };
    Member& member_;
    std::unique_ptr<Transport> transport_;
};

bool Member::is_one() {
    return std::getenv(kMemberVariable) != nullptr;
}

Result<std::unique_ptr<Member>> Member::join() {
    const char* pipes = std::getenv(kMemberVariable);
    const char* node = std::getenv(kNodeVariable);
    const std::string_view text = pipes == nullptr ? "" : pipes;
    const std::size_t comma = text.find(',');
    const auto in = number_of(text.substr(0, comma));
    const auto out =
        comma == std::string_view::npos ? std::nullopt : number_of(text.substr(comma + 1));
    const auto which = number_of(node == nullptr ? "" : node);
    if (!in || !out || !which) {
        return fail(fmt::format("${}", kMemberVariable),
                    "is not what a supervisor sets",
                    "start it with orrery train --supervise");
    }
    return std::unique_ptr<Member>{new Member{*in, *out, static_cast<std::uint32_t>(*which)}};
}

Member::Member(int in, int out, std::uint32_t node)
    : in_(in), out_(out), node_(node), listener_([this] { listen(); }), heart_([this] {
          beat();
      }) {}

Member::~Member() {
    {
        const std::lock_guard lock{waiting_};
        over_ = true;
    }
    news_.notify_all();
    heart_.join();
    listener_.join();
}

void Member::listen() {
    std::string text;
    for (;;) {
        pollfd waiting{.fd = in_, .events = POLLIN, .revents = 0};
        const int ready = poll(&waiting, 1, static_cast<int>(kBeat.count()));
        {
            const std::lock_guard lock{waiting_};
            if (over_) {
                return;
            }
        }
        if (ready <= 0) {
            continue;
        }
        char bytes[4096];
        const ssize_t count = read(in_, bytes, sizeof bytes);
        if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
            _exit(128 + 15);  // the supervisor is gone
        }
        text.append(bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
            const std::optional<Order> order = parse_order(std::string_view{text}.substr(0, end));
            text.erase(0, end + 1);
            if (order && order->kind == OrderKind::leave) {
                leave_ = order->generation;
            } else if (order) {
                const std::lock_guard lock{waiting_};
                orders_.push_back(*order);
                news_.notify_all();
            }
        }
    }
}

void Member::beat() {
    std::unique_lock lock{waiting_};
    while (!news_.wait_for(lock, kBeat, [this] { return over_; })) {
        std::string words;
        std::vector<std::uint32_t> peers;
        {
            const std::lock_guard describing{describing_};
            words = words_ ? words_() : "";
            peers = peers_;
        }
        write_line({.kind = ReportKind::beat,
                    .generation = generation_,
                    .step = step_,
                    .number = peers.empty() ? 0 : 1,
                    .text = fmt::format("{} {} {}", tag_.load(), rank_ranges(peers), words)});
    }
}

void Member::describe_by(std::function<std::string()> words) {
    const std::lock_guard lock{describing_};
    words_ = std::move(words);
}

void Member::wait_for(std::vector<std::uint32_t> peers) {
    const std::lock_guard lock{describing_};
    peers_ = std::move(peers);
}

void Member::write_line(const MemberReport& report) {
    const std::string line = to_line(report) + "\n";
    const std::lock_guard lock{writing_};
    std::string_view left = line;
    while (!left.empty()) {
        const ssize_t count = write(out_, left.data(), left.size());
        if (count < 0 && errno != EINTR) {
            return;  // the supervisor is gone; listen() ends the process
        }
        left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
}

Order Member::next_order() {
    tell(ReportKind::ready);
    std::unique_lock lock{waiting_};
    news_.wait(lock, [this] { return !orders_.empty(); });
    Order order = std::move(orders_.front());
    orders_.pop_front();
    generation_ = order.generation;
    step_ = 0;
    return order;
}

void Member::tell(ReportKind kind,
                  std::int64_t step,
                  std::int64_t number,
                  const std::string& text) {
    step_ = step;
    write_line(
        {.kind = kind, .generation = generation_, .step = step, .number = number, .text = text});
}

std::unique_ptr<Transport> Member::watch(std::unique_ptr<Transport> transport) {
    return transport == nullptr ? nullptr : std::make_unique<Watched>(*this, std::move(transport));
}

}  // namespace orrery
