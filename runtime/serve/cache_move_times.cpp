// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/cache_move_times.h"

#include <algorithm>
#include <chrono>

#include "engine/base/check.h"
#include "engine/base/statistics.h"

namespace orrery {
namespace {

constexpr int kMoves = 9;  // measured moves per length

CacheMove probe_move(const MovingInstance& at, std::size_t other, std::int64_t tokens) {
    CacheMove move{.other = other, .tokens = tokens, .blocks = {}};
    const std::int64_t blocks = (tokens + at.limits.block_size - 1) / at.limits.block_size;
    for (std::int64_t block = 1; block <= blocks; ++block) {
        move.blocks.push_back(static_cast<KvBlock>(block));
    }
    return move;
}

Result<double> median_seconds(const MovingInstance& from,
                              const MovingInstance& to,
                              std::int64_t tokens) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> seconds;
    for (int i = 0; i < kMoves; ++i) {
        const auto begin = Clock::now();
        Result<void> done = from.step->send_cache(probe_move(from, to.number, tokens));
        done = done ? to.step->receive_cache(probe_move(to, from.number, tokens)) : done;
        if (!done) {
            return unexpected<Error>(done.error());
        }
        seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return median(seconds);
}

}  // namespace

Result<CacheMoveTimes> measure_cache_moves(const MovingInstance& from,
                                           const MovingInstance& to,
                                           std::int64_t context) {
    const std::int64_t held = std::min(from.limits.num_blocks * from.limits.block_size,
                                       to.limits.num_blocks * to.limits.block_size);
    const std::int64_t longest = std::max<std::int64_t>(2, std::min(context, held));
    const Result<double> shortest = median_seconds(from, to, 1);
    const Result<double> whole = shortest ? median_seconds(from, to, longest) : shortest;
    if (!whole) {
        return unexpected<Error>(whole.error());
    }
    const double of_token = std::max(0.0, (*whole - *shortest) / static_cast<double>(longest - 1));
    return CacheMoveTimes{.fixed_s = std::max(0.0, *shortest - of_token), .token_s = of_token};
}

void QueuedCacheTransport::start(
    Time now, RequestId request, std::size_t, std::size_t, const CachePart& part) {
    ORRERY_CHECK(part.begin == 0 && part.layers == 1);
    const std::int64_t tokens = part.end;
    free_ = std::max(free_, now) + times_.of(tokens);
    queue_.push_back({.request = request, .end = free_});
    ++moves_;
    tokens_ += tokens;
    total_ += free_ - now;
}

void QueuedCacheTransport::pop_ended(Time now, std::vector<RequestId>& ended) {
    while (!queue_.empty() && queue_.front().end <= now) {
        ended.push_back(queue_.front().request);
        queue_.pop_front();
    }
}

void QueuedCacheTransport::cancel(Time, RequestId request) {
    std::erase_if(queue_, [&](const Move& move) { return move.request == request; });
}

}  // namespace orrery
