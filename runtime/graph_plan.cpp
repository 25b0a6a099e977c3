// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph_plan.h"

#include <numeric>

#include "engine/base/check.h"
#include "models/segments/segment_builder.h"

namespace orrery {
namespace {

class GraphPlanner {
public:
    GraphPlanner(const RankProgram& rank, const LaunchPlan& plan, const WhyEager& why_eager)
        : rank_(rank), plan_(plan), why_eager_(why_eager) {
        open_.fill(kClosed);
    }

    GraphPlan run() {
        for (std::uint32_t i = 0; i < plan_.launches.size(); ++i) {
            add(i);
        }
        for (GraphPiece& piece : result_.pieces) {
            finish(piece);
        }
        return std::move(result_);
    }

private:
    static constexpr std::int64_t kClosed = -1;

    void add(std::uint32_t i) {
        const Launch& launch = plan_.launches[i];
        std::int64_t& open = open_[index(launch.stream)];
        const EagerReason eager = why_eager_(rank_.op(launch.slot, launch.op));
        const bool goes_on = open != kClosed && eager == EagerReason::none &&
                             launch.waits.empty() && slot_of(open) == launch.slot;
        if (!goes_on) {
            open = static_cast<std::int64_t>(result_.pieces.size());
            result_.pieces.push_back({.launches = {}, .eager = eager});
        }
        result_.pieces[static_cast<std::size_t>(open)].launches.push_back(i);
        if (eager != EagerReason::none || launch.awaited) {
            open = kClosed;
        }
    }

    std::uint32_t slot_of(std::int64_t piece) const {
        const GraphPiece& open = result_.pieces[static_cast<std::size_t>(piece)];
        return plan_.launches[open.launches.front()].slot;
    }

    void finish(GraphPiece& piece) {
        if (piece.eager == EagerReason::none && piece.launches.size() == 1) {
            piece.eager = EagerReason::alone;
        }
        for (const std::uint32_t i : piece.launches) {
            const Op& op = rank_.op(plan_.launches[i].slot, plan_.launches[i].op);
            if (op.kind() == OpKind::kernel) {
                result_.kernels[static_cast<std::size_t>(piece.eager)] += op.launches;
            }
        }
    }

    const RankProgram& rank_;
    const LaunchPlan& plan_;
    const WhyEager& why_eager_;
    GraphPlan result_;
    std::array<std::int64_t, kNumStreams> open_{};  // by stream: the unfinished piece
};

}  // namespace

std::string_view name(EagerReason reason) {
    switch (reason) {
        case EagerReason::none:
            return "in graphs";
        case EagerReason::communication:
            return "communication";
        case EagerReason::host_work:
            return "needs the host";
        case EagerReason::alone:
            return "alone between waits";
    }
    return "";
}

std::int64_t GraphPlan::total_kernels() const {
    return std::accumulate(kernels.begin(), kernels.end(), std::int64_t{0});
}

double GraphPlan::share_in_graphs() const {
    const std::int64_t total = total_kernels();
    return total == 0 ? 0.0
                      : static_cast<double>(kernels[static_cast<std::size_t>(EagerReason::none)]) /
                            static_cast<double>(total);
}

GraphPlan plan_graphs(const RankProgram& rank, const LaunchPlan& plan, const WhyEager& why_eager) {
    return GraphPlanner{rank, plan, why_eager}.run();
}

}  // namespace orrery
