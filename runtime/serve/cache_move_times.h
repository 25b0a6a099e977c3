// SPDX-License-Identifier: Apache-2.0
// What moves of keys and values between instances of this machine take: a line through times that
// were measured before a server begins, for the simulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/serving_run.h"
#include "runtime/serve/decode_step.h"

namespace orrery {

struct CacheMoveTimes {
    double fixed_s = 0;
    double token_s = 0;
    Time of(std::int64_t tokens) const {
        return Time::seconds(fixed_s + token_s * static_cast<double>(tokens));
    }
};

struct MovingInstance {
    DecodeStep* step = nullptr;
    std::size_t number = 0;  // over all pools
    SchedulerLimits limits;
};

// Overwrites the receiver's cache. `context`: tokens of a sequence at most.
Result<CacheMoveTimes> measure_cache_moves(const MovingInstance& from,
                                           const MovingInstance& to,
                                           std::int64_t context);

// One move after the other, in the order of their beginning.
class QueuedCacheTransport final : public CacheTransport {
public:
    explicit QueuedCacheTransport(const CacheMoveTimes& times) : times_(times) {}

    void start(Time now,
               RequestId request,
               std::size_t from,
               std::size_t to,
               std::int64_t tokens) override;
    Time next_end() const override { return queue_.empty() ? Time::max() : queue_.front().end; }
    void pop_ended(Time now, std::vector<RequestId>& ended) override;
    // Moves behind it end when they would have.
    void cancel(Time now, RequestId request) override;

    std::int64_t moves() const { return moves_; }
    std::int64_t tokens() const { return tokens_; }
    Time total() const { return total_; }  // from the beginnings to the ends

private:
    struct Move {
        RequestId request{};
        Time end;
    };
    CacheMoveTimes times_;
    std::deque<Move> queue_;
    Time free_;
    std::int64_t moves_ = 0;
    std::int64_t tokens_ = 0;
    Time total_;
};

}  // namespace orrery
