// SPDX-License-Identifier: Apache-2.0
// The section `recovery`: one plan, or a list of plans to compare, each with a name, a ladder of
// policies (words, or maps of one word and its knobs) and how checkpoints are made.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "scenarios/format/document/nearest.h"
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

constexpr Choice<Scope> kScopes[] = {
    {"rack", Scope::rack}, {"leaf", Scope::leaf}, {"pdu", Scope::pdu}, {"pod", Scope::pod}};
constexpr Choice<PeerPlacementKind> kPeerKinds[] = {
    {"group", PeerPlacementKind::group},
    {"ring", PeerPlacementKind::ring},
    {"cross_dp", PeerPlacementKind::cross_data_parallel}};
constexpr Choice<CheckpointMode> kModes[] = {{"blocking", CheckpointMode::blocking},
                                             {"async", CheckpointMode::async}};
constexpr Choice<IntervalRule> kRules[] = {{"young", IntervalRule::young},
                                           {"daly", IntervalRule::daly},
                                           {"exact", IntervalRule::exact},
                                           {"adaptive", IntervalRule::adaptive}};

constexpr Key kInPlaceRows[] = {
    key<&InPlaceRestart::attempts>("attempts", "Restarts in place before nodes are replaced.")
        .range(1, 100),
};
constexpr auto kInPlaceKeys = key_table<InPlaceRestart>("in_place", kInPlaceRows);

void check_spares(MapReader& reader, RecoveryPlan& plan) {
    const bool fixed = reader.good("count");
    const bool sized = reader.good("quantile");
    if (fixed && sized) {
        reader.complain("quantile", "spares have a count and a quantile", "one of them");
    }
    if (!fixed && !sized) {
        plan.spares_quantile = 0.99;  // ByteRobust
    }
    plan.policies.emplace_back(HotSpares{});
}
constexpr Key kSparesRows[] = {
    key<&RecoveryPlan::spares>("count", "Number of spare nodes.")
        .range(0, 1'000'000)
        .of("nodes")
        .by("from quantile"),
    key<&RecoveryPlan::spares_quantile>("quantile", "Probability with which the spares are enough.")
        .range(0.5, 0.999999)
        .by("0.99"),
    key<&RecoveryPlan::spares_window>("window", "Time for which the spares are enough.")
        .by("a repair"),
};
constexpr auto kSparesKeys = key_table<RecoveryPlan, check_spares>("spares", kSparesRows);

constexpr Key kElasticRows[] = {
    key<&ElasticDataParallel::units_min>("units_min", "Least number of data-parallel replicas.")
        .range(1, 1'000'000)
        .of("replicas"),
};
constexpr auto kElasticKeys = key_table<ElasticDataParallel>("elastic", kElasticRows);
constexpr auto kRerouteKeys = key_table<PipelineRerouting>("reroute", {});

constexpr Key kPeerRows[] = {
    key<&PeerCheckpoint::placement, &PeerPlacement::copies>("copies",
                                                            "Copies of a state, with its own.")
        .range(2, 16),
    choice<kPeerKinds, &PeerCheckpoint::placement, &PeerPlacement::kind>(
        "placement", "Nodes that hold a node's copies."),
};
constexpr auto kPeerKeys = key_table<PeerCheckpoint>("peer_checkpoint", kPeerRows);

constexpr Key kDrainRows[] = {
    key<&PreemptiveDrain::slow>("slow", "Slow nodes leave, too."),
};
constexpr auto kDrainKeys = key_table<PreemptiveDrain>("drain", kDrainRows);

constexpr Key kEvictionRows[] = {
    choice<kScopes, &OverEviction::scope>("domain", "Domain whose nodes leave with a suspect."),
};
constexpr auto kEvictionKeys = key_table<OverEviction>("over_eviction", kEvictionRows);

constexpr Key kRollbackRows[] = {
    key<&RollbackAndSkip::checkpoints>("checkpoints", "Checkpoints to go back.").range(1, 1000),
};
constexpr auto kRollbackKeys = key_table<RollbackAndSkip>("rollback", kRollbackRows);

constexpr Key kReplayRows[] = {
    key<&ReplayCheck::share>("share", "Share of the steps that are computed twice.").range(1e-9, 1),
};
constexpr auto kReplayKeys = key_table<ReplayCheck>("replay", kReplayRows);

constexpr Key kPreflightRows[] = {
    key<&PreflightCheck::rounds>("rounds", "Rounds of tests before a restart.").range(1, 100),
    key<&PreflightCheck::duration>("duration", "Time of a round."),
    key<&PreflightCheck::finds>("finds", "Probability that a test finds a faulty node.")
        .range(0, 1),
    key<&PreflightCheck::localises>("localises", "Probability that it names the right node.")
        .range(0, 1),
    key<&PreflightCheck::false_positive>("false_positive",
                                         "Probability that it accuses a healthy node.")
        .range(0, 1),
};
constexpr auto kPreflightKeys = key_table<PreflightCheck>("preflight", kPreflightRows);

constexpr Key kRedundantRows[] = {
    key<&RedundantComputation::failover>("failover", "Time until the other node has taken over."),
    key<&RedundantComputation::overhead>("overhead", "Share by which every step is longer.")
        .range(0, 10)
        .by("from the plan's bubbles"),
};
constexpr auto kRedundantKeys = key_table<RedundantComputation>("redundant", kRedundantRows);

constexpr Key kRailRows[] = {
    key<&RailFailover::stall>("stall", "Time until traffic has moved."),
    key<&RailFailover::bandwidth>("bandwidth", "Share of the bandwidth that is left.")
        .range(0.01, 1),
    key<&RailFailover::slowdown>("slowdown", "Time of a step / its time on all rails.")
        .range(1, 1000)
        .by("from the network's share of the step"),
};
constexpr auto kRailKeys = key_table<RailFailover>("rail_failover", kRailRows);

// A policy of the ladder, with its knobs.
template <class Policy>
constexpr Key policy(std::string_view name,
                     const KeyTable<Policy>& table,
                     std::string_view meaning) {
    Key row = nested(name, KeyShape::map, table, meaning);
    row.read = [](MapReader& reader, const Key& of, void* plan) {
        Policy knobs;
        const bool good = read_part(reader, of, &knobs);
        static_cast<RecoveryPlan*>(plan)->policies.emplace_back(knobs);
        return good;
    };
    return row;
}

constexpr Key kPolicyRows[] = {
    policy("in_place", kInPlaceKeys, "Restart processes on the same nodes first."),
    part_of_same("spares", kSparesKeys, "Ready nodes take the places of lost ones."),
    policy("elastic", kElasticKeys, "Go on with fewer data-parallel replicas."),
    policy("reroute", kRerouteKeys, "Data-parallel peers compute a dead stage's micro-batches."),
    policy("peer_checkpoint", kPeerKeys, "Copy each step to other nodes' memories."),
    policy("drain", kDrainKeys, "Nodes with warnings leave after a checkpoint."),
    policy("over_eviction", kEvictionKeys, "All nodes of the suspects' domain leave."),
    policy("rollback", kRollbackKeys, "Wrong numbers: go back and skip batches."),
    policy("replay", kReplayKeys, "Compute steps twice and compare."),
    policy("preflight", kPreflightKeys, "Test all nodes before a restart."),
    policy("redundant", kRedundantKeys, "Each node computes the next stage's work, too."),
    policy("rail_failover", kRailKeys, "Go on through another adapter."),
};
constexpr KeyMap kPolicyKeys = key_map("policies", kPolicyRows);

void check_interval(MapReader& reader, CheckpointPlan& plan) {
    const DocumentNode* node = reader.find("interval");
    if (node == nullptr) {
        return;
    }
    for (const auto& [word, rule] : kRules) {
        if (node->is_scalar() && node->text == word) {
            plan.rule = rule;
            return;
        }
    }
    plan.rule = IntervalRule::fixed;
    const Result<WallTime> time =
        node->is_scalar() ? parse_wall_time(node->text) : Result<WallTime>{WallTime{}};
    if (!time || *time <= WallTime{}) {
        reader.complain(
            "interval",
            fmt::format("{} can't be {}", reader.full_name("interval"), node->describe()),
            "a span of time, young, daly, exact or adaptive");
        return;
    }
    plan.interval = *time;
}

constexpr std::string_view kFromSizes = "from sizes and bandwidths";
constexpr Key kCheckpointRows[] = {
    plain("interval", KeyShape::wall_time, "Time between checkpoints, or the rule for it.")
        .or_words<kRules>()
        .by("exact"),
    choice<kModes, &CheckpointPlan::mode>("mode", "Training waits for a checkpoint, or not."),
    key<&CheckpointPlan::stall>("stall", "Time that training waits for a checkpoint.")
        .by(kFromSizes),
    key<&CheckpointPlan::write>("write", "Time until a checkpoint is durable.").by(kFromSizes),
    key<&CheckpointPlan::load>("load", "Time to load a checkpoint.").by(kFromSizes),
};
constexpr auto kCheckpointKeys =
    key_table<CheckpointPlan, check_interval>("checkpoint", kCheckpointRows);

constexpr Key kRecoveryRows[] = {
    key<&RecoveryPlan::name>("name", "What reports call the plan.").by("recovery, or plan 1"),
    key<&RecoveryPlan::attempts_max>("attempts", "Restarts in a row after which the job fails.")
        .range(1, 1000),
    nested("policies", KeyShape::ladder, kPolicyKeys, "The ladder: the first that fits decides."),
    part<&RecoveryPlan::checkpoint>("checkpoint", kCheckpointKeys, "Checkpoints in the store."),
    nested("detection",
           KeyShape::map,
           kDetectionKeys,
           "Detection of faults, where it differs from campaign.detection."),
};

class PlanReader {
public:
    PlanReader(RecoveryPlan& plan, Errors& errors) : plan_(plan), errors_(errors) {}

    void read(const DocumentNode& map, const std::string& path, const DetectionSpec& detection) {
        MapReader reader{map, path, errors_};
        read_keys(reader, kRecoveryKeys, plan_);
        if (const DocumentNode* list = reader.find("policies")) {
            policies(*list, path + ".policies");
        }
        if (const DocumentNode* node = reader.find("detection")) {
            plan_.detection = detection;
            read_detection(*node, path + ".detection", *plan_.detection, errors_);
        }
        reader.finish();
    }

private:
    // Each item as a map of its word to its knobs.
    void policies(const DocumentNode& list, const std::string& path) {
        if (!list.is_sequence()) {
            errors_.push_back({list.where(),
                               path + " must be a list, not " + list.describe(),
                               "[in_place, {spares: {count: 16}}]"});
            return;
        }
        std::set<std::string> seen;
        for (const DocumentNode& item : list.items) {
            const bool single = item.is_map() && item.keys.size() == 1;
            if (!item.is_scalar() && !single) {
                errors_.push_back(
                    {item.where(),
                     path + " holds words and maps of one word, not " + item.describe(),
                     "- {spares: {count: 16}}"});
                continue;
            }
            const DocumentNode& word = item.is_scalar() ? item : item.keys[0];
            if (!seen.insert(word.text).second) {
                errors_.push_back({word.where(),
                                   path + " has " + word.text + " twice",
                                   "name it once: the first that fits decides"});
                continue;
            }
            policy(word, single ? item.items[0] : none_at(word), path);
        }
        contradictions(list, path, seen);
    }

    void contradictions(const DocumentNode& list,
                        const std::string& path,
                        const std::set<std::string>& seen) {
        if (seen.contains("elastic") && seen.contains("reroute")) {
            errors_.push_back({list.where(),
                               path + " has elastic and reroute: both go on without a lost node",
                               "one of them"});
        }
        if (seen.contains("over_eviction") && seen.contains("reroute")) {
            errors_.push_back({list.where(),
                               path + " has over_eviction and reroute: healthy nodes would go",
                               "one of them"});
        }
    }

    static DocumentNode none_at(const DocumentNode& word) {
        DocumentNode none = word;
        none.kind = DocumentNode::Kind::map;
        none.text.clear();
        return none;
    }

    void policy(const DocumentNode& word, const DocumentNode& knobs, const std::string& path) {
        const auto row = std::ranges::find(kPolicyRows, word.text, &Key::name);
        if (row == std::end(kPolicyRows)) {
            std::vector<std::string> known;
            for (const Key& policy : kPolicyRows) {
                known.emplace_back(policy.name);
            }
            errors_.push_back({word.where(),
                               fmt::format("{} can't have {}", path, word.describe()),
                               nearest_hint(word.text, known)});
            return;
        }
        DocumentNode item = none_at(word);
        item.set(word, knobs);
        MapReader reader{item, path, errors_};
        row->read(reader, *row, &plan_);
        plan_.redundant_overhead_given |= row->inner == &kRedundantKeys && has(knobs, "overhead");
        plan_.rail_slowdown_given |= row->inner == &kRailKeys && has(knobs, "slowdown");
    }

    static bool has(const DocumentNode& knobs, std::string_view key) {
        return knobs.is_map() && knobs.find(key) != nullptr;
    }

    RecoveryPlan& plan_;
    Errors& errors_;
};

}  // namespace

const KeyTable<RecoveryPlan> kRecoveryKeys = key_table<RecoveryPlan>("recovery", kRecoveryRows);

void read_recovery(const DocumentNode& section,
                   const DetectionSpec& detection,
                   std::vector<RecoveryPlan>& plans,
                   Errors& errors) {
    const bool list = section.is_sequence();
    const std::vector<DocumentNode> items =
        list ? section.items : std::vector<DocumentNode>{section};
    std::set<std::string> names;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const std::string path = list ? fmt::format("recovery[{}]", i) : "recovery";
        if (!items[i].is_map()) {
            errors.push_back({items[i].where(),
                              path + " must be a map, not " + items[i].describe(),
                              "name, policies, checkpoint, detection"});
            continue;
        }
        RecoveryPlan plan;
        PlanReader{plan, errors}.read(items[i], path, detection);
        if (plan.name.empty()) {
            plan.name = list ? fmt::format("plan {}", i + 1) : "recovery";
        }
        if (!names.insert(plan.name).second) {
            errors.push_back({items[i].where(),
                              fmt::format("two recovery plans are named '{}'", plan.name),
                              "a name for each"});
        }
        plans.push_back(std::move(plan));
    }
}

}  // namespace orrery
