// SPDX-License-Identifier: Apache-2.0
// The times to move keys and values between instances of this machine, for the simulator: a line
// fitted to times that are measured before a server begins.
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
    std::size_t number = 0;  // index over all pools
    SchedulerLimits limits;
};

// Overwrites the receiver's cache. `context` is the maximum length of a sequence in tokens.
Result<CacheMoveTimes> measure_cache_moves(const MovingInstance& from,
                                           const MovingInstance& to,
                                           std::int64_t context);

// One move after the other, in the order of their starts.
class QueuedCacheTransport final : public CacheTransport {
public:
    explicit QueuedCacheTransport(const CacheMoveTimes& times) : times_(times) {}

    void start(Time now,
               RequestId request,
               std::size_t from,
               std::size_t to,
               const CachePart& part) override;
    Time next_end() const override { return queue_.empty() ? Time::max() : queue_.front().end; }
    void pop_ended(Time now, std::vector<RequestId>& ended) override;
    // The moves after it keep their ends.
    void cancel(Time now, RequestId request) override;

    std::int64_t moves() const { return moves_; }
    std::int64_t tokens() const { return tokens_; }
    Time total() const { return total_; }  // sum of the times from start to end

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
