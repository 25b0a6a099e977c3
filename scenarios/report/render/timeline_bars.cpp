// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/timeline_bars.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace orrery {
namespace {

BarKind kind_of(const Op& op, Pass pass) {
    switch (op.cause) {
        case Cause::exposed_tensor:
            return BarKind::tensor;
        case Cause::exposed_context:
            return BarKind::context;
        case Cause::exposed_data:
            return BarKind::data;
        case Cause::exposed_pipeline:
            return BarKind::pipeline;
        case Cause::recomputation:
            return BarKind::recomputation;
        case Cause::optimizer:
            return BarKind::optimizer;
        default:
            break;
    }
    if (op.kind() != OpKind::kernel) {
        return BarKind::other;
    }
    switch (pass) {
        case Pass::forward:
        case Pass::loss_forward:
        case Pass::embedding_forward:
            return BarKind::forward;
        case Pass::backward:
        case Pass::loss_backward:
        case Pass::embedding_backward:
        case Pass::backward_input:
        case Pass::backward_weight:
            return BarKind::backward;
        case Pass::optimizer:
            return BarKind::optimizer;
        default:
            return BarKind::other;
    }
}

// More lanes than this are more than a screen or two. Receives of a rank then share one lane, and
// its sends another. DualPipe has eight lanes of messages a rank.
constexpr std::size_t kMostLanes = 64;

// Adds `bars` to a lane, in the order of their beginnings. Where two overlap, the later one begins
// when the earlier one has ended.
void merge_bars(Lane& lane, std::vector<Bar> bars) {
    lane.bars.insert(lane.bars.end(), bars.begin(), bars.end());
    std::ranges::stable_sort(lane.bars, {}, &Bar::begin_ns);
    std::vector<Bar> apart;
    std::int64_t end = 0;
    for (Bar bar : lane.bars) {
        const std::int64_t late = std::max<std::int64_t>(end - bar.begin_ns, 0);
        bar.begin_ns += late;
        bar.length_ns -= late;
        if (bar.length_ns > 0) {
            end = bar.begin_ns + bar.length_ns;
            apart.push_back(bar);
        }
    }
    lane.bars = std::move(apart);
}

void share_message_lanes(std::vector<Lane>& lanes) {
    std::vector<Lane> fewer;
    std::map<std::pair<RankId, std::string>, std::size_t> shared;  // places in `fewer`
    for (Lane& lane : lanes) {
        const std::string way = lane.stream.substr(0, lane.stream.find(' '));
        if (way != "receive" && way != "send") {
            fewer.push_back(std::move(lane));
            continue;
        }
        const auto [found, fresh] = shared.try_emplace({lane.rank, way + "s"}, fewer.size());
        if (fresh) {
            lane.stream = way + "s";
            fewer.push_back(std::move(lane));
        } else {
            merge_bars(fewer[found->second], std::move(lane.bars));
        }
    }
    lanes = std::move(fewer);
}

class BarsBuilder {
public:
    BarsBuilder(const Program& program, Time origin) : program_(program), origin_(origin) {}

    void add(const TracedOp& traced);
    TimelineBars finish();

private:
    struct Open {
        Lane lane;
        std::uint32_t slot = 0;
    };
    std::uint32_t name_index(const std::string& text);

    const Program& program_;
    Time origin_;
    std::map<std::pair<RankId, StreamId>, Open> lanes_;
    std::map<std::string, std::uint32_t> indices_;
    TimelineBars result_;
};

std::uint32_t BarsBuilder::name_index(const std::string& text) {
    const auto [found, fresh] =
        indices_.try_emplace(text, static_cast<std::uint32_t>(result_.names.size()));
    if (fresh) {
        result_.names.push_back(text);
    }
    return found->second;
}

void BarsBuilder::add(const TracedOp& traced) {
    const Role& role = program_.roles[index(program_.role_of(traced.rank))];
    const Slot& slot = role.slots[traced.slot];
    const Segment& segment = program_.segment_of(slot);
    const Op& op = segment.ops[traced.op];
    // Communication begins when data move. Before that the rank waits.
    const std::int64_t begin = (traced.data_start - origin_).picoseconds() / 1000;
    const std::int64_t end = (traced.end - origin_).picoseconds() / 1000;
    if (end <= begin) {
        return;
    }
    Open& open = lanes_[{traced.rank, op.stream}];
    Lane& lane = open.lane;
    if (lane.bars.empty()) {
        lane.rank = traced.rank;
        lane.role = role.name;
        lane.stream = program_.stream_names[index(op.stream)];
    }
    const BarKind kind = kind_of(op, slot.pass);
    const bool goes_on = !lane.bars.empty() && open.slot == traced.slot &&
                         lane.bars.back().kind == kind &&
                         begin <= lane.bars.back().begin_ns + lane.bars.back().length_ns + 1;
    if (goes_on) {
        lane.bars.back().length_ns = end - lane.bars.back().begin_ns;
        return;
    }
    open.slot = traced.slot;
    const bool kernel = op.kind() == OpKind::kernel;
    lane.bars.push_back({.kind = kind,
                         .begin_ns = begin,
                         .length_ns = end - begin,
                         .name = name_index(kernel ? segment.name : program_.names[op.name]),
                         .micro_batch = slot.micro_batch});
}

TimelineBars BarsBuilder::finish() {
    for (auto& [key, open] : lanes_) {
        open.lane.first = result_.lanes.empty() || result_.lanes.back().rank != open.lane.rank;
        result_.lanes.push_back(std::move(open.lane));
    }
    if (result_.lanes.size() > kMostLanes) {
        share_message_lanes(result_.lanes);
    }
    return std::move(result_);
}

MemoryOverTime memory_over_time(const Program& program,
                                const std::vector<TracedOp>& trace,
                                std::uint32_t last,
                                Time origin) {
    RoleMemory most;
    for (std::size_t role = 0; role < program.roles.size(); ++role) {
        RoleMemory memory = role_memory(program, to_id<RoleId>(role), Bytes{});
        if (role == 0 || memory.peak > most.peak) {
            most = std::move(memory);
        }
    }
    MemoryOverTime over;
    over.role = program.roles[index(most.role)].name;
    std::map<std::uint32_t, Time> begins;  // by slot, on the role's first traced rank
    std::optional<RankId> rank;
    for (const TracedOp& op : trace) {
        if (op.step != last || program.role_of(op.rank) != most.role ||
            rank.value_or(op.rank) != op.rank) {
            continue;
        }
        rank = op.rank;
        const auto [found, fresh] = begins.try_emplace(op.slot, op.start);
        found->second = std::min(found->second, op.start);
    }
    for (const auto& [slot, begin] : begins) {
        over.moments.push_back(
            {.at_ns = (begin - origin).picoseconds() / 1000, .of = most.by_slot[slot]});
    }
    std::ranges::stable_sort(over.moments, {}, &MemoryOverTime::Moment::at_ns);
    return over;
}

}  // namespace

std::string_view name(BarKind kind) {
    constexpr std::string_view kNames[kNumBarKinds] = {"forward",
                                                       "backward",
                                                       "recomputation",
                                                       "optimizer",
                                                       "tensor",
                                                       "context",
                                                       "data",
                                                       "pipeline",
                                                       "other"};
    return kNames[static_cast<std::size_t>(kind)];
}

TimelineBars timeline_bars(const Program& program, const std::vector<TracedOp>& trace) {
    std::uint32_t last = 0;
    for (const TracedOp& op : trace) {
        last = std::max(last, op.step);
    }
    Time origin = Time::max();
    for (const TracedOp& op : trace) {
        origin = op.step == last ? std::min(origin, op.start) : origin;
    }
    BarsBuilder builder{program, origin};
    for (const TracedOp& op : trace) {
        if (op.step == last) {
            builder.add(op);
        }
    }
    TimelineBars bars = builder.finish();
    bars.memory = memory_over_time(program, trace, last, origin);
    return bars;
}

}  // namespace orrery
