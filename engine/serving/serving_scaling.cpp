// SPDX-License-Identifier: Apache-2.0
// Instances that start and stop with the load (engine/serving/autoscaler.h).
#include <algorithm>
#include <span>
#include <utility>

#include "engine/base/check.h"
#include "engine/serving/served_run.h"

namespace orrery {

void ServedRun::begin_scaling() {
    lives_.assign(instances_.size(), Life::serving);
    on_since_.resize(instances_.size());
    result_.instance_times.resize(instances_.size());
    if (parts_.scaling.policy == nullptr) {
        return;
    }
    ORRERY_CHECK(parts_.scaling.pools.size() == pools_.size());
    for (std::size_t p = 0; p < pools_.size(); ++p) {
        const auto least = static_cast<std::size_t>(parts_.scaling.pools[p].min_instances);
        ORRERY_CHECK(least > 0 && least <= pools_[p].end - pools_[p].first);
        for (std::size_t i = pools_[p].first + least; i < pools_[p].end; ++i) {
            lives_[i] = Life::off;
        }
        record_instances(p);
    }
    events_.schedule(parts_.scaling.interval, kScale, 0);
}

void ServedRun::end_scaling() {
    for (std::size_t i = 0; i < instances_.size(); ++i) {
        if (lives_[i] != Life::off) {
            result_.instance_times[i] += std::max(result_.end, on_since_[i]) - on_since_[i];
        }
    }
}

void ServedRun::record_instances(std::size_t pool) {
    const Pool& of = pools_[pool];
    const std::int64_t serving =
        std::count(lives_.begin() + static_cast<std::ptrdiff_t>(of.first),
                   lives_.begin() + static_cast<std::ptrdiff_t>(of.end),
                   Life::serving);
    result_.instance_counts.push_back({.at = now_, .pool = pool, .serving = serving});
}

PoolObservation ServedRun::observe(std::size_t pool) {
    Pool& of = pools_[pool];
    PoolObservation seen{.seconds = parts_.scaling.interval.seconds(),
                         .arrivals = std::exchange(of.arrivals, 0),
                         .ended = std::exchange(of.ended, 0),
                         .good = std::exchange(of.good, 0)};
    std::int64_t blocks = 0;
    std::int64_t used = 0;
    for (std::size_t i = of.first; i < of.end; ++i) {
        const BatchScheduler& scheduler = instances_[i].scheduler();
        seen.waiting += scheduler.num_waiting();
        seen.instances += lives_[i] == Life::serving || lives_[i] == Life::starting ? 1 : 0;
        if (lives_[i] == Life::serving) {
            blocks += scheduler.pool().num_blocks();
            used += scheduler.pool().num_blocks() - scheduler.pool().num_free();
        }
    }
    seen.waiting += std::ssize(of.parked);
    seen.cache_use = blocks > 0 ? static_cast<double>(used) / static_cast<double>(blocks) : 0;
    return seen;
}

// Instances are added at once, but removed only when fewer have been wanted for scale_down_delay.
void ServedRun::scale() {
    const Scaling& scaling = parts_.scaling;
    for (std::size_t p = 0; p < pools_.size(); ++p) {
        Pool& pool = pools_[p];
        const PoolObservation seen = observe(p);
        const std::int64_t wanted =
            std::clamp(scaling.policy->wanted(seen),
                       scaling.pools[p].min_instances,
                       static_cast<std::int64_t>(pool.end - pool.first));
        pool.wanted.emplace_back(now_, wanted);
        while (pool.wanted.front().first + scaling.scale_down_delay < now_) {
            pool.wanted.pop_front();
        }
        std::int64_t most = wanted;
        for (const auto& [at, number] : pool.wanted) {
            most = std::max(most, number);
        }
        if (wanted > seen.instances) {
            add_instances(p, wanted - seen.instances);
        } else if (most < seen.instances) {
            drain_instances(p, seen.instances - most);
        }
    }
    events_.schedule(now_ + scaling.interval, kScale, 0);
}

// Draining instances return to service first; then stopped ones start.
void ServedRun::add_instances(std::size_t p, std::int64_t count) {
    Pool& pool = pools_[p];
    for (const Life from : {Life::draining, Life::off}) {
        for (std::size_t i = pool.first; i < pool.end && count > 0; ++i) {
            if (lives_[i] != from) {
                continue;
            }
            --count;
            if (from == Life::draining) {
                lives_[i] = Life::serving;
                continue;
            }
            lives_[i] = Life::starting;
            on_since_[i] = now_;
            events_.schedule(now_ + parts_.scaling.pools[p].start_up,
                             kStarted,
                             static_cast<std::uint32_t>(i));
        }
    }
    list_available(pool);
    record_instances(p);
}

// Drains the instances with the fewest requests; ties: the last ones. They get no new requests.
void ServedRun::drain_instances(std::size_t p, std::int64_t count) {
    Pool& pool = pools_[p];
    const auto serves = [](Life life) { return life == Life::serving; };
    const auto of = std::span(lives_).subspan(pool.first, pool.end - pool.first);
    for (; count > 0 && std::ranges::count_if(of, serves) >
                            parts_.scaling.pools[p].min_instances;
         --count) {
        std::size_t best = pool.end;
        std::int64_t fewest = 0;
        for (std::size_t i = pool.first; i < pool.end; ++i) {
            const BatchScheduler& scheduler = instances_[i].scheduler();
            const std::int64_t requests = scheduler.num_running() + scheduler.num_waiting();
            if (lives_[i] == Life::serving && (best == pool.end || requests <= fewest)) {
                best = i;
                fewest = requests;
            }
        }
        lives_[best] = Life::draining;
        wake(best);
    }
    list_available(pool);
    record_instances(p);
}

void ServedRun::end_drain(std::size_t number) {
    if (lives_[number] != Life::draining || !instances_[number].scheduler().is_idle()) {
        return;
    }
    lives_[number] = Life::off;
    result_.instance_times[number] += now_ - on_since_[number];
    instances_[number].leave();  // clears its cache
}

void ServedRun::start_serving(std::size_t number) {
    ORRERY_CHECK(lives_[number] == Life::starting);
    lives_[number] = Life::serving;
    const std::size_t p = instances_[number].pool();
    list_available(pools_[p]);
    record_instances(p);
    send_parked(p);
}

}  // namespace orrery
