// SPDX-License-Identifier: Apache-2.0
// The work of a job while it trains: how far it is, what its checkpoints hold, and how long each
// stretch took, so that a rollback knows what it throws away. Work is counted in microseconds of
// the healthy job's training time.
//   train `interval` of work ── stall ──▶ train on; durable once the background copy has ended
// While that copy runs, training is slowed by what it takes from the network; a checkpoint whose
// predecessor is not yet durable waits for it. Copies in peers' memories cost a share of every step
// and are never older than `memory_interval`.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/wall_time.h"
#include "engine/campaign/accounts.h"

namespace orrery {

inline constexpr std::int64_t kFullRate = std::int64_t{1} << 16;  // of rates and shares

struct CheckpointTiming {
    WallTime interval = WallTime::hours(1);  // of training time; 0: never
    WallTime stall;                          // training stands still
    WallTime copy;                           // in the background, until the checkpoint is durable
    std::int64_t copy_rate = kFullRate;      // of training meanwhile
    WallTime memory_interval;                // between copies in memories; 0: none
    std::int64_t memory_share = 0;           // of the training time, for making them
    bool operator==(const CheckpointTiming&) const = default;
};

struct TrainingRate {
    std::int64_t work = kFullRate;  // work per time
    std::int64_t slow = 0;          // share of the time that is due to slow nodes
    std::int64_t nodes = 1;         // that train
    bool operator==(const TrainingRate&) const = default;
};

// A stretch of training under one rate.
struct TrainingSpan {
    WallTime begin;
    WallTime end;
    WallTime trained;  // without the stalls of checkpoints
    std::int64_t work_begin = 0;
    std::int64_t work_end = 0;
    std::int64_t nodes = 0;
    std::int64_t productive = 0;  // in node-microseconds
    std::int64_t straggler = 0;
};

class Progress {
public:
    explicit Progress(const CheckpointTiming& timing) : timing_(timing) {}

    void set_interval(WallTime interval) { timing_.interval = interval; }
    void set_rate(const TrainingRate& rate, Accounts& accounts);
    // The checkpoint store does not answer until then.
    void store_down(WallTime now, WallTime until);
    // Until then it takes `factor` times as long.
    void store_slow(WallTime until, double factor);
    // The next checkpoint is damaged: it counts as durable, and can't be read.
    void tear_next() { tears_ = true; }

    void start(WallTime now);
    void advance(WallTime to, Accounts& accounts);  // while it trains
    void stop(Accounts& accounts);
    // The same, but checkpoints go on where they were: nothing starts anew.
    void pause(Accounts& accounts);
    void resume(WallTime now);
    // A checkpoint of all the work, outside of training.
    void commit_all(WallTime now);
    // Throws away the work after `work`, and the checkpoints of it.
    void roll_back(std::int64_t work, Accounts& accounts);

    bool training() const { return training_; }
    std::int64_t work() const { return work_; }
    // When so much work is done, at the present rate and without checkpoints: never too late.
    WallTime earliest(std::int64_t work) const;
    std::int64_t durable() const { return durable_.empty() ? 0 : durable_.back(); }
    // The newest durable checkpoint of at most so much work that can be read, and `back` before it.
    std::int64_t durable_before(std::int64_t work_max, std::uint32_t back) const;
    std::int64_t in_memory() const;  // of the last copy in memories
    // When the next checkpoint begins, at the present rate; now if one is under way.
    WallTime next_checkpoint() const;

    WallTime kept() const { return kept_; }  // training time whose work was kept
    WallTime last_loss() const { return last_loss_; }
    std::int64_t checkpoints() const { return checkpoints_; }
    const std::vector<TrainingSpan>& spans() const { return spans_; }

private:
    std::int64_t rate_now() const;
    void end_stall();
    void settle_copy();
    void make_durable(std::int64_t work);
    WallTime in_store(WallTime time) const;
    void close_span(Accounts& accounts);
    void open_span();

    CheckpointTiming timing_;
    TrainingRate rate_;
    bool training_ = false;
    bool stalled_ = false;
    WallTime now_;
    WallTime stall_end_;
    std::int64_t work_ = 0;
    std::int64_t next_ = 0;  // work at the next checkpoint
    std::int64_t pending_ = -1;
    WallTime copy_end_;
    WallTime store_until_;
    WallTime slow_until_;
    double slow_store_ = 1;
    std::vector<std::int64_t> durable_;
    std::vector<std::int64_t> torn_;  // of them
    bool tears_ = false;
    std::vector<TrainingSpan> spans_;
    WallTime kept_;
    WallTime last_loss_;
    std::int64_t checkpoints_ = 0;
    std::int64_t stalled_us_ = 0;  // in the open span
};

}  // namespace orrery
