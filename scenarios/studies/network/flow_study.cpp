// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/flow_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "network/collectives/channel_router.h"
#include "network/fabric/footprint.h"

namespace orrery {
namespace {

constexpr std::uint64_t kPurpose = 1U << 21;  // of flow labels: apart from the collectives'
constexpr std::size_t kFlowTracksMax = 1'024;

}  // namespace

Bytes share_of_queue_pair(Bytes bytes, std::uint32_t q, std::uint32_t n) {
    const std::int64_t b = bytes.count();
    return Bytes{b * (q + 1) / n - b * q / n};
}

FlowStudy::FlowStudy(const Fabric& fabric, std::vector<RankPair> pairs)
    : fabric_(fabric), pairs_(std::move(pairs)), queue_pairs_(fabric.queue_pairs_apart()) {}

bool FlowStudy::path_of(const RankPair& pair,
                        std::uint32_t queue_pair,
                        const LinkState& state,
                        FlowPath& out) const {
    Path path;
    const std::uint64_t label = flow_label(pair.from, pair.to, 0, kPurpose);
    if (!fabric_.route(pair.from, pair.to, label, path, queue_pair, state)) {
        return false;
    }
    FootprintBuilder builder;
    builder.add(path, 1);
    out = {.footprint = builder.take(), .latency = path.latency};
    return true;
}

std::vector<FlowEnd> FlowStudy::run(FlowRunner& runner, Bytes size) {
    std::vector<RunnerFlow> flows;
    for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
        for (std::uint32_t q = 0; q < queue_pairs_; ++q) {
            flows.push_back(
                {.start = runner.now(), .bytes = share_of_queue_pair(size, q, queue_pairs_)});
        }
    }
    return runner.run(flows, [&](std::size_t i, const LinkState& state, FlowPath& path) {
        const auto q = static_cast<std::uint32_t>(i % queue_pairs_);
        return path_of(pairs_[i / queue_pairs_], q, state, path);
    });
}

Time FlowStudy::unloaded(const RankPair& pair, Bytes size) const {
    std::map<LinkId, Bytes> on;
    Time latency;
    for (std::uint32_t q = 0; q < queue_pairs_; ++q) {
        FlowPath path;
        path_of(pair, q, {}, path);
        latency = std::max(latency, path.latency);
        for (const LinkShare& share : path.footprint) {
            on[share.link] += share_of_queue_pair(size, q, queue_pairs_);
        }
    }
    Time longest;
    for (const auto& [link, bytes] : on) {
        longest = std::max(longest, bytes / fabric_.links()[index(link)].capacity);
    }
    return latency + longest;
}

std::vector<FlowTime> FlowStudy::messages(Bytes size, const std::vector<FlowEnd>& ends) const {
    std::vector<FlowTime> all;
    for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
        FlowTime message{.time = {}, .unloaded = unloaded(pairs_[pair], size), .stalled = {}};
        for (std::uint32_t q = 0; q < queue_pairs_; ++q) {
            const FlowEnd& end = ends[pair * queue_pairs_ + q];
            message.time = std::max(message.time, end.end);
            message.stalled = std::max(message.stalled, end.stalled);
            message.finished = message.finished && end.finished;
            message.moved = message.moved || end.moves > 0;
        }
        all.push_back(message);
    }
    return all;
}

std::vector<std::string> FlowStudy::names() const {
    std::vector<std::string> names;
    for (const RankPair& pair : pairs_) {
        const auto name = fmt::format("rank {} -> rank {}", index(pair.from), index(pair.to));
        names.insert(names.end(), queue_pairs_, name);
    }
    return names;
}

FlowTimes FlowStudy::times(Bytes size, const std::vector<FlowEnd>& ends) const {
    return summarise(size, messages(size, ends));
}

void FlowStudy::draw(const FlowRunner& runner,
                     const std::vector<FlowEnd>& ends,
                     NetworkTrace& trace) const {
    const auto messages_drawn = std::min(pairs_.size(), kFlowTracksMax);
    std::vector<std::size_t> slowest(messages_drawn);
    for (std::size_t pair = 0; pair < messages_drawn; ++pair) {
        slowest[pair] = pair * queue_pairs_;
        for (std::size_t q = 1; q < queue_pairs_; ++q) {
            const std::size_t flow = pair * queue_pairs_ + q;
            slowest[pair] = ends[flow].end > ends[slowest[pair]].end ? flow : slowest[pair];
        }
        trace.tracks.push_back(
            {.name = fmt::format(
                 "rank {} -> rank {}", index(pairs_[pair].from), index(pairs_[pair].to)),
             .slices = {}});
    }
    for (const RateSpan& span : runner.spans()) {
        const std::size_t pair = span.flow / queue_pairs_;
        if (pair >= messages_drawn || slowest[pair] != span.flow) {
            continue;
        }
        const bool stalled = span.rate == Bandwidth{};
        trace.tracks[pair].slices.push_back(
            {.name =
                 stalled ? "stalled" : fmt::format("{:.4g} GB/s", span.rate.gigabytes_per_second()),
             .begin = span.begin,
             .end = span.end});
    }
}

}  // namespace orrery
