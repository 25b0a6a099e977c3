// SPDX-License-Identifier: Apache-2.0
#include "engine/campaign/campaign.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/campaign/campaign_world.h"

namespace orrery {
namespace {

FaultWeather weather_of(const CampaignSpec& spec) {
    FaultWeather weather = spec.weather;
    weather.boost_max = std::max({1.0, spec.repair.worse_most, spec.repair.infant}) *
                        (spec.repair.infant > 1 ? std::max(1.0, spec.repair.worse_most) : 1.0);
    return weather;
}

}  // namespace

CampaignWorld::CampaignWorld(const CampaignSpec& spec,
                             std::uint64_t seed,
                             const CampaignOptions& options)
    : spec_(spec),
      seed_(seed),
      options_(options),
      schedule_(make_schedule(spec.faults, weather_of(spec), spec.cluster, spec.horizon, seed)),
      pool_(spec.cluster.nodes, spec.job.slots, spec.repair.crews),
      machine_(spec.job, spec.cluster.nodes, make_ladder(spec.policies), spec.limits),
      progress_(spec.checkpoint) {
    result_.seed = seed;
    result_.faults_of.resize(spec.faults.size());
    const PolicyLadder& ladder = machine_.ladder();
    replayed_share_ = first_answer(ladder, &RecoveryPolicy::replayed_share).value_or(0);
    test_ = first_answer(ladder, &RecoveryPolicy::test);
    overhead_ = first_answer(ladder, &RecoveryPolicy::step_overhead).value_or(0);
    detour_ = first_answer(ladder, &RecoveryPolicy::detour);
    peers_ = first_answer(ladder, &RecoveryPolicy::copies);
    machine_.keep_log(options.log);
    const auto by_step = std::stable_partition(
        schedule_.begin(), schedule_.end(), [](const FaultEvent& e) { return e.step < 0; });
    by_step_.assign(by_step, schedule_.end());
    schedule_.erase(by_step, schedule_.end());
    std::stable_sort(by_step_.begin(), by_step_.end(), [](const auto& a, const auto& b) {
        return a.step < b.step;
    });
}

double CampaignWorld::uniform(std::uint64_t id, Chance chance, std::uint32_t draw) const {
    return CounterRandom{seed_, id, static_cast<std::uint32_t>(chance) | draw << 8}.uniform();
}

void CampaignWorld::schedule(WallTime time,
                             Happening what,
                             std::uint32_t index,
                             std::uint32_t generation) {
    queue_.push({time, sequence_++, what, index, generation});
}

void CampaignWorld::mark(std::string text, bool is_observation) {
    if (options_.timeline) {
        result_.marks.push_back({now_, std::move(text), is_observation});
    }
}

// Accounts for every node's time up to `to`. Progress accounts for training itself (progress.h).
void CampaignWorld::advance(WallTime to) {
    const WallTime span = to - now_;
    ORRERY_CHECK(span >= WallTime{});
    Accounts& nodes = result_.nodes;
    nodes.add(NodeUse::spare, span, pool_.count(NodePlace::spare));
    nodes.add(NodeUse::repair, span, pool_.count(NodePlace::repair));
    nodes.add(NodeUse::parked, span, parked_);
    if (progress_.training()) {
        progress_.advance(to, nodes);
    } else {
        nodes.add(phase_, span, active_);
        result_.use_us[static_cast<std::size_t>(phase_)] += span.microseconds();
    }
    now_ = to;
}

void CampaignWorld::enter(NodeUse phase) {
    if (options_.timeline && now_ > phase_begin_) {
        result_.timeline.push_back({phase_begin_, now_, phase_});
    }
    phase_ = phase;
    phase_begin_ = now_;
}

void CampaignWorld::count_nodes() {
    const JobState& job = machine_.state();
    const std::vector<std::uint32_t> dropped = job.dropped_units();
    parked_ = 0;
    if (!dropped.empty()) {
        const auto size = static_cast<std::int64_t>(job.shape.slots / job.shape.units);
        parked_ =
            static_cast<std::int64_t>(dropped.size()) * size -
            std::count_if(job.vacancies.begin(), job.vacancies.end(), [&](auto slot) {
                return std::binary_search(dropped.begin(), dropped.end(), job.shape.unit_of(slot));
            });
    }
    active_ = pool_.count(NodePlace::job) - parked_;
}

// The rate of work with the present members.
void CampaignWorld::refresh_rate() {
    count_nodes();
    const JobState& job = machine_.state();
    double work = 1;
    const std::size_t dropped = job.dropped_units().size();
    const std::vector<double>& table = spec_.speed.shrunk;
    if (dropped > 0) {
        const auto units = static_cast<double>(job.shape.units);
        const std::size_t last = std::min(dropped, table.size() - 1);
        work *= table[last] * (units - static_cast<double>(dropped)) /
                (units - static_cast<double>(last));
    }
    if (job.vacant(Vacancy::rerouted) > 0) {
        // ReCycle: each peer of the stage takes m lost / peers more micro-batches once the pipeline
        // is full, so that a step has (m + m lost/peers + stages - 1) time slots instead of (m +
        // stages - 1).
        double most = 0;
        for (const std::uint32_t slot : job.vacancies) {
            if (job.slots[slot].vacancy == Vacancy::rerouted) {
                const double peers = std::max(1U, job.peers(slot));
                most = std::max(most, (job.shape.units - peers) / peers);
            }
        }
        const double m = spec_.speed.micro_batches;
        work *= (m + job.shape.stages - 1) / (m * (1 + most) + job.shape.stages - 1);
    }
    work /= 1 + overhead_;
    if (job.vacant(Vacancy::taken_over) > 0) {
        // A node that computes two stages takes twice as long for each micro-batch (a flow shop).
        const double m = spec_.speed.micro_batches;
        const double stages = job.shape.stages;
        work *= (m + stages - 1) / (2 * (m - 1) + stages);
    }
    double slow = slow_job_;
    for (const NodeNumber node : slow_) {
        if (pool_[node].place == NodePlace::job) {
            slow = std::max(slow, pool_[node].slow);
        }
    }
    const double speed = 1 / (1 + spec_.speed.slow_slope * (slow - 1));
    const auto fixed = [](double share) {
        return static_cast<std::int64_t>(share * static_cast<double>(kFullRate) + 0.5);
    };
    progress_.set_rate({.work = std::max<std::int64_t>(1, fixed(work * speed)),
                        .slow = fixed(1 - speed),
                        .nodes = active_},
                       result_.nodes);
}

void CampaignWorld::happen(const Pending& p) {
    const bool current = p.generation == generation_;
    switch (p.what) {
        case Happening::announce:
            return on_announce(p.index);
        case Happening::detected:
            return on_detected(p.index, p.generation);
        case Happening::slow_seen:
            return on_slow_seen(p.index, p.generation);
        case Happening::slow_ends:
            if (p.index == kNoNode) {
                slow_job_ = p.generation == slow_job_generation_ ? 1 : slow_job_;
            } else if (pool_[p.index].generation == p.generation) {
                pool_[p.index].slow = 1;
                pool_[p.index].rail_lost = false;
                std::erase(slow_, p.index);
            }
            return refresh_rate();
        case Happening::alarm: {
            Observation o = observation(ObservationKind::fault_detected);
            o.detector = Detector::node_agent;
            o.fault = FaultKind::false_alarm;
            o.nodes = {p.index};
            return pool_[p.index].place == NodePlace::job ? tell(o) : void();
        }
        case Happening::corruption_seen:
            corruption_scheduled_ = false;
            return on_corruption_seen();
        case Happening::stall_ends:
            if (current) {
                progress_.resume(now_);
                enter(NodeUse::productive);
            }
            return;
        case Happening::diagnosed:
            return current ? on_diagnosed(false) : void();
        case Happening::checked:
            return current ? on_checked() : void();
        case Happening::operator_done:
            return current ? on_diagnosed(true) : void();
        case Happening::phase_ends:
            return current ? next_phase() : void();
        case Happening::drain_begins:
            return current ? on_drain_begins() : void();
        case Happening::drain_ends:
            return current ? on_drain_ends() : void();
        case Happening::repaired:
            return on_repaired(p.index);
    }
}

std::int64_t CampaignWorld::work_of(const FaultEvent& event) const {
    const std::int64_t step = spec_.speed.step.microseconds();
    return event.step > INT64_MAX / step - 1 ? INT64_MAX : event.step * step + step / 2;
}

// A lower bound on the time of the next fault at a step; a checkpoint may delay it.
WallTime CampaignWorld::next_by_step() const {
    return progress_.training() && next_by_step_ < by_step_.size()
               ? progress_.earliest(work_of(by_step_[next_by_step_]))
               : WallTime::max();
}

bool CampaignWorld::strike_by_step() {
    if (next_by_step() > now_) {
        return false;
    }
    strike(by_step_[next_by_step_++]);
    return true;
}

CampaignResult CampaignWorld::run() {
    announce_all();
    obey(machine_.start());
    refresh_rate();
    on_training();
    std::size_t next = 0;
    for (;;) {
        const WallTime fault = next < schedule_.size() ? schedule_[next].time : WallTime::max();
        const WallTime other = queue_.empty() ? WallTime::max() : queue_.top().time;
        const WallTime time = std::min({fault, other, next_by_step()});
        if (time >= spec_.horizon) {
            break;
        }
        advance(time);
        if (strike_by_step() || time < std::min(fault, other)) {
            continue;
        }
        if (other <= fault) {
            const Pending pending = queue_.top();
            queue_.pop();
            happen(pending);
        } else {
            strike(schedule_[next++]);
        }
    }
    advance(spec_.horizon);
    return finish();
}

CampaignResult CampaignWorld::finish() {
    progress_.stop(result_.nodes);
    enter(phase_);
    result_.wall = spec_.horizon;
    result_.work_us = progress_.work();
    result_.kept = progress_.kept();
    result_.checkpoints = progress_.checkpoints();
    result_.corrupt_at_end = corrupt_from_ >= 0 && corrupt_from_ < progress_.work() ? 1 : 0;
    result_.nodes.audit(spec_.horizon, spec_.cluster.nodes);
    result_.log = machine_.log();
    if (options_.timeline) {
        result_.spans = progress_.spans();
    }
    return std::move(result_);
}

CampaignResult run_campaign(const CampaignSpec& spec,
                            std::uint64_t seed,
                            const CampaignOptions& options) {
    return CampaignWorld{spec, seed, options}.run();
}

}  // namespace orrery
