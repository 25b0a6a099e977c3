// SPDX-License-Identifier: Apache-2.0
// The simulated cluster that drives a recovery machine; internal to the sources of this folder. The
// world knows which nodes are sick; the machine knows only the detectors' reports.
#pragma once

#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "engine/campaign/campaign.h"
#include "engine/campaign/node_pool.h"

namespace orrery {

// Time until a spike of the loss is noticed: the length of a window of losses (assumed).
inline constexpr WallTime kSpikeSeen = WallTime::seconds(60);

class CampaignWorld {
public:
    CampaignWorld(const CampaignSpec& spec, std::uint64_t seed, const CampaignOptions& options);
    CampaignResult run();

private:
    enum class Happening : std::uint8_t {
        announce,  // warning or notice of schedule_[index]
        detected,  // of the fault of node `index`, or of the job
        slow_seen,
        slow_ends,
        alarm,  // of a healthy node
        corruption_seen,
        stall_ends,
        diagnosed,
        checked,
        operator_done,
        phase_ends,
        drain_begins,
        drain_ends,
        repaired,
    };
    struct Pending {
        WallTime time;
        std::uint64_t sequence = 0;
        Happening what = Happening::announce;
        std::uint32_t index = 0;
        std::uint32_t generation = 0;
    };
    struct Later {
        bool operator()(const Pending& a, const Pending& b) const {
            return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
        }
    };
    // The random decisions about a fault, each with its own stream.
    enum class Chance : std::uint32_t {
        detection = 100,
        transient,
        repair,
        diagnosis,
        foreseen,
        warning,
        replay,
        duration,
        check,
    };
    struct JobFault {  // a fault that belongs to no node
        bool present = false;
        bool curable = true;
        bool detecting = false;
        FaultKind kind = FaultKind::software_bug;
        std::uint64_t id = 0;
        WallTime since;
    };

    // Time and accounts (campaign.cpp)
    void schedule(WallTime time, Happening what, std::uint32_t index, std::uint32_t generation);
    void advance(WallTime to);
    void enter(NodeUse phase);
    void count_nodes();
    void refresh_rate();
    double uniform(std::uint64_t id, Chance chance, std::uint32_t draw = 0) const;
    void mark(std::string text, bool is_observation = false);
    void happen(const Pending& pending);
    CampaignResult finish();

    // Faults (campaign_faults.cpp)
    void announce_all();
    void strike(const FaultEvent& event);
    bool real(const FaultEvent& event) const;
    void stop_nodes(const FaultEvent& event);
    void stop_job(const FaultEvent& event);
    void slow_down(const FaultEvent& event);
    void stall(const FaultEvent& event);
    bool fail_over(const FaultEvent& event);
    void pause_for(WallTime stall);
    void corrupt(const FaultEvent& event);
    void alarm(const FaultEvent& event);
    std::int64_t work_of(const FaultEvent& event) const;
    WallTime next_by_step() const;
    bool strike_by_step();
    void update(const FaultEvent& event);
    void interrupted();
    bool takes_part(NodeNumber node) const;
    void count(const FaultEvent& event);
    void expect_corruption(WallTime latency);
    void make_corrupt(std::int64_t work, std::uint64_t id);
    void detect_node(NodeNumber node);
    void detect_job();
    void on_announce(std::uint32_t index);
    void evict_idle(const std::vector<NodeNumber>& nodes);
    void on_detected(std::uint32_t node, std::uint32_t generation);
    void on_slow_seen(NodeNumber node, std::uint32_t generation);
    void on_corruption_seen();

    // Recovery (campaign_recovery.cpp)
    void tell(Observation observation);
    Observation observation(ObservationKind kind) const;
    void obey(const std::vector<Action>& actions);
    void on_diagnosed(bool by_operator);
    void on_checked();
    void begin_check();
    void accuse_somebody(Chance chance, std::uint32_t id, double p, std::vector<NodeNumber>& out);
    void evict(NodeNumber node);
    void begin_restart(const Action& action);
    void next_phase();
    void on_training();
    bool cure();
    void check_numbers();
    void begin_drain(const Action& action);
    void on_drain_begins();
    void on_drain_ends();
    void on_repaired(NodeNumber node);
    void begin_repairs(const std::vector<Repair>& repairs);
    std::int64_t restored_work(const Action& action, RestoreSource& source) const;

    const CampaignSpec& spec_;
    std::uint64_t seed_;
    CampaignOptions options_;
    std::vector<FaultEvent> schedule_;
    std::vector<FaultEvent> by_step_;  // faults at steps, ordered by step
    NodePool pool_;
    RecoveryMachine machine_;
    Progress progress_;
    CampaignResult result_;
    std::priority_queue<Pending, std::vector<Pending>, Later> queue_;
    std::uint64_t sequence_ = 0;
    std::size_t next_by_step_ = 0;
    WallTime now_;
    NodeUse phase_ = NodeUse::restart;
    WallTime phase_begin_;
    std::uint32_t generation_ = 0;  // of the current recovery
    std::int64_t active_ = 0;       // nodes that train
    std::int64_t parked_ = 0;
    std::vector<NodeNumber> slow_;  // in the order in which they became slow
    std::vector<NodeNumber> sick_;  // in the order in which they became sick
    std::vector<NodeNumber> corrupt_;
    double slow_job_ = 1;  // slowdown that belongs to no node
    std::uint32_t slow_job_generation_ = 0;
    JobFault job_fault_;
    // Work at which the numbers became wrong; -1: all numbers are right
    std::int64_t corrupt_from_ = -1;
    std::uint64_t corrupt_id_ = 0;
    std::int64_t corrupt_seen_ = -1;  // work at which the wrong numbers became visible
    bool corruption_scheduled_ = false;
    // Work at which a repetition of the same batches repeats the spike
    std::int64_t spike_at_ = -1;
    bool replay_saw_ = false;
    bool skip_batches_ = false;
    WallTime store_until_;
    WallTime fault_since_;
    bool recovering_ = false;
    bool planned_ = false;  // the job is stopped for a planned change
    std::uint32_t replaced_ = 0;
    std::vector<NodeNumber> draining_;
    std::uint32_t drain_generation_ = ~0U;
    std::array<WallTime, 4> phases_;  // durations of leaving, replacing, restart, restore
    std::uint32_t next_phase_ = 0;
    WallTime restart_begin_;
    std::int64_t target_ = 0;
    // Costs and facts from the policies.
    double replayed_share_ = 0;
    double overhead_ = 0;  // a step takes 1 + overhead_ times as long
    std::optional<PeerPlacement> peers_;
    std::optional<MemberTest> test_;
    std::optional<Detour> detour_;
    std::uint32_t diagnoses_ = 0;
    std::uint32_t checks_ = 0;
};

}  // namespace orrery
