// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/recovery_machine.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace orrery {

RecoveryMachine::RecoveryMachine(const JobShape& shape,
                                 std::uint32_t nodes,
                                 PolicyLadder ladder,
                                 const RecoveryLimits& limits)
    : state_(shape, nodes), ladder_(std::move(ladder)), limits_(limits) {}

std::vector<Action> RecoveryMachine::start() {
    actions_.clear();
    set_interval();
    return actions_;
}

std::vector<Action> RecoveryMachine::observe(const Observation& o) {
    actions_.clear();
    switch (o.kind) {
        case ObservationKind::training_started:
            on_training(o);
            break;
        case ObservationKind::fault_detected:
            on_fault(o);
            break;
        case ObservationKind::corruption_found:
            on_corruption(o);
            break;
        case ObservationKind::diagnosis_done:
            if (phase_ == Phase::diagnosing) {
                if (incident_.kind == ObservationKind::corruption_found) {
                    restart_.step_max = o.verified_step;
                }
                replace_and_restart(o, restart_);
            }
            break;
        case ObservationKind::drained:
            on_drained(o);
            break;
        case ObservationKind::node_ready:
            on_ready(o);
            break;
        case ObservationKind::checked:
            on_checked(o);
            break;
        default:
            on_foresight(o);
            break;
    }
    if (keeps_log_) {
        log_.push_back({o, actions_});
    }
    return actions_;
}

void RecoveryMachine::on_training(const Observation& o) {
    phase_ = Phase::training;
    started_ = o.time;
    trained_ = true;
    members_changed_ = false;
    state_.evicted.clear();
    state_.without = state_.vacancies;
    set_interval();
    regrow(o);  // with the nodes that became ready during the restart
}

// A failure of other nodes than last time is a new incident, however soon it comes.
void RecoveryMachine::count_attempt(const Observation& o) {
    const bool others =
        !o.nodes.empty() && std::none_of(o.nodes.begin(), o.nodes.end(), [&](NodeNumber node) {
            return std::find(incident_.nodes.begin(), incident_.nodes.end(), node) !=
                   incident_.nodes.end();
        });
    const bool corrupt = o.kind == ObservationKind::corruption_found;
    const bool soon =
        !trained_ || o.time - started_ < limits_.same_incident ||
        (corrupt && corrupt_once_ && o.time - corrupt_last_ < limits_.same_corruption);
    if (corrupt) {
        corrupt_once_ = true;
        corrupt_last_ = o.time;
    }
    state_.attempt = soon && !others ? state_.attempt + 1 : 1;
    if (trained_) {
        state_.trained += o.time - started_;
        ++state_.incidents;
    }
    trained_ = false;
}

// Vacant slots must be filled first.
bool RecoveryMachine::restarts_in_place(const Observation& o) const {
    return state_.vacant(Vacancy::open) == 0 && !members_changed_ &&
           std::any_of(ladder_.begin(), ladder_.end(), [&](const auto& policy) {
               return policy->restarts_in_place(o, state_);
           });
}

void RecoveryMachine::begin_incident(const Observation& o) {
    incident_ = o;
    filled_ = false;
    checks_ = 0;
}

void RecoveryMachine::on_fault(const Observation& o) {
    count_attempt(o);
    begin_incident(o);
    restart_ = Action{};
    if (state_.attempt > limits_.attempts_max) {
        state_.attempt = 0;
        phase_ = Phase::diagnosing;
        restart_.skip_batches = true;
        actions_.push_back({.kind = ActionKind::call_operator});
        return;
    }
    if (restarts_in_place(o)) {
        restart_.extent = RestartExtent::in_place;
        finish(o, restart_);
        return;
    }
    // If the process reported its cause or the sick node is known, no diagnosis is needed.
    if (o.nodes.empty() && o.detector != Detector::exit_code) {
        phase_ = Phase::diagnosing;
        actions_.push_back({.kind = ActionKind::diagnose});
        return;
    }
    replace_and_restart(o, restart_);
}

void RecoveryMachine::on_corruption(const Observation& o) {
    count_attempt(o);
    begin_incident(o);
    restart_ = Action{};
    for (const auto& policy : ladder_) {
        if (const std::optional<Action> back = policy->roll_back(o, state_)) {
            restart_.step_max = back->step_max;
            restart_.checkpoints_back = back->checkpoints_back;
            restart_.skip_batches = back->skip_batches;
            break;
        }
    }
    if (state_.attempt > limits_.attempts_max) {
        restart_.skip_batches = true;
        restart_.checkpoints_back = 0;  // the person decides how far to go back
        state_.attempt = 0;
        phase_ = Phase::diagnosing;
        actions_.push_back({.kind = ActionKind::call_operator});
        return;
    }
    replace_and_restart(o, restart_);
}

void RecoveryMachine::on_foresight(const Observation& o) {
    for (const NodeNumber node : o.nodes) {
        std::erase(state_.spares, node);  // an idle node with a warning is no longer a spare
    }
    if (o.nodes.empty() && o.kind == ObservationKind::notice && phase_ == Phase::training) {
        phase_ = Phase::draining;
        actions_.push_back({.kind = ActionKind::drain, .node = kNoNode, .urgent = true});
        return;
    }
    const bool in_job = std::any_of(o.nodes.begin(), o.nodes.end(), [&](NodeNumber node) {
        return state_.slot_of_node[node] != kNoSlot;
    });
    if (phase_ != Phase::training || !in_job) {
        return;
    }
    for (const auto& policy : ladder_) {
        if (const std::optional<Action> drain = policy->foresee(o, state_)) {
            phase_ = Phase::draining;
            for (const NodeNumber node : o.nodes) {
                if (state_.slot_of_node[node] != kNoSlot) {
                    Action one = *drain;
                    one.node = node;
                    actions_.push_back(one);
                }
            }
            return;
        }
    }
}

void RecoveryMachine::on_drained(const Observation& o) {
    if (phase_ != Phase::draining) {
        return;
    }
    state_.attempt = 1;
    state_.trained += o.time - started_;
    trained_ = false;
    begin_incident(o);
    Action restart;
    if (o.nodes.empty() && restarts_in_place(o)) {
        restart.extent = RestartExtent::in_place;
        return finish(o, restart);
    }
    replace_and_restart(o, restart);
}

void RecoveryMachine::on_ready(const Observation& o) {
    for (const NodeNumber node : o.nodes) {
        if (state_.slot_of_node[node] == kNoSlot &&
            std::find(state_.spares.begin(), state_.spares.end(), node) == state_.spares.end()) {
            state_.spares.push_back(node);
        }
    }
    if (phase_ == Phase::waiting) {
        if (fill_slots()) {
            Observation now = incident_;
            now.time = o.time;
            now.step = o.step;
            now.durable_step = o.durable_step;
            now.memory_step = o.memory_step;
            finish(now, restart_);
        }
        return;
    }
    regrow(o);
}

// A job that runs without some nodes takes nodes back.
void RecoveryMachine::regrow(const Observation& o) {
    const bool regrows = std::any_of(ladder_.begin(), ladder_.end(), [&](const auto& policy) {
        return policy->regrows(state_);
    });
    if (phase_ != Phase::training || !regrows) {
        return;
    }
    bool grown = false;
    const std::vector<std::uint32_t> vacancies = state_.vacancies;
    for (const std::uint32_t i : vacancies) {
        if (!state_.spares.empty()) {
            const NodeNumber node = state_.spares.front();
            state_.place(i, node);
            actions_.push_back({.kind = ActionKind::replace, .node = node, .slot = i});
            grown = true;
        }
    }
    if (grown) {
        state_.trained += o.time - started_;
        trained_ = false;
        state_.attempt = 0;
        begin_incident(o);
        Action restart{.extent = RestartExtent::members};
        members_changed_ = true;
        finish(o, restart);
    }
}

void RecoveryMachine::evict(std::vector<NodeNumber> nodes) {
    for (const auto& policy : ladder_) {
        policy->widen(state_, nodes);
    }
    for (const NodeNumber node : nodes) {
        std::erase(state_.spares, node);
        const std::uint32_t slot = state_.slot_of_node[node];
        actions_.push_back({.kind = ActionKind::evict, .node = node});
        if (slot != kNoSlot) {
            state_.vacate(slot);
            state_.evicted.push_back(slot);
        }
    }
}

// Fills every open slot and, if there are nodes now, the slots that a policy left vacant.
bool RecoveryMachine::fill_slots() {
    bool all = true;
    const std::vector<std::uint32_t> vacancies = state_.vacancies;
    for (const std::uint32_t i : vacancies) {
        const Vacancy vacancy = state_.slots[i].vacancy;
        std::optional<Action> filled;
        for (const auto& policy : ladder_) {
            if (!filled) {
                filled = policy->fill(state_, i);
            }
        }
        if (!filled && !state_.spares.empty()) {
            // The job was waiting for nodes, and takes the first spare.
            filled = Action{.kind = ActionKind::replace, .node = state_.spares.front()};
        }
        if (!filled) {
            all = all && vacancy != Vacancy::open;
            continue;
        }
        filled->slot = i;
        members_changed_ = true;
        const bool replaces = filled->kind == ActionKind::replace;
        if (!replaces && vacancy != Vacancy::open) {
            continue;  // the job already runs without this slot
        }
        filled_ = filled_ || filled->kind != ActionKind::take_over;
        if (replaces) {
            state_.place(i, filled->node);
        } else {
            state_.slots[i].vacancy = filled->kind == ActionKind::drop      ? Vacancy::dropped
                                      : filled->kind == ActionKind::reroute ? Vacancy::rerouted
                                                                            : Vacancy::taken_over;
        }
        actions_.push_back(*filled);
    }
    return all;
}

void RecoveryMachine::replace_and_restart(const Observation& o, Action restart) {
    restart_ = restart;
    evict(o.nodes);
    if (!fill_slots()) {
        phase_ = Phase::waiting;
        actions_.push_back({.kind = ActionKind::wait});
        return;
    }
    finish(o, restart_);
}

bool RecoveryMachine::has_to_check() const {
    return std::any_of(ladder_.begin(), ladder_.end(), [&](const auto& policy) {
        return policy->checks(incident_) > checks_;
    });
}

// All slots are filled. Orders a test of the nodes if one is due, else the restart.
void RecoveryMachine::finish(const Observation& o, const Action& restart) {
    if (!has_to_check()) {
        return restart_now(o, restart);
    }
    ++checks_;
    restart_ = restart;
    phase_ = Phase::checking;
    actions_.push_back({.kind = ActionKind::check});
}

// Replaces a node that fails its test; a slow node only if there is a spare for it.
void RecoveryMachine::on_checked(const Observation& o) {
    if (phase_ != Phase::checking) {
        return;
    }
    Observation found = o;
    std::erase_if(found.nodes, [&](NodeNumber n) { return state_.slot_of_node[n] == kNoSlot; });
    const std::size_t spares = state_.spares.size();
    for (const NodeNumber node : o.slow) {
        if (state_.slot_of_node[node] != kNoSlot && found.nodes.size() < spares) {
            found.nodes.push_back(node);
        }
    }
    if (found.nodes.empty()) {
        return restart_now(found, restart_);
    }
    if (restart_.extent == RestartExtent::in_place) {
        restart_.extent = RestartExtent::full;
    }
    replace_and_restart(found, restart_);
}

void RecoveryMachine::restart_now(const Observation& o, Action restart) {
    const std::uint32_t taken_over = state_.vacant(Vacancy::taken_over);
    const bool shrunk =
        state_.vacant(Vacancy::dropped) + state_.vacant(Vacancy::rerouted) + taken_over > 0;
    if (restart.extent == RestartExtent::full && shrunk) {
        const bool others = filled_ || taken_over == 0;
        restart.extent = others ? RestartExtent::members : RestartExtent::failover;
    }
    // Every copy made since the corruption has the wrong numbers.
    if (incident_.kind == ObservationKind::corruption_found) {
        restart.source = RestoreSource::remote;
    } else {
        for (const auto& policy : ladder_) {
            if (const auto source = policy->restore(o, state_, restart.extent)) {
                restart.source = *source;
                break;
            }
        }
        // The checkpoint of a drain and the survivors' memories hold the last step.
        const bool regrown = incident_.kind == ObservationKind::node_ready ||
                             incident_.kind == ObservationKind::training_started;
        if (regrown && restart.source == RestoreSource::remote) {
            restart.source = RestoreSource::live;
        }
    }
    if (restart.extent == RestartExtent::failover && restart.source != RestoreSource::live) {
        restart.extent = RestartExtent::members;
    }
    phase_ = Phase::restarting;
    actions_.push_back(restart);
}

void RecoveryMachine::set_interval() {
    for (const auto& policy : ladder_) {
        if (const std::optional<WallTime> wanted = policy->interval(state_)) {
            if (*wanted != interval_) {
                interval_ = *wanted;
                actions_.push_back({.kind = ActionKind::set_interval, .interval = interval_});
            }
            return;
        }
    }
}

}  // namespace orrery
