// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/policies.h"

#include <algorithm>
#include <cmath>

#include "engine/recovery/closed_forms.h"

namespace orrery {
namespace {

class InPlaceRestartPolicy final : public RecoveryPolicy {
public:
    explicit InPlaceRestartPolicy(const InPlaceRestart& spec) : spec_(spec) {}
    std::string_view name() const override { return "in_place"; }
    std::string_view does_not_cover() const override { return "persistent hardware faults"; }
    bool restarts_in_place(const Observation& o, const JobState& state) const override {
        // A node that does not answer cannot start anything again.
        return info(o.fault).symptom != Symptom::silence && state.attempt <= spec_.attempts;
    }

private:
    InPlaceRestart spec_;
};

class HotSparesPolicy final : public RecoveryPolicy {
public:
    std::string_view name() const override { return "spares"; }
    std::string_view does_not_cover() const override { return "more nodes down than spares"; }
    std::optional<Action> fill(const JobState& state, std::uint32_t slot) const override {
        if (state.spares.empty()) {
            return {};
        }
        (void)slot;
        return Action{.kind = ActionKind::replace, .node = state.spares.front()};
    }
};

class ElasticPolicy final : public RecoveryPolicy {
public:
    explicit ElasticPolicy(const ElasticDataParallel& spec) : spec_(spec) {}
    std::string_view name() const override { return "elastic"; }
    std::string_view does_not_cover() const override {
        return "state that only the lost unit held; the last unit";
    }
    std::optional<Action> fill(const JobState& state, std::uint32_t slot) const override {
        const std::vector<std::uint32_t> gone = state.dropped_units();
        const bool is_gone =
            std::binary_search(gone.begin(), gone.end(), state.shape.unit_of(slot));
        const std::size_t lost = gone.size() + (is_gone ? 0 : 1);
        if (state.shape.units < lost + std::max(1U, spec_.units_min)) {
            return {};
        }
        return Action{.kind = ActionKind::drop};
    }
    std::optional<RestoreSource> restore(const Observation&,
                                         const JobState& state,
                                         RestartExtent extent) const override {
        const bool whole = extent == RestartExtent::members && !state.shape.state_sharded;
        return whole ? std::optional{RestoreSource::live} : std::nullopt;
    }
    bool regrows(const JobState&) const override { return true; }

private:
    ElasticDataParallel spec_;
};

class ReroutingPolicy final : public RecoveryPolicy {
public:
    std::string_view name() const override { return "reroute"; }
    std::string_view does_not_cover() const override { return "a stage without a peer left"; }
    std::optional<Action> fill(const JobState& state, std::uint32_t slot) const override {
        return state.peers(slot) > 0 ? std::optional{Action{.kind = ActionKind::reroute}}
                                     : std::nullopt;
    }
    std::optional<RestoreSource> restore(const Observation&,
                                         const JobState& state,
                                         RestartExtent extent) const override {
        const bool whole = extent == RestartExtent::members && !state.shape.state_sharded;
        return whole ? std::optional{RestoreSource::live} : std::nullopt;
    }
    bool regrows(const JobState&) const override { return true; }
};

class PeerCheckpointPolicy final : public RecoveryPolicy {
public:
    explicit PeerCheckpointPolicy(const PeerCheckpoint& spec) : spec_(spec) {}
    std::string_view name() const override { return "peer_checkpoint"; }
    std::string_view does_not_cover() const override {
        return "all holders of a copy lost at once (a group, a rack, a pod)";
    }
    std::optional<RestoreSource> restore(const Observation& o,
                                         const JobState& state,
                                         RestartExtent) const override {
        // Nobody's copy is worth the way if the store has a later one.
        if (o.memory_step < o.durable_step) {
            return {};
        }
        return spec_.placement.survives(state.shape, state.evicted)
                   ? std::optional{RestoreSource::memory}
                   : std::nullopt;
    }

private:
    PeerCheckpoint spec_;
};

class DrainPolicy final : public RecoveryPolicy {
public:
    explicit DrainPolicy(const PreemptiveDrain& spec) : spec_(spec) {}
    std::string_view name() const override { return "drain"; }
    std::string_view does_not_cover() const override { return "faults without a warning"; }
    std::optional<Action> foresee(const Observation& o, const JobState& state) const override {
        const bool slow = o.kind == ObservationKind::node_slow;
        if (o.nodes.empty() || (slow && !spec_.slow)) {
            return {};
        }
        // Without a replacement a slow node is better than none.
        if (slow && state.spares.empty()) {
            return {};
        }
        return Action{.kind = ActionKind::drain, .node = o.nodes.front(), .urgent = !slow};
    }

private:
    PreemptiveDrain spec_;
};

class OverEvictionPolicy final : public RecoveryPolicy {
public:
    explicit OverEvictionPolicy(const OverEviction& spec) : spec_(spec) {}
    std::string_view name() const override { return "over_eviction"; }
    std::string_view does_not_cover() const override { return "a shortage of spares"; }
    void widen(const JobState& state, std::vector<NodeNumber>& nodes) const override {
        std::vector<NodeNumber> wide;
        for (const NodeNumber node : nodes) {
            const NodeRange range =
                nodes_of(spec_.cluster, domain_of(spec_.cluster, spec_.scope, node));
            for (NodeNumber n = range.first; n < range.first + range.count; ++n) {
                if (state.slot_of_node[n] != kNoSlot) {
                    wide.push_back(n);
                }
            }
        }
        wide.insert(wide.end(), nodes.begin(), nodes.end());
        std::sort(wide.begin(), wide.end());
        wide.erase(std::unique(wide.begin(), wide.end()), wide.end());
        nodes = std::move(wide);
    }

private:
    OverEviction spec_;
};

class RollbackPolicy final : public RecoveryPolicy {
public:
    explicit RollbackPolicy(const RollbackAndSkip& spec) : spec_(spec) {}
    std::string_view name() const override { return "rollback"; }
    std::string_view does_not_cover() const override { return "hardware that stays in the job"; }
    std::optional<Action> roll_back(const Observation& o, const JobState& state) const override {
        // Twice as far each time in a row.
        const std::uint32_t again = std::clamp(state.attempt, 1U, 20U) - 1;
        const std::int64_t back = std::int64_t{spec_.checkpoints} << again;
        return Action{
            .kind = ActionKind::restart,
            .step_max = o.durable_step,
            .checkpoints_back = static_cast<std::uint32_t>(std::min<std::int64_t>(back, 1'000'000)),
            .skip_batches = true};
    }

private:
    RollbackAndSkip spec_;
};

class ReplayPolicy final : public RecoveryPolicy {
public:
    std::string_view name() const override { return "replay"; }
    std::string_view does_not_cover() const override { return "corruption between the samples"; }
    std::optional<Action> roll_back(const Observation& o, const JobState&) const override {
        if (o.detector != Detector::replay) {
            return {};
        }
        return Action{.kind = ActionKind::restart, .step_max = o.verified_step};
    }
};

class PreflightPolicy final : public RecoveryPolicy {
public:
    explicit PreflightPolicy(const PreflightCheck& spec) : spec_(spec) {}
    std::string_view name() const override { return "preflight"; }
    std::string_view does_not_cover() const override {
        return "wrong numbers; what only a long training shows";
    }
    std::uint32_t checks(const Observation& incident) const override {
        // Nobody is suspected where a node comes back, or somebody wanted the stop.
        switch (incident.kind) {
            case ObservationKind::fault_detected:
            case ObservationKind::corruption_found:
                return spec_.rounds;
            case ObservationKind::drained:
                return incident.nodes.empty() ? 0 : spec_.rounds;
            default:
                return 0;
        }
    }

private:
    PreflightCheck spec_;
};

class RedundantPolicy final : public RecoveryPolicy {
public:
    std::string_view name() const override { return "redundant"; }
    std::string_view does_not_cover() const override { return "two adjacent stages of a unit"; }
    std::optional<Action> fill(const JobState& state, std::uint32_t) const override {
        return covered(state) ? std::optional{Action{.kind = ActionKind::take_over}} : std::nullopt;
    }
    std::optional<RestoreSource> restore(const Observation&,
                                         const JobState& state,
                                         RestartExtent extent) const override {
        const bool stays = extent == RestartExtent::failover || extent == RestartExtent::members;
        return stays && covered(state) ? std::optional{RestoreSource::live} : std::nullopt;
    }
    bool regrows(const JobState&) const override { return true; }

private:
    // Somebody who was there has the state of each slot that is gone.
    static bool covered(const JobState& state) {
        const auto gone = [&](std::uint32_t slot) {
            const auto in = [&](const std::vector<std::uint32_t>& slots) {
                return std::find(slots.begin(), slots.end(), slot) != slots.end();
            };
            return in(state.evicted) || in(state.without);
        };
        const auto alone = [&](std::uint32_t slot) { return gone(state.shape.shadow_of(slot)); };
        return std::none_of(state.evicted.begin(), state.evicted.end(), alone) &&
               std::none_of(state.without.begin(), state.without.end(), alone);
    }
};

// The network goes around the loss: a supervisor hears of a slow node, if at all.
class RailPolicy final : public RecoveryPolicy {
public:
    std::string_view name() const override { return "rail_failover"; }
    std::string_view does_not_cover() const override { return "both of a node's ways out"; }
};

class IntervalPolicy final : public RecoveryPolicy {
public:
    explicit IntervalPolicy(const CheckpointInterval& spec) : spec_(spec) {}
    std::string_view name() const override { return "checkpoint"; }
    std::string_view does_not_cover() const override { return "work since the last checkpoint"; }
    std::optional<WallTime> interval(const JobState& state) const override {
        if (spec_.rule != IntervalRule::adaptive) {
            return interval_of(spec_, spec_.mtbf);
        }
        // The expectation weighs as much as one failure that was seen.
        const WallTime seen = spec_.mtbf + state.trained;
        const auto count = static_cast<std::int64_t>(state.incidents) + 1;
        return interval_of(spec_, WallTime::microseconds(seen.microseconds() / count));
    }

private:
    CheckpointInterval spec_;
};

struct Maker {
    using Made = std::unique_ptr<const RecoveryPolicy>;
    Made operator()(const InPlaceRestart& s) const {
        return std::make_unique<InPlaceRestartPolicy>(s);
    }
    Made operator()(const HotSpares&) const { return std::make_unique<HotSparesPolicy>(); }
    Made operator()(const ElasticDataParallel& s) const {
        return std::make_unique<ElasticPolicy>(s);
    }
    Made operator()(const PipelineRerouting&) const { return std::make_unique<ReroutingPolicy>(); }
    Made operator()(const PeerCheckpoint& s) const {
        return std::make_unique<PeerCheckpointPolicy>(s);
    }
    Made operator()(const PreemptiveDrain& s) const { return std::make_unique<DrainPolicy>(s); }
    Made operator()(const OverEviction& s) const { return std::make_unique<OverEvictionPolicy>(s); }
    Made operator()(const RollbackAndSkip& s) const { return std::make_unique<RollbackPolicy>(s); }
    Made operator()(const ReplayCheck&) const { return std::make_unique<ReplayPolicy>(); }
    Made operator()(const PreflightCheck& s) const { return std::make_unique<PreflightPolicy>(s); }
    Made operator()(const RedundantComputation&) const {
        return std::make_unique<RedundantPolicy>();
    }
    Made operator()(const RailFailover&) const { return std::make_unique<RailPolicy>(); }
    Made operator()(const CheckpointInterval& s) const {
        return std::make_unique<IntervalPolicy>(s);
    }
};

}  // namespace

PolicyLadder make_ladder(const std::vector<PolicySpec>& specs) {
    PolicyLadder ladder;
    for (const PolicySpec& spec : specs) {
        ladder.push_back(std::visit(Maker{}, spec));
    }
    return ladder;
}

WallTime interval_of(const CheckpointInterval& rule, WallTime mtbf) {
    const double stall = std::max(rule.stall.seconds(), 1e-6);
    const double m = mtbf.seconds();
    double seconds = rule.fixed.seconds();
    switch (rule.rule) {
        case IntervalRule::young:
            seconds = young_interval_s(m, stall);
            break;
        case IntervalRule::daly:
            seconds = daly_interval_s(m, stall);
            break;
        case IntervalRule::exact:
        case IntervalRule::adaptive:
            seconds = optimal_interval_s(m, stall);
            break;
        default:
            break;
    }
    const bool chosen = rule.rule != IntervalRule::fixed;
    const WallTime least = std::max(chosen ? rule.least : WallTime{}, WallTime::microseconds(1));
    const WallTime wanted = std::max(WallTime::seconds(seconds), least);
    if (rule.step <= WallTime{}) {
        return wanted;
    }
    const std::int64_t step = rule.step.microseconds();
    const std::int64_t nearest = (wanted.microseconds() + step / 2) / step;
    const std::int64_t steps = std::max(nearest, (least.microseconds() + step - 1) / step);
    return WallTime::microseconds(steps * step);
}

}  // namespace orrery
