// SPDX-License-Identifier: Apache-2.0
#include "network/fluid/flow_runner.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/base/check.h"

namespace orrery {

FlowRunner::FlowRunner(std::span<const LinkInfo> links,
                       SharedRates& rates,
                       FlowRunnerOptions options)
    : rates_(rates),
      options_(std::move(options)),
      down_(links.size(), 0),
      dead_(links.size(), 0),
      load_(links.size(), 0),
      link_bytes_(links.size(), 0) {
    std::stable_sort(options_.changes.begin(),
                     options_.changes.end(),
                     [](const LinkChange& a, const LinkChange& b) { return a.at < b.at; });
    for (const LinkChange& change : options_.changes) {
        ORRERY_CHECK(index(change.link) < links.size());
    }
}

std::vector<FlowEnd> FlowRunner::run(const std::vector<RunnerFlow>& flows, const PathOf& path_of) {
    flows_ = &flows;
    path_of_ = &path_of;
    order_.resize(flows.size());
    std::iota(order_.begin(), order_.end(), 0U);
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
        return flows[a].start < flows[b].start;
    });
    ORRERY_CHECK(flows.empty() || flows[order_.front()].start >= now_);
    next_start_ = 0;
    active_.assign(flows.size(), {});
    ends_.assign(flows.size(), {});
    last_arrival_ = now_;
    while (next_start_ < flows.size() || num_in_flight_ + num_parked_ > 0) {
        const Time next = next_event();
        ORRERY_CHECK(next < Time::max());  // a stopped flow gives up eventually
        step(next);
    }
    // Bytes may be in flight after the last flow has left its sender.
    now_ = std::max(now_, last_arrival_);
    return std::move(ends_);
}

Time FlowRunner::next_event() const {
    Time next = rates_.next_completion();
    if (options_.batch > Time{} && next < Time::max()) {
        next = std::max(next, now_ + options_.batch);
    }
    if (next_start_ < order_.size()) {
        next = std::min(next, (*flows_)[order_[next_start_]].start);
    }
    if (next_change_ < options_.changes.size()) {
        next = std::min(next, std::max(now_, options_.changes[next_change_].at));
    }
    if (!convergences_.empty()) {
        next = std::min(next, std::max(now_, convergences_.begin()->first));
    }
    if (num_stalled_ + num_parked_ > 0) {
        for (const Active& active : active_) {
            if ((active.in_flight && active.stalled) || active.parked) {
                next = std::min(next, active.stalled_since + options_.timeout);
            }
        }
    }
    return next;
}

void FlowRunner::step(Time now) {
    // With batches, completions are before `now`. They are processed one after the other, but the
    // rates are recomputed only once, as if ended flows kept their links until then.
    while (rates_.next_completion() <= now) {
        end_completed(rates_.next_completion());
    }
    now_ = now;
    apply_changes(now);
    converge(now);
    give_up(now);
    start_flows(now);
    settle(now);
}

void FlowRunner::end_completed(Time now) {
    rates_.pop_completed(now, ended_);
    const std::vector<FlowId> ended = ended_;
    for (const FlowId id : ended) {
        const std::uint32_t flow = flow_of_[index(id)];
        leave(now, flow, Bytes{});
        ends_[flow].end = now + active_[flow].latency;
        ends_[flow].finished = true;
        last_arrival_ = std::max(last_arrival_, ends_[flow].end);
    }
}

void FlowRunner::apply_changes(Time now) {
    for (; next_change_ < options_.changes.size() && options_.changes[next_change_].at <= now;
         ++next_change_) {
        const LinkChange& change = options_.changes[next_change_];
        const auto link = static_cast<std::uint32_t>(index(change.link));
        rates_.set_capacity(now, change.link, change.capacity);
        const bool dead = change.capacity == Bandwidth{};
        if (dead != (dead_[link] != 0)) {
            dead_[link] = dead ? 1 : 0;
            convergences_.emplace(now + options_.convergence, Convergence{link, dead});
        }
    }
}

void FlowRunner::converge(Time now) {
    bool changed = false;
    while (!convergences_.empty() && convergences_.begin()->first <= now) {
        const Convergence news = convergences_.begin()->second;
        convergences_.erase(convergences_.begin());
        down_[news.link] = news.down ? 1 : 0;
        changed = true;
    }
    if (!changed) {
        return;
    }
    for (std::size_t flow = 0; flow < active_.size(); ++flow) {
        const Active& active = active_[flow];
        if (!active.in_flight) {
            continue;
        }
        const auto& path = paths_[active.path];
        const bool broken = std::any_of(path.begin(), path.end(), [&](const LinkShare& share) {
            return down_[index(share.link)] != 0;
        });
        if (broken || ends_[flow].moves > 0) {
            move(now, flow);
        }
    }
    start_parked(now);
}

void FlowRunner::park(Time now, std::size_t flow, Bytes left) {
    active_[flow] = {.left = left, .parked = true, .stalled_since = now};
    ++num_parked_;
}

// Starts the waiting flows that have a path again.
void FlowRunner::start_parked(Time now) {
    for (std::size_t flow = 0; num_parked_ > 0 && flow < active_.size(); ++flow) {
        const Active parked = active_[flow];
        if (parked.parked && start(now, flow, parked.left)) {
            --num_parked_;
            ends_[flow].stalled += now - parked.stalled_since;
        }
    }
}

// Moves the flow to the path that the switches choose now, if it is a different one.
void FlowRunner::move(Time now, std::size_t flow) {
    FlowPath path;
    Active& active = active_[flow];
    for (const LinkShare& share : paths_[active.path]) {
        --load_[index(share.link)];  // its own load must not influence the choice
    }
    const bool found = (*path_of_)(flow, state(), path);
    for (const LinkShare& share : paths_[active.path]) {
        ++load_[index(share.link)];
    }
    if (!found || path.footprint == paths_[active.path]) {
        return;
    }
    const Bytes left = rates_.stop(now, active.id);
    const bool stalled = active.stalled;
    const Time since = active.stalled_since;
    leave(now, flow, left);
    ++ends_[flow].moves;
    start(now, flow, left);
    active.stalled = stalled;
    active.stalled_since = since;
    num_stalled_ += stalled ? 1 : 0;
}

void FlowRunner::give_up(Time now) {
    if (num_stalled_ + num_parked_ == 0) {
        return;
    }
    for (std::size_t flow = 0; flow < active_.size(); ++flow) {
        Active& active = active_[flow];
        const bool stalled = active.in_flight && active.stalled;
        if ((!stalled && !active.parked) || active.stalled_since + options_.timeout > now) {
            continue;
        }
        if (stalled) {
            ends_[flow].waited_for = dead_link_of(active);
            leave(now, flow, rates_.stop(now, active.id));
        } else {
            active.parked = false;
            --num_parked_;
        }
        ends_[flow].stalled += now - active.stalled_since;
        ends_[flow].end = now;
        last_arrival_ = std::max(last_arrival_, now);
    }
}

std::optional<LinkId> FlowRunner::dead_link_of(const Active& active) const {
    for (const LinkShare& share : paths_[active.path]) {
        if (dead_[index(share.link)] != 0) {
            return share.link;
        }
    }
    return std::nullopt;
}

void FlowRunner::start_flows(Time now) {
    for (; next_start_ < order_.size(); ++next_start_) {
        const std::uint32_t flow = order_[next_start_];
        if ((*flows_)[flow].start > now) {
            break;
        }
        if (!start(now, flow, (*flows_)[flow].bytes)) {
            park(now, flow, (*flows_)[flow].bytes);
        }
    }
}

bool FlowRunner::start(Time now, std::size_t flow, Bytes bytes) {
    FlowPath path;
    if (!(*path_of_)(flow, state(), path)) {
        return false;
    }
    Active& active = active_[flow];
    active = {.left = bytes, .latency = path.latency, .since = now};
    if (bytes == Bytes{}) {
        ends_[flow].end = now + path.latency;
        ends_[flow].finished = true;
        last_arrival_ = std::max(last_arrival_, ends_[flow].end);
        return true;
    }
    for (const LinkShare& share : path.footprint) {
        ++load_[index(share.link)];
    }
    active.path = intern(std::move(path.footprint));
    active.id = rates_.start(now, footprints_[active.path], bytes, (*flows_)[flow].rate_max);
    active.in_flight = true;
    ++num_in_flight_;
    if (index(active.id) >= flow_of_.size()) {
        flow_of_.resize(index(active.id) + 1);
    }
    flow_of_[index(active.id)] = static_cast<std::uint32_t>(flow);
    return true;
}

// Removes the flow from its links; `left` bytes have not moved.
void FlowRunner::leave(Time now, std::size_t flow, Bytes left) {
    Active& active = active_[flow];
    const std::int64_t moved = (active.left - left).count();
    for (const LinkShare& share : paths_[active.path]) {
        --load_[index(share.link)];
        link_bytes_[index(share.link)] += moved * share.count;
    }
    if (options_.keep_spans && now > active.since) {
        spans_.push_back(
            {static_cast<std::uint32_t>(flow), active.path, active.since, now, active.rate});
    }
    num_stalled_ -= active.stalled ? 1 : 0;
    active.stalled = false;
    active.in_flight = false;
    --num_in_flight_;
}

void FlowRunner::settle(Time now) {
    rates_.settle(now);
    // Without changed links, a flow stops only on a link with less than 1 bit/s per flow.
    const bool watch = next_change_ > 0 || rates_.next_completion() == Time::max();
    if (watch || options_.keep_spans) {
        note_rates(now);
    }
}

void FlowRunner::note_rates(Time now) {
    for (std::size_t flow = 0; flow < active_.size(); ++flow) {
        Active& active = active_[flow];
        if (!active.in_flight) {
            continue;
        }
        const Bandwidth rate = rates_.rate(active.id);
        const bool stalled = rate == Bandwidth{};
        if (stalled && !active.stalled) {
            active.stalled_since = now;
            ++num_stalled_;
        } else if (!stalled && active.stalled) {
            ends_[flow].stalled += now - active.stalled_since;
            --num_stalled_;
        }
        active.stalled = stalled;
        if (rate != active.rate) {
            if (options_.keep_spans && now > active.since) {
                spans_.push_back({static_cast<std::uint32_t>(flow),
                                  active.path,
                                  active.since,
                                  now,
                                  active.rate});
            }
            active.rate = rate;
            active.since = now;
        }
    }
}

std::uint32_t FlowRunner::intern(std::vector<LinkShare> footprint) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> key;
    key.reserve(footprint.size());
    for (const LinkShare& share : footprint) {
        key.emplace_back(static_cast<std::uint32_t>(index(share.link)), share.count);
    }
    const auto next = static_cast<std::uint32_t>(paths_.size());
    const auto [known, added] = path_ids_.emplace(std::move(key), next);
    if (added) {
        footprints_.push_back(rates_.add_footprint(footprint));
        paths_.push_back(std::move(footprint));
    }
    return known->second;
}

}  // namespace orrery
