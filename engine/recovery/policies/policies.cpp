// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/policies/policies.h"

namespace orrery {
namespace {

// A policy on the ladder. It calls the spec's function of the same name if there is one, otherwise
// RecoveryPolicy's default.
template <class Spec>
class Rung final : public RecoveryPolicy {
public:
    explicit Rung(const Spec& spec) : spec_(spec) {}
    const PolicyWords& words() const override { return Spec::kWords; }
    std::optional<PolicyMisfit> misfit(std::int64_t replicas) const override {
        if constexpr (requires { spec_.misfit(replicas); }) {
            return spec_.misfit(replicas);
        } else {
            return RecoveryPolicy::misfit(replicas);
        }
    }
    std::optional<SpareRule> spares() const override {
        if constexpr (requires { spec_.spares(); }) {
            return spec_.spares();
        } else {
            return RecoveryPolicy::spares();
        }
    }
    std::optional<std::uint32_t> least_units() const override {
        if constexpr (requires { spec_.least_units(); }) {
            return spec_.least_units();
        } else {
            return RecoveryPolicy::least_units();
        }
    }
    std::optional<PeerPlacement> copies() const override {
        if constexpr (requires { spec_.copies(); }) {
            return spec_.copies();
        } else {
            return RecoveryPolicy::copies();
        }
    }
    bool keeps_own_state(const JobShape& shape) const override {
        if constexpr (requires { spec_.keeps_own_state(shape); }) {
            return spec_.keeps_own_state(shape);
        } else {
            return RecoveryPolicy::keeps_own_state(shape);
        }
    }
    bool drains_slow_nodes() const override {
        if constexpr (requires { spec_.drains_slow_nodes(); }) {
            return spec_.drains_slow_nodes();
        } else {
            return RecoveryPolicy::drains_slow_nodes();
        }
    }
    std::optional<double> replayed_share() const override {
        if constexpr (requires { spec_.replayed_share(); }) {
            return spec_.replayed_share();
        } else {
            return RecoveryPolicy::replayed_share();
        }
    }
    std::optional<MemberTest> test() const override {
        if constexpr (requires { spec_.test(); }) {
            return spec_.test();
        } else {
            return RecoveryPolicy::test();
        }
    }
    std::optional<double> step_overhead() const override {
        if constexpr (requires { spec_.step_overhead(); }) {
            return spec_.step_overhead();
        } else {
            return RecoveryPolicy::step_overhead();
        }
    }
    std::optional<WallTime> failover_time() const override {
        if constexpr (requires { spec_.failover_time(); }) {
            return spec_.failover_time();
        } else {
            return RecoveryPolicy::failover_time();
        }
    }
    std::optional<Detour> detour() const override {
        if constexpr (requires { spec_.detour(); }) {
            return spec_.detour();
        } else {
            return RecoveryPolicy::detour();
        }
    }
    bool restarts_in_place(const Observation& o, const JobState& state) const override {
        if constexpr (requires { spec_.restarts_in_place(o, state); }) {
            return spec_.restarts_in_place(o, state);
        } else {
            return RecoveryPolicy::restarts_in_place(o, state);
        }
    }
    void widen(const JobState& state, std::vector<NodeNumber>& nodes) const override {
        if constexpr (requires { spec_.widen(state, nodes); }) {
            return spec_.widen(state, nodes);
        } else {
            return RecoveryPolicy::widen(state, nodes);
        }
    }
    std::optional<Action> fill(const JobState& state, std::uint32_t slot) const override {
        if constexpr (requires { spec_.fill(state, slot); }) {
            return spec_.fill(state, slot);
        } else {
            return RecoveryPolicy::fill(state, slot);
        }
    }
    std::optional<RestoreSource> restore(const Observation& o,
                                         const JobState& state,
                                         RestartExtent extent) const override {
        if constexpr (requires { spec_.restore(o, state, extent); }) {
            return spec_.restore(o, state, extent);
        } else {
            return RecoveryPolicy::restore(o, state, extent);
        }
    }
    std::optional<Action> foresee(const Observation& o, const JobState& state) const override {
        if constexpr (requires { spec_.foresee(o, state); }) {
            return spec_.foresee(o, state);
        } else {
            return RecoveryPolicy::foresee(o, state);
        }
    }
    std::optional<Action> roll_back(const Observation& o, const JobState& state) const override {
        if constexpr (requires { spec_.roll_back(o, state); }) {
            return spec_.roll_back(o, state);
        } else {
            return RecoveryPolicy::roll_back(o, state);
        }
    }
    std::uint32_t checks(const Observation& o) const override {
        if constexpr (requires { spec_.checks(o); }) {
            return spec_.checks(o);
        } else {
            return RecoveryPolicy::checks(o);
        }
    }
    bool regrows(const JobState& state) const override {
        if constexpr (requires { spec_.regrows(state); }) {
            return spec_.regrows(state);
        } else {
            return RecoveryPolicy::regrows(state);
        }
    }
    std::optional<WallTime> interval(const JobState& state) const override {
        if constexpr (requires { spec_.interval(state); }) {
            return spec_.interval(state);
        } else {
            return RecoveryPolicy::interval(state);
        }
    }

private:
    Spec spec_;
};

}  // namespace

PolicyLadder make_ladder(const std::vector<PolicySpec>& specs) {
    PolicyLadder ladder;
    for (const PolicySpec& spec : specs) {
        ladder.push_back(std::visit(
            [](const auto& policy) -> std::unique_ptr<const RecoveryPolicy> {
                return std::make_unique<Rung<std::remove_cvref_t<decltype(policy)>>>(policy);
            },
            spec));
    }
    return ladder;
}

const PolicyWords& words_of(const PolicySpec& policy) {
    return std::visit(
        [](const auto& spec) -> const PolicyWords& {
            return std::remove_cvref_t<decltype(spec)>::kWords;
        },
        policy);
}

std::optional<PolicyMisfit> contradiction_of(const PolicySpec& policy) {
    return std::visit(
        [](const auto& spec) -> std::optional<PolicyMisfit> {
            if constexpr (requires { spec.contradiction(); }) {
                return spec.contradiction();
            } else {
                return {};
            }
        },
        policy);
}

void complete(PolicySpec& policy, const PolicySetting& setting) {
    std::visit(
        [&](auto& spec) {
            if constexpr (requires { spec.complete(setting); }) {
                spec.complete(setting);
            }
        },
        policy);
}

void leave_nothing_to_chance(PolicySpec& policy) {
    std::visit(
        [](auto& spec) {
            if constexpr (requires { spec.leave_nothing_to_chance(); }) {
                spec.leave_nothing_to_chance();
            }
        },
        policy);
}

}  // namespace orrery
