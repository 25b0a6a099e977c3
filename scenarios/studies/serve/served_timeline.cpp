// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/served_timeline.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace orrery {

void ServedTimeline::completed(const ServedStep& step) {
    add_load(step);
    if (kept_.size() < most_kept_) {
        kept_.push_back(step);
    } else if (most_kept_ > 0) {
        ++left_out_;
    }
    if (step.instance >= kShownInstances) {
        return;
    }
    Ring& ring = ring_of(step);
    ring.steps.push_back(step);
    if (ring.steps.size() > kShownSteps) {
        ring.steps.pop_front();
    }
    const std::int64_t now = step.prompts + step.generating + step.waiting;
    requests_ += now - ring.requests;
    ring.requests = now;
    const auto number = static_cast<std::size_t>(&ring - rings_.data());
    if (requests_ > most_requests_) {
        most_requests_ = requests_;
        fullest_ring_ = number;
        steps_since_ = 0;
        is_open_ = true;
    } else if (is_open_ && number == fullest_ring_ && ++steps_since_ == kShownSteps / 2) {
        fullest_ = window_of(ring);
        is_open_ = false;
    }
}

void ServedTimeline::add_load(const ServedStep& step) {
    while (step.end.picoseconds() / part_ >= static_cast<std::int64_t>(kMostParts)) {
        widen();
    }
    if (sums_.size() <= step.pool) {
        sums_.resize(step.pool + 1);
    }
    const auto sequences = static_cast<double>(step.prompts + step.generating);
    add(step.pool, step.begin, step.end, &PoolLoad::sequences, sequences);
    add(step.pool, step.begin, step.first_stage_end, &PoolLoad::computing, 1);
    add(step.pool,
        step.begin,
        step.first_stage_end,
        &PoolLoad::waiting,
        static_cast<double>(step.waiting));
    add(step.pool, step.begin, step.first_stage_end, &PoolLoad::cache, step.cache);
}

// Doubles the length of a part: two parts become one.
void ServedTimeline::widen() {
    part_ *= 2;
    for (std::vector<PoolLoad>& sums : sums_) {
        for (std::size_t i = 0; i < sums.size(); i += 2) {
            PoolLoad both = sums[i];
            if (i + 1 < sums.size()) {
                both.computing += sums[i + 1].computing;
                both.sequences += sums[i + 1].sequences;
                both.waiting += sums[i + 1].waiting;
                both.cache += sums[i + 1].cache;
            }
            sums[i / 2] = both;
        }
        sums.resize((sums.size() + 1) / 2);
    }
}

void ServedTimeline::add(
    std::size_t pool, Time begin, Time end, double PoolLoad::*field, double value) {
    std::vector<PoolLoad>& sums = sums_[pool];
    for (std::int64_t at = begin.picoseconds(); at < end.picoseconds();) {
        const auto part = static_cast<std::size_t>(at / part_);
        const std::int64_t span = std::min(end.picoseconds() - at, part_ - at % part_);
        if (sums.size() <= part) {
            sums.resize(part + 1);
        }
        sums[part].*field += value * static_cast<double>(span);
        at += span;
    }
}

std::vector<std::vector<PoolLoad>> ServedTimeline::loads() const {
    std::size_t parts = 0;
    for (const std::vector<PoolLoad>& sums : sums_) {
        parts = std::max(parts, sums.size());
    }
    const double width = static_cast<double>(part_);
    std::vector<std::vector<PoolLoad>> loads;
    for (const std::vector<PoolLoad>& sums : sums_) {
        std::vector<PoolLoad>& of_pool = loads.emplace_back();
        for (const PoolLoad& sum : sums) {
            of_pool.push_back({.computing = sum.computing / width,
                               .sequences = sum.sequences / width,
                               .waiting = sum.waiting / width,
                               .cache = sum.cache / width});
        }
        of_pool.resize(parts);
    }
    return loads;
}

ServedTimeline::Ring& ServedTimeline::ring_of(const ServedStep& step) {
    const auto found = std::ranges::find_if(rings_, [&](const Ring& ring) {
        return ring.pool == step.pool && ring.instance == step.instance;
    });
    return found != rings_.end() ? *found
                                 : rings_.emplace_back(Ring{
                                       .pool = step.pool, .instance = step.instance, .steps = {}});
}

// The steps of all rings during this ring's steps.
std::vector<ServedTimeline::Lane> ServedTimeline::window_of(const Ring& ring) const {
    const Time begin = ring.steps.front().begin;
    const Time end = ring.steps.back().end;
    std::vector<Lane> lanes;
    for (const Ring& one : rings_) {
        Lane& lane =
            lanes.emplace_back(Lane{.pool = one.pool, .instance = one.instance, .steps = {}});
        std::ranges::copy_if(
            one.steps, std::back_inserter(lane.steps), [&](const ServedStep& step) {
                return step.begin >= begin && step.end <= end;
            });
    }
    std::ranges::sort(lanes, {}, [](const Lane& lane) {
        return std::pair{lane.pool, lane.instance};
    });
    return lanes;
}

std::vector<ServedTimeline::Lane> ServedTimeline::fullest() const {
    return is_open_ ? window_of(rings_[fullest_ring_]) : fullest_;
}

}  // namespace orrery
