// SPDX-License-Identifier: Apache-2.0
// Executes the actions of the recovery machine, with the time that they take.
#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/campaign/campaign_world.h"

namespace orrery {
namespace {

// Limits a repair to a century beyond the campaign, so that times do not overflow.
constexpr WallTime kLongestRepair = WallTime::days(36525);

}  // namespace

WallTime sample(const RepairSpec& repair, CounterRandom& random) {
    WallTime time = sample(repair.time, random);
    while (repair.first_time_fix < 1 && time < kLongestRepair &&
           random.uniform() > repair.first_time_fix) {
        time = time + std::min(sample(repair.time, random), kLongestRepair);
    }
    return time;
}

Observation CampaignWorld::observation(ObservationKind kind) const {
    const std::int64_t step = spec_.speed.step.microseconds();
    Observation o;
    o.time = now_;
    o.kind = kind;
    o.step = progress_.work() / step;
    o.durable_step = progress_.durable() / step;
    o.memory_step = peers_ ? progress_.in_memory() / step : -1;
    return o;
}

void CampaignWorld::tell(Observation o) {
    if (options_.timeline && o.kind != ObservationKind::training_started) {
        mark(to_line(o), true);
    }
    obey(machine_.observe(o));
}

void CampaignWorld::obey(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
        switch (action.kind) {
            case ActionKind::diagnose:
            case ActionKind::call_operator: {
                const bool human = action.kind == ActionKind::call_operator;
                result_.operator_calls += human ? 1 : 0;
                interrupted();
                ++generation_;
                enter(NodeUse::diagnosis);
                schedule(now_ + (human ? spec_.costs.call_operator : spec_.detection.diagnosis),
                         human ? Happening::operator_done : Happening::diagnosed,
                         0,
                         generation_);
                break;
            }
            case ActionKind::check:
                begin_check();
                break;
            case ActionKind::evict:
                evict(action.node);
                break;
            case ActionKind::replace:
                pool_.move(action.node, NodePlace::job);
                ++replaced_;
                break;
            case ActionKind::wait:
                interrupted();
                ++generation_;
                enter(NodeUse::waiting);
                break;
            case ActionKind::drain:
                begin_drain(action);
                break;
            case ActionKind::restart:
                refresh_rate();
                begin_restart(action);
                break;
            case ActionKind::set_interval:
                progress_.set_interval(action.interval);
                break;
            default:
                break;
        }
    }
    refresh_rate();
}

void CampaignWorld::on_diagnosed(bool by_operator) {
    Observation o = observation(ObservationKind::diagnosis_done);
    const auto found = [&](NodeNumber n) {
        const bool in_job = pool_[n].place == NodePlace::job;
        return in_job && (by_operator || uniform(pool_[n].fault_id, Chance::diagnosis, diagnoses_) <
                                             spec_.detection.localisation);
    };
    for (const NodeNumber n : sick_) {
        if (found(n)) {
            o.nodes.push_back(n);
        }
    }
    for (const NodeNumber n : corrupt_) {
        if (by_operator && found(n)) {
            o.nodes.push_back(n);
        }
    }
    if (!by_operator) {
        accuse_somebody(Chance::diagnosis, diagnoses_, spec_.detection.false_positive, o.nodes);
    }
    if (by_operator && corrupt_from_ >= 0) {
        o.verified_step = corrupt_from_ / spec_.speed.step.microseconds();
    } else {
        o.verified_step = o.step;
    }
    ++diagnoses_;
    job_fault_.curable = job_fault_.curable || by_operator;
    std::sort(o.nodes.begin(), o.nodes.end());
    o.nodes.erase(std::unique(o.nodes.begin(), o.nodes.end()), o.nodes.end());
    tell(o);
}

// Accuses a random node of the job with probability p.
void CampaignWorld::accuse_somebody(Chance chance,
                                    std::uint32_t id,
                                    double p,
                                    std::vector<NodeNumber>& out) {
    const JobState& job = machine_.state();
    if (uniform(id, chance, 1) < p) {
        const double where = uniform(id, chance, 2);
        const auto slot = static_cast<std::size_t>(where * static_cast<double>(job.slots.size()));
        if (job.slots[slot].node != kNoNode) {
            out.push_back(job.slots[slot].node);
        }
    }
}

void CampaignWorld::begin_check() {
    if (progress_.training()) {  // a healthy node was accused
        interrupted();
    }
    ++generation_;
    enter(NodeUse::checking);
    schedule(now_ + test_->duration, Happening::checked, 0, generation_);
}

// Tests find nodes that are sick or slow, not nodes that compute wrong numbers. For a bad pair they
// may name the other side.
void CampaignWorld::on_checked() {
    Observation o = observation(ObservationKind::checked);
    const JobState& job = machine_.state();
    ++checks_;
    const auto look = [&](const std::vector<NodeNumber>& nodes, std::vector<NodeNumber>& out) {
        for (const NodeNumber n : nodes) {
            const std::uint64_t id = pool_[n].fault_id;
            if (pool_[n].place != NodePlace::job ||
                uniform(id, Chance::check, 2 * checks_ + 1) >= test_->finds) {
                continue;
            }
            const bool named = uniform(id, Chance::check, 2 * checks_ + 2) < test_->localises;
            const std::uint32_t next = (job.slot_of_node[n] + 1) % job.shape.slots;
            const NodeNumber who = named ? n : job.slots[next].node;
            if (who != kNoNode) {
                out.push_back(who);
            }
        }
        std::sort(out.begin(), out.end());
        out.erase(std::unique(out.begin(), out.end()), out.end());
    };
    accuse_somebody(Chance::check, checks_, test_->false_positive, o.nodes);
    look(sick_, o.nodes);
    look(slow_, o.slow);
    std::erase_if(o.slow, [&](NodeNumber n) {
        return std::binary_search(o.nodes.begin(), o.nodes.end(), n);
    });
    tell(o);
}

void CampaignWorld::evict(NodeNumber n) {
    PooledNode& node = pool_[n];
    if (node.place == NodePlace::repair) {
        return;
    }
    const bool lasting = node.corrupt || node.slow > 1 || (node.sick && !node.transient);
    ++result_.evictions;
    result_.false_evictions += node.broken() || node.repair > WallTime{} ? 0 : 1;
    WallTime duration = node.repair;
    if (duration == WallTime{}) {
        CounterRandom random{seed_, node.fault_id, static_cast<std::uint32_t>(Chance::repair)};
        duration = lasting ? sample(spec_.repair, random) : spec_.repair.test;
    }
    std::erase(slow_, n);
    std::erase(sick_, n);
    std::erase(corrupt_, n);
    std::vector<Repair> begun;
    pool_.send_to_repair(n, now_, std::min(duration, kLongestRepair), begun);
    result_.down_most = std::max(result_.down_most, pool_.count(NodePlace::repair));
    begin_repairs(begun);
}

void CampaignWorld::begin_repairs(const std::vector<Repair>& repairs) {
    for (const Repair& repair : repairs) {
        schedule(repair.end, Happening::repaired, repair.node, 0);
    }
}

void CampaignWorld::on_repaired(NodeNumber node) {
    std::vector<Repair> begun;
    pool_.repaired(node, now_, begun);
    begin_repairs(begun);
    Observation o = observation(ObservationKind::node_ready);
    o.nodes = {node};
    tell(o);
}

// The work that a restore recovers. Corrects `source` if the copies that the machine ordered are
// lost.
std::int64_t CampaignWorld::restored_work(const Action& action, RestoreSource& source) const {
    if (source == RestoreSource::live) {
        return progress_.work();
    }
    if (source == RestoreSource::memory) {
        if (peers_ && peers_->survives(spec_.job, machine_.state().evicted)) {
            return progress_.in_memory();
        }
        source = RestoreSource::remote;
    }
    const std::int64_t step = spec_.speed.step.microseconds();
    const std::int64_t limit =
        action.step_max >= INT64_MAX / step - 1 ? INT64_MAX : action.step_max * step + step - 1;
    return progress_.durable_before(limit, action.checkpoints_back);
}

void CampaignWorld::begin_restart(const Action& action) {
    // True if a node returns, or a healthy one was accused
    const bool trains = progress_.training();
    if (trains) {
        progress_.stop(result_.nodes);
    }
    if (!recovering_) {
        recovering_ = true;
        fault_since_ = now_;
    }
    ++generation_;
    ++result_.restarts;
    RestoreSource source = action.source;
    target_ = restored_work(action, source);
    progress_.roll_back(target_, result_.nodes);
    if (!planned_) {
        result_.losses.push_back(progress_.last_loss());
    }
    skip_batches_ = action.skip_batches;
    const RecoveryCosts& costs = spec_.costs;
    const bool full = action.extent == RestartExtent::full;
    const bool in_place = action.extent == RestartExtent::in_place;
    phases_[0] = trains ? costs.leave : WallTime{};
    phases_[1] = replaced_ > 0 ? costs.swap : WallTime{};
    const bool failover = action.extent == RestartExtent::failover;
    phases_[2] = full       ? costs.restart_full
                 : in_place ? costs.restart_in_place
                 : failover ? costs.failover
                            : costs.reconfigure;
    phases_[3] = WallTime{};
    if (source == RestoreSource::memory) {
        phases_[3] = costs.load_memory;
    } else if (source == RestoreSource::remote) {
        const WallTime ready = now_ + phases_[0] + phases_[1] + phases_[2];
        phases_[3] = costs.load_remote + std::max(WallTime{}, store_until_ - ready);
    }
    replaced_ = 0;
    next_phase_ = 0;
    restart_begin_ = now_;
    next_phase();
}

void CampaignWorld::next_phase() {
    static constexpr NodeUse kUses[] = {
        NodeUse::checkpoint, NodeUse::replacing, NodeUse::restart, NodeUse::restore};
    while (next_phase_ < phases_.size() && phases_[next_phase_] == WallTime{}) {
        ++next_phase_;
    }
    if (next_phase_ == phases_.size()) {
        return on_training();
    }
    enter(kUses[next_phase_]);
    schedule(now_ + phases_[next_phase_], Happening::phase_ends, 0, generation_);
    ++next_phase_;
}

// Removes the faults that a restart cures. False if another fault remains, so that no step will be
// made.
bool CampaignWorld::cure() {
    const auto cured = [&](NodeNumber n) {
        PooledNode& node = pool_[n];
        if (node.transient && node.since <= restart_begin_) {
            node.sick = false;
            node.transient = false;
            node.detecting = false;
            ++node.generation;
            return true;
        }
        return false;
    };
    std::erase_if(sick_, cured);
    if (job_fault_.present && job_fault_.curable && job_fault_.since <= restart_begin_) {
        job_fault_.present = false;
    }
    return sick_.empty() && !job_fault_.present;
}

void CampaignWorld::on_training() {
    if (!cure()) {
        enter(NodeUse::detection);
        if (job_fault_.present) {
            detect_job();
        }
        if (!sick_.empty()) {
            detect_node(sick_.front());
        }
        return;
    }
    check_numbers();
    enter(NodeUse::productive);
    if (recovering_ && !planned_) {
        result_.recoveries.push_back(now_ - fault_since_);
    }
    recovering_ = false;
    planned_ = false;
    refresh_rate();
    progress_.start(now_);
    for (const NodeNumber n : slow_) {
        if (pool_[n].place == NodePlace::job && spec_.detection.step_outlier > WallTime{}) {
            schedule(
                now_ + spec_.detection.step_outlier, Happening::slow_seen, n, pool_[n].generation);
        }
    }
    tell(observation(ObservationKind::training_started));
}

// Decides whether the restored numbers are right.
void CampaignWorld::check_numbers() {
    if (skip_batches_) {
        spike_at_ = -1;
        skip_batches_ = false;
    }
    if (corrupt_from_ >= 0 && progress_.work() <= corrupt_from_) {
        corrupt_from_ = -1;
        corrupt_seen_ = -1;
    }
    if (!corrupt_.empty()) {
        make_corrupt(progress_.work(), pool_[corrupt_.front()].fault_id);
    } else if (spike_at_ >= 0) {
        // The same batches are repeated.
        corrupt_from_ = std::max(spike_at_, progress_.work());
        expect_corruption(WallTime::microseconds(corrupt_from_ - progress_.work()) + kSpikeSeen);
    } else if (corrupt_from_ >= 0) {
        make_corrupt(corrupt_from_, corrupt_id_);
    }
}

void CampaignWorld::begin_drain(const Action& action) {
    if (drain_generation_ == generation_) {
        draining_.push_back(action.node);
        return;
    }
    planned_ = action.node == kNoNode;
    draining_.clear();
    if (!planned_) {
        draining_.push_back(action.node);
    }
    if (!progress_.training() && phase_ != NodeUse::stall) {
        return;  // the job hangs, which will be detected
    }
    drain_generation_ = generation_;
    if (action.urgent) {
        return on_drain_begins();
    }
    schedule(progress_.next_checkpoint(), Happening::drain_begins, 0, generation_);
}

void CampaignWorld::on_drain_begins() {
    if (progress_.training()) {
        progress_.stop(result_.nodes);
    }
    recovering_ = true;
    fault_since_ = now_;
    drain_generation_ = ++generation_;  // cancels the end of a stall
    enter(NodeUse::checkpoint);
    schedule(now_ + spec_.checkpoint.stall + spec_.checkpoint.copy,
             Happening::drain_ends,
             0,
             generation_);
}

void CampaignWorld::on_drain_ends() {
    progress_.commit_all(now_);
    Observation o = observation(ObservationKind::drained);
    o.fault = planned_ ? FaultKind::job_update : o.fault;
    for (const NodeNumber n : draining_) {
        if (pool_[n].place == NodePlace::job) {
            o.nodes.push_back(n);
        }
    }
    tell(o);
}

}  // namespace orrery
