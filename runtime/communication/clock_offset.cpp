// SPDX-License-Identifier: Apache-2.0
#include "runtime/communication/clock_offset.h"

#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <string>

namespace orrery {
namespace {

constexpr std::uint64_t kTag = 0x0C10'C000'0000'0000ULL;  // apart from those of communicators
constexpr int kQuestions = 32;

std::int64_t now_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::int64_t boot_id() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string text;
    std::getline(file, text);
    return static_cast<std::int64_t>(std::hash<std::string>{}(text));
}

Result<void> pass(Transport& transport, bool send, std::uint32_t peer, std::int64_t& value) {
    std::array<std::byte, sizeof value> bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);
    const Message message{.is_send = send, .peer = peer, .tag = kTag, .bytes = bytes};
    const Result<void> done = transport.exchange({&message, 1});
    std::memcpy(&value, bytes.data(), sizeof value);
    return done;
}

// Rank 0's side: sends its host, then answers each question with its time.
Result<void> answer(Transport& transport, std::uint32_t peer) {
    std::int64_t value = boot_id();
    Result<void> done = pass(transport, true, peer, value);
    for (int i = 0; done && i < kQuestions; ++i) {
        done = pass(transport, false, peer, value);
        value = now_ns();
        done = done ? pass(transport, true, peer, value) : done;
    }
    return done;
}

Result<std::int64_t> ask(Transport& transport) {
    std::int64_t host = 0;
    Result<void> done = pass(transport, false, 0, host);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t offset = 0;
    for (int i = 0; done && i < kQuestions; ++i) {
        std::int64_t value = 0;
        const std::int64_t begin = now_ns();
        done = pass(transport, true, 0, value);
        done = done ? pass(transport, false, 0, value) : done;
        const std::int64_t end = now_ns();
        if (end - begin < least) {
            least = end - begin;
            offset = value - (begin + least / 2);
        }
    }
    if (!done) {
        return unexpected<Error>(done.error());
    }
    return host == boot_id() ? 0 : offset;
}

}  // namespace

Result<std::int64_t> clock_offset_ns(Transport& transport) {
    if (transport.rank() != 0) {
        return ask(transport);
    }
    for (std::uint32_t peer = 1; peer < transport.num_ranks(); ++peer) {
        if (const Result<void> done = answer(transport, peer); !done) {
            return unexpected<Error>(done.error());
        }
    }
    return 0;
}

}  // namespace orrery
