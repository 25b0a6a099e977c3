// SPDX-License-Identifier: Apache-2.0
// A supervised process's own side: orders come in, reports go out, and a thread says every tenth of
// a second that the process lives and whether it computes or waits for others.
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

// Names the pipes of a member: "IN,OUT", descriptors.
inline constexpr const char* kMemberVariable = "ORRERY_MEMBER";
// Which node of the job it stands for.
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
    // Waits for an order to train or quit; quits where the supervisor is gone.
    Order next_order();
    // Of the generation of the last order.
    void tell(ReportKind kind,
              std::int64_t step = 0,
              std::int64_t number = 0,
              const std::string& text = "");
    bool wants_to_leave() const { return leave_ == generation_.load(); }

    // What the process does, to tell why it waits; empty: not known. Called from another
    // thread: what it reads must be there until it is replaced.
    void describe_by(std::function<std::string()> words);

    // Notes when a message is waited for; the time that was not spent so is for computing.
    std::unique_ptr<Transport> watch(std::unique_ptr<Transport> transport);
    // Bytes in messages so far.
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
    std::vector<std::uint32_t> peers_;  // ranks that are waited for
    std::mutex writing_;
    std::mutex waiting_;
    std::condition_variable news_;
    std::deque<Order> orders_;
    bool over_ = false;
    std::thread listener_;
    std::thread heart_;
};

}  // namespace orrery
