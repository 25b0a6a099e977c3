// SPDX-License-Identifier: Apache-2.0
// The side of a supervised process: it receives orders and sends reports. A thread reports every
// tenth of a second that the process lives, and whether it computes or waits for others.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine/base/result.h"
#include "runtime/communication/transport.h"
#include "runtime/supervisor/member_messages.h"

namespace orrery {

// The variable with the descriptors of a member's pipes: "IN,OUT".
inline constexpr const char* kMemberVariable = "ORRERY_MEMBER";
// The variable with the number of its node in the job.
inline constexpr const char* kNodeVariable = "ORRERY_NODE";

class Member {
public:
    // Whether a supervisor has started this process.
    static bool is_one();
    static Result<std::unique_ptr<Member>> join();
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    std::uint32_t node() const { return node_; }
    // Waits for an order to train or quit. Returns quit if the supervisor is gone.
    Order next_order();
    // Sends a report of the last order's generation.
    void tell(ReportKind kind,
              std::int64_t step = 0,
              std::int64_t number = 0,
              const std::string& text = "");
    bool wants_to_leave() const { return leave_ == generation_.load(); }

    // Sets the function that describes the process's work, for reports of waits; it returns an
    // empty string if unknown. It is called from another thread, so that its data must live until
    // it is replaced.
    void describe_by(std::function<std::string()> words);

    // Measures the waits for messages; the rest of the time counts as computing.
    std::unique_ptr<Transport> watch(std::unique_ptr<Transport> transport);
    // Bytes sent in messages so far.
    std::int64_t sent() const { return sent_.load(); }
    std::chrono::microseconds waited() const {
        return std::chrono::microseconds{waited_us_.load()};
    }

private:
    class Watched;
    Member(int in, int out, std::uint32_t node);
    void listen();
    void beat();
    void wait_for(std::vector<std::uint32_t> peers);
    void write_line(const MemberReport& report);

    int in_;
    int out_;
    std::uint32_t node_;
    std::atomic<std::uint32_t> generation_{0};
    std::atomic<std::uint32_t> leave_{~0U};
    std::atomic<std::uint64_t> tag_{0};
    std::atomic<std::int64_t> step_{0};
    std::atomic<std::int64_t> waited_us_{0};
    std::atomic<std::int64_t> sent_{0};
    std::mutex describing_;
    std::function<std::string()> words_;
    std::vector<std::uint32_t> peers_;  // ranks that it waits for
    std::mutex writing_;
    std::mutex waiting_;
    std::condition_variable news_;
    std::deque<Order> orders_;
    bool over_ = false;
    std::thread listener_;
    std::thread heart_;
};

}  // namespace orrery
