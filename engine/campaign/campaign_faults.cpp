// SPDX-License-Identifier: Apache-2.0
// The effects of faults on the simulated cluster, and their detection.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/campaign/campaign_world.h"
#include "engine/faults/detection.h"

namespace orrery {

// Schedules notices and the warnings of a predictor, a share of which (`precision`) is right.
void CampaignWorld::announce_all() {
    const Forecast& forecast = spec_.forecast;
    const auto early = [](WallTime time, WallTime by) {
        return time > by ? time - by : WallTime{};
    };
    for (std::uint32_t i = 0; i < schedule_.size(); ++i) {
        const FaultEvent& event = schedule_[i];
        const bool single = event.nodes.count == 1 && info(event.kind).effect == FaultEffect::stop;
        if (event.notice > WallTime{}) {
            schedule(early(event.time, event.notice), Happening::announce, i, 0);
        } else if (single && uniform(event.id, Chance::foreseen) < forecast.recall) {
            schedule(early(event.time, forecast.lead), Happening::announce, i, 0);
            const double wrong = (1 - forecast.precision) / forecast.precision;
            const auto alarms =
                static_cast<std::uint32_t>(wrong + uniform(event.id, Chance::warning));
            for (std::uint32_t k = 1; k <= std::min(alarms, 1000U); ++k) {
                const double where = uniform(event.id, Chance::warning, 2 * k);
                const double when = uniform(event.id, Chance::warning, 2 * k + 1);
                const auto node = static_cast<std::uint32_t>(where * spec_.cluster.nodes);
                schedule(WallTime::seconds(when * spec_.horizon.seconds()),
                         Happening::announce,
                         static_cast<std::uint32_t>(schedule_.size()) + node,
                         0);
            }
        }
    }
}

void CampaignWorld::on_announce(std::uint32_t index) {
    Observation o = observation(ObservationKind::warning);
    if (index >= schedule_.size()) {
        o.nodes = {index - static_cast<std::uint32_t>(schedule_.size())};
    } else {
        const FaultEvent& event = schedule_[index];
        if (event.notice > WallTime{}) {
            o.kind = ObservationKind::notice;
        }
        for (NodeNumber n = event.nodes.first; n < event.nodes.first + event.nodes.count; ++n) {
            if (pool_[n].place == NodePlace::repair) {
                continue;
            }
            CounterRandom random{seed_, event.id, static_cast<std::uint32_t>(Chance::repair)};
            pool_[n].repair =
                event.duration > WallTime{} ? event.duration : sample(spec_.repair, random);
            o.nodes.push_back(n);
        }
        o.fault = event.kind;
    }
    if (o.nodes.empty()) {
        return;
    }
    tell(o);
    evict_idle(o.nodes);
}

// Evicts idle nodes, which the machine no longer counts as spares.
void CampaignWorld::evict_idle(const std::vector<NodeNumber>& nodes) {
    for (const NodeNumber n : nodes) {
        if (pool_[n].place == NodePlace::spare) {
            evict(n);
        }
    }
}

// Faults are drawn at the largest rate. Decides whether this one also occurs at the node's own
// rate.
bool CampaignWorld::real(const FaultEvent& event) const {
    if (event.mark <= 0 || event.nodes.count == 0) {
        return true;
    }
    const PooledNode& node = pool_[event.nodes.first];
    const RepairSpec& repair = spec_.repair;
    const double share = static_cast<double>(std::min(node.repairs, repair.worse_repairs)) /
                         std::max(1U, repair.worse_repairs);
    const double worn = 1 + (repair.worse_most - 1) * share;
    const bool infant = now_ - node.new_since < repair.infancy;
    return event.mark < worn * (infant ? repair.infant : 1.0);
}

bool CampaignWorld::takes_part(NodeNumber node) const {
    if (pool_[node].place != NodePlace::job) {
        return false;
    }
    if (parked_ == 0) {
        return true;
    }
    const JobState& job = machine_.state();
    const std::vector<std::uint32_t> dropped = job.dropped_units();
    const std::uint32_t unit = job.shape.unit_of(job.slot_of_node[node]);
    return !std::binary_search(dropped.begin(), dropped.end(), unit);
}

void CampaignWorld::count(const FaultEvent& event) {
    ++result_.faults;
    ++result_.faults_of[event.process];
    if (options_.timeline) {
        mark(event.nodes.count == 0
                 ? std::string{name(event.kind)}
                 : fmt::format("{} node:{}", name(event.kind), event.nodes.first));
    }
}

void CampaignWorld::strike(const FaultEvent& event) {
    if (!real(event)) {
        return;
    }
    const FaultKindInfo& kind = info(event.kind);
    const bool idle = phase_ == NodeUse::waiting && !progress_.training();
    if (idle && event.nodes.count <= 1 && kind.effect != FaultEffect::outage &&
        kind.effect != FaultEffect::busy) {
        return;
    }
    switch (kind.effect) {
        case FaultEffect::stop:
            if (fail_over(event)) {
                return;
            }
            return event.nodes.count > 0 ? stop_nodes(event) : stop_job(event);
        case FaultEffect::slow:
            return slow_down(event);
        case FaultEffect::stall:
            return stall(event);
        case FaultEffect::corrupt:
            return corrupt(event);
        case FaultEffect::outage:
            count(event);
            store_until_ = std::max(
                store_until_,
                now_ + (event.duration > WallTime{} ? event.duration : WallTime::hours(1)));
            return progress_.store_down(now_, store_until_);
        case FaultEffect::busy:
            count(event);
            return progress_.store_slow(
                now_ + (event.duration > WallTime{} ? event.duration : WallTime::hours(1)),
                event.factor > 0 ? event.factor : kind.slowdown);
        case FaultEffect::torn:
            if (event.nodes.count == 0 || takes_part(event.nodes.first)) {
                count(event);
                progress_.tear_next();
            }
            return;
        case FaultEffect::none:
            return alarm(event);
        case FaultEffect::planned:
            return update(event);
    }
}

// New code, data or firmware. The change waits until the job trains.
void CampaignWorld::update(const FaultEvent& event) {
    if (!progress_.training()) {
        return;
    }
    count(event);
    ++result_.planned;
    Observation o = observation(ObservationKind::notice);
    o.fault = event.kind;
    tell(o);
}

// The job stops making steps.
void CampaignWorld::interrupted() {
    const bool pausing = phase_ == NodeUse::stall || phase_ == NodeUse::checkpoint;
    if (!progress_.training() && !pausing) {
        return;  // the fault hits a recovery, which continues until the fault is detected
    }
    progress_.stop(result_.nodes);
    ++result_.interruptions;
    ++generation_;
    fault_since_ = now_;
    recovering_ = true;
    planned_ = false;
    enter(NodeUse::detection);
}

void CampaignWorld::stop_nodes(const FaultEvent& event) {
    const bool transient = uniform(event.id, Chance::transient) < info(event.kind).transient;
    std::vector<NodeNumber> idle;
    NodeNumber first = kNoNode;
    for (NodeNumber n = event.nodes.first; n < event.nodes.first + event.nodes.count; ++n) {
        PooledNode& node = pool_[n];
        const bool works = takes_part(n);
        const bool domain = event.nodes.count > 1;
        if (node.sick || node.place == NodePlace::repair || !(works || domain)) {
            continue;
        }
        node.sick = true;
        node.transient = transient;
        node.fault = event.kind;
        node.fault_id = event.id;
        node.since = now_;
        node.repair = event.duration;
        if (node.place == NodePlace::job) {
            sick_.push_back(n);
            first = first == kNoNode ? n : first;
        } else {
            idle.push_back(n);
        }
    }
    if (first != kNoNode) {
        count(event);
        interrupted();
        detect_node(first);
    } else if (event.notice > WallTime{} || spec_.forecast.recall > 0) {
        result_.foreseen += event.nodes.count == 1 ? 1 : 0;
    }
    if (!idle.empty()) {
        Observation o = observation(ObservationKind::notice);
        o.fault = event.kind;
        o.nodes = idle;
        tell(o);
        evict_idle(idle);
    }
}

void CampaignWorld::stop_job(const FaultEvent& event) {
    count(event);
    const bool curable = uniform(event.id, Chance::transient) < info(event.kind).transient;
    if (job_fault_.present && job_fault_.detecting) {
        job_fault_.curable = job_fault_.curable && curable;
        return interrupted();  // the job already stands still, which will be detected
    }
    job_fault_ = {
        .present = true, .curable = curable, .kind = event.kind, .id = event.id, .since = now_};
    interrupted();
    detect_job();
}

void CampaignWorld::detect_node(NodeNumber node) {
    PooledNode& sick = pool_[node];
    if (sick.detecting) {
        return;
    }
    sick.detecting = true;
    const Detection seen =
        detect(spec_.detection, sick.fault, uniform(sick.fault_id, Chance::detection));
    schedule(now_ + seen.latency, Happening::detected, node, sick.generation);
}

void CampaignWorld::detect_job() {
    if (job_fault_.detecting) {
        return;
    }
    job_fault_.detecting = true;
    const Detection seen =
        detect(spec_.detection, job_fault_.kind, uniform(job_fault_.id, Chance::detection));
    schedule(now_ + seen.latency,
             Happening::detected,
             kNoNode,
             static_cast<std::uint32_t>(job_fault_.id));
}

void CampaignWorld::on_detected(std::uint32_t index, std::uint32_t generation) {
    Observation o = observation(ObservationKind::fault_detected);
    if (index == kNoNode) {
        if (!job_fault_.present || static_cast<std::uint32_t>(job_fault_.id) != generation) {
            return;  // a restart has cured the fault
        }
        const Detection seen = detect(spec_.detection, job_fault_.kind, 0.5);
        o.detector = seen.detector;
        o.fault = job_fault_.kind;
        job_fault_.detecting = false;
        return tell(o);
    }
    PooledNode& node = pool_[index];
    if (node.generation != generation) {
        return;
    }
    node.detecting = false;
    if (!node.sick || node.place != NodePlace::job) {
        return;
    }
    const Detection seen =
        detect(spec_.detection, node.fault, uniform(node.fault_id, Chance::detection));
    o.detector = seen.detector;
    o.fault = seen.located ? node.fault : FaultKind::job_hang;
    for (const NodeNumber n : sick_) {
        const bool same = seen.located && pool_[n].fault_id == node.fault_id;
        if (same && pool_[n].place == NodePlace::job) {
            o.nodes.push_back(n);
        }
    }
    std::sort(o.nodes.begin(), o.nodes.end());
    tell(o);
}

void CampaignWorld::slow_down(const FaultEvent& event) {
    const double factor = event.factor > 0 ? event.factor : info(event.kind).slowdown;
    const Detection seen =
        detect(spec_.detection, event.kind, uniform(event.id, Chance::detection));
    if (event.nodes.count == 0) {
        count(event);
        ++result_.slowdowns;
        slow_job_ = std::max(slow_job_, factor);
        const WallTime lasts = event.duration > WallTime{} ? event.duration : WallTime::hours(1);
        schedule(now_ + lasts, Happening::slow_ends, kNoNode, ++slow_job_generation_);
        return refresh_rate();
    }
    bool any = false;
    for (NodeNumber n = event.nodes.first; n < event.nodes.first + event.nodes.count; ++n) {
        PooledNode& node = pool_[n];
        if (!takes_part(n)) {
            continue;
        }
        any = true;
        if (node.slow <= 1) {
            slow_.push_back(n);
        }
        node.slow = std::max(node.slow, factor);
        node.fault_id = event.id;
        if (event.duration > WallTime{}) {
            schedule(now_ + event.duration, Happening::slow_ends, n, node.generation);
        }
        if (seen.latency != WallTime::max()) {
            schedule(now_ + seen.latency, Happening::slow_seen, n, node.generation);
        }
    }
    if (any) {
        count(event);
        ++result_.slowdowns;
        refresh_rate();
    }
}

void CampaignWorld::on_slow_seen(NodeNumber node, std::uint32_t generation) {
    const PooledNode& slow = pool_[node];
    const bool still = slow.generation == generation && slow.slow > 1;
    if (!still || slow.place != NodePlace::job || !progress_.training()) {
        return;
    }
    Observation o = observation(ObservationKind::node_slow);
    o.detector = Detector::step_outlier;
    o.fault = FaultKind::slow_host;
    o.nodes = {node};
    tell(o);
}

void CampaignWorld::alarm(const FaultEvent& event) {
    if (event.nodes.count == 0 || !takes_part(event.nodes.first) || !progress_.training()) {
        return;
    }
    count(event);
    schedule(now_, Happening::alarm, event.nodes.first, 0);
}

void CampaignWorld::make_corrupt(std::int64_t work, std::uint64_t id) {
    if (corrupt_from_ < 0 || work < corrupt_from_) {
        corrupt_from_ = work;
        corrupt_id_ = id;
    }
    if (replayed_share_ > 0 && !corrupt_.empty()) {
        // The time to the next step that is computed twice is uniform over the sampling period.
        const double steps = uniform(id, Chance::replay) / replayed_share_;
        replay_saw_ = true;
        return expect_corruption(WallTime::seconds(steps * spec_.speed.step.seconds()));
    }
    replay_saw_ = false;
    if (spike_at_ >= 0) {
        return expect_corruption(kSpikeSeen);
    }
    if (corrupt_seen_ >= progress_.work()) {
        // The same wrong numbers become visible at the same work as before.
        return expect_corruption(WallTime::microseconds(corrupt_seen_ - progress_.work()) +
                                 kSpikeSeen);
    }
    expect_corruption(
        detect(spec_.detection, FaultKind::silent_corruption, uniform(id, Chance::detection))
            .latency);
}

void CampaignWorld::expect_corruption(WallTime latency) {
    if (!corruption_scheduled_ && latency < spec_.horizon) {
        corruption_scheduled_ = true;
        schedule(now_ + latency, Happening::corruption_seen, 0, 0);
    }
}

void CampaignWorld::corrupt(const FaultEvent& event) {
    if (event.nodes.count == 0) {
        count(event);
        spike_at_ = progress_.work();
        return make_corrupt(spike_at_, event.id);
    }
    const NodeNumber n = event.nodes.first;
    if (!takes_part(n) || pool_[n].corrupt) {
        return;
    }
    count(event);
    if (event.duration > WallTime{}) {  // a single bit flip: the node itself is healthy
        return make_corrupt(progress_.work(), event.id);
    }
    pool_[n].corrupt = true;
    pool_[n].fault_id = event.id;
    corrupt_.push_back(n);
    make_corrupt(progress_.work(), event.id);
}

void CampaignWorld::on_corruption_seen() {
    if (corrupt_from_ < 0) {
        return;
    }
    if (!progress_.training()) {
        return expect_corruption(kSpikeSeen);  // numbers are not checked during a stop
    }
    corrupt_seen_ = std::max(corrupt_seen_, progress_.work());
    Observation o = observation(ObservationKind::corruption_found);
    o.detector = replay_saw_ ? Detector::replay : Detector::anomaly;
    o.fault = corrupt_.empty() ? FaultKind::loss_spike : FaultKind::silent_corruption;
    o.verified_step = corrupt_from_ / spec_.speed.step.microseconds();
    const bool located = replay_saw_ || uniform(corrupt_id_, Chance::diagnosis, diagnoses_++) <
                                            spec_.detection.localisation;
    if (located) {
        o.nodes = corrupt_;
        std::sort(o.nodes.begin(), o.nodes.end());
    }
    interrupted();
    tell(o);
}

}  // namespace orrery
