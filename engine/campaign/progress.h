// SPDX-License-Identifier: Apache-2.0
// The work of a job while it trains: its progress, the contents of its checkpoints, and the
// duration of each span of training, so that a rollback knows what it discards. The unit of work is
// a microsecond of the healthy job's training time.
//   train `interval` of work ── stall ──▶ train on; durable once the background copy has ended
// That copy slows training by its use of the network. If the copy of a checkpoint is still running,
// the next checkpoint waits for it. Copies in peers' memories cost a share of every step and are
// never older than `memory_interval`.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/wall_time.h"
#include "engine/campaign/accounts.h"

namespace orrery {

inline constexpr std::int64_t kFullRate = std::int64_t{1} << 16;  // 1 as a rate or share

struct CheckpointTiming {
    WallTime interval = WallTime::hours(1);  // training time between checkpoints; 0: never
    WallTime stall;                          // training stands still
    WallTime copy;                           // background copy, until the checkpoint is durable
    std::int64_t copy_rate = kFullRate;      // rate of training during the copy
    WallTime memory_interval;                // between copies in memories; 0: none
    std::int64_t memory_share = 0;           // share of the training time for these copies
    bool operator==(const CheckpointTiming&) const = default;
};

struct TrainingRate {
    std::int64_t work = kFullRate;  // work per time
    std::int64_t slow = 0;          // share of the time lost to slow nodes
    std::int64_t nodes = 1;         // number of training nodes
    bool operator==(const TrainingRate&) const = default;
};

// A span of training at one rate.
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
    // The checkpoint store does not answer until `until`.
    void store_down(WallTime now, WallTime until);
    // Until `until` the store takes `factor` times as long.
    void store_slow(WallTime until, double factor);
    // Damages the next checkpoint: it counts as durable, but cannot be read.
    void tear_next() { tears_ = true; }

    void start(WallTime now);
    void advance(WallTime to, Accounts& accounts);  // only while it trains
    void stop(Accounts& accounts);
    // Stops training without cancelling a checkpoint; resume() continues it.
    void pause(Accounts& accounts);
    void resume(WallTime now);
    // Makes a checkpoint of all work durable, outside of training.
    void commit_all(WallTime now);
    // Discards the work after `work`, and its checkpoints.
    void roll_back(std::int64_t work, Accounts& accounts);

    bool training() const { return training_; }
    std::int64_t work() const { return work_; }
    // A lower bound on the time at which `work` is reached: the present rate without checkpoints.
    WallTime earliest(std::int64_t work) const;
    std::int64_t durable() const { return durable_.empty() ? 0 : durable_.back(); }
    // The newest readable durable checkpoint of at most `work_max`, or the one `back` checkpoints
    // before it.
    std::int64_t durable_before(std::int64_t work_max, std::uint32_t back) const;
    std::int64_t in_memory() const;  // work of the last copy in memories
    // The begin of the next checkpoint at the present rate; now if one is in progress.
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
    std::int64_t next_ = 0;  // work at which the next checkpoint begins
    std::int64_t pending_ = -1;
    WallTime copy_end_;
    WallTime store_until_;
    WallTime slow_until_;
    double slow_store_ = 1;
    std::vector<std::int64_t> durable_;
    std::vector<std::int64_t> torn_;  // the damaged ones of durable_
    bool tears_ = false;
    std::vector<TrainingSpan> spans_;
    WallTime kept_;
    WallTime last_loss_;
    std::int64_t checkpoints_ = 0;
    std::int64_t stalled_us_ = 0;  // in the current span
};

}  // namespace orrery
