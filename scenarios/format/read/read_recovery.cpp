// SPDX-License-Identifier: Apache-2.0
// The section `recovery`: one plan, or a list of plans to compare, each with a name, a ladder of
// policies (words, or maps of one word and its knobs) and how checkpoints are made.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "scenarios/format/document/nearest.h"
#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/format/read/read_distribution.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

const std::vector<std::string>& known_policies() {
    static const std::vector<std::string> known{"in_place",
                                                "spares",
                                                "elastic",
                                                "reroute",
                                                "peer_checkpoint",
                                                "drain",
                                                "over_eviction",
                                                "rollback",
                                                "replay",
                                                "preflight",
                                                "redundant",
                                                "rail_failover"};
    return known;
}

class PlanReader {
public:
    PlanReader(RecoveryPlan& plan, Errors& errors) : plan_(plan), errors_(errors) {}

    void read(const DocumentNode& map, const std::string& path, const DetectionSpec& detection) {
        MapReader reader{map, path, errors_};
        reader.word("name", plan_.name);
        reader.integer("attempts", plan_.attempts_max, {1, 1000});
        if (const DocumentNode* list = reader.find("policies")) {
            policies(*list, path + ".policies");
        }
        if (const DocumentNode* node = reader.find("checkpoint")) {
            checkpoint(*node, path + ".checkpoint");
        }
        if (const DocumentNode* node = reader.find("detection")) {
            plan_.detection = detection;
            read_detection(*node, path + ".detection", *plan_.detection, errors_);
        }
        reader.finish();
    }

private:
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
            DocumentNode none;
            none.kind = DocumentNode::Kind::map;
            none.source = word.source;
            none.line = word.line;
            none.column = word.column;
            const DocumentNode& knobs = single ? item.items[0] : none;
            if (!knobs.is_map()) {
                errors_.push_back({knobs.where(),
                                   fmt::format("{}.{} must be a map of its knobs, not {}",
                                               path,
                                               word.text,
                                               knobs.describe()),
                                   {}});
                continue;
            }
            policy(word, knobs, path);
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

    void policy(const DocumentNode& word, const DocumentNode& knobs, const std::string& path) {
        const std::string& name = word.text;
        MapReader reader{knobs, path + "." + name, errors_};
        if (name == "in_place") {
            InPlaceRestart policy;
            reader.integer("attempts", policy.attempts, {1, 100});
            plan_.policies.emplace_back(policy);
        } else if (name == "spares") {
            spares(reader);
        } else if (name == "elastic") {
            ElasticDataParallel policy;
            reader.integer("units_min", policy.units_min, {1, 1'000'000});
            plan_.policies.emplace_back(policy);
        } else if (name == "reroute") {
            plan_.policies.emplace_back(PipelineRerouting{});
        } else if (name == "peer_checkpoint") {
            peers(reader);
        } else if (name == "drain") {
            PreemptiveDrain policy;
            reader.boolean("slow", policy.slow);
            plan_.policies.emplace_back(policy);
        } else if (name == "over_eviction") {
            static constexpr Choice<Scope> kScopes[] = {{"rack", Scope::rack},
                                                        {"leaf", Scope::leaf},
                                                        {"pdu", Scope::pdu},
                                                        {"pod", Scope::pod}};
            OverEviction policy;
            reader.choice("domain", policy.scope, kScopes);
            plan_.policies.emplace_back(policy);
        } else if (name == "rollback") {
            RollbackAndSkip policy;
            reader.integer("checkpoints", policy.checkpoints, {1, 1000});
            plan_.policies.emplace_back(policy);
        } else if (name == "replay") {
            ReplayCheck policy;
            reader.real("share", policy.share, 1e-9, 1);
            plan_.policies.emplace_back(policy);
        } else if (name == "preflight") {
            preflight(reader);
        } else if (name == "redundant") {
            RedundantComputation policy;
            read_wall_time(reader, "failover", policy.failover);
            plan_.redundant_overhead_given = reader.real("overhead", policy.overhead, 0, 10);
            plan_.policies.emplace_back(policy);
        } else if (name == "rail_failover") {
            RailFailover policy;
            read_wall_time(reader, "stall", policy.stall);
            reader.real("bandwidth", policy.bandwidth, 0.01, 1);
            plan_.rail_slowdown_given = reader.real("slowdown", policy.slowdown, 1, 1000);
            plan_.policies.emplace_back(policy);
        } else {
            errors_.push_back({word.where(),
                               fmt::format("{} can't have {}", path, word.describe()),
                               nearest_hint(name, known_policies())});
            return;
        }
        reader.finish();
    }

    void spares(MapReader& reader) {
        std::uint32_t count = 0;
        const bool fixed = reader.integer("count", count, {0, 1'000'000});
        const bool sized = reader.real("quantile", plan_.spares_quantile, 0.5, 0.999999);
        read_wall_time(reader, "window", plan_.spares_window);
        if (fixed && sized) {
            reader.complain("quantile", "spares have a count and a quantile", "one of them");
        }
        if (fixed) {
            plan_.spares = count;
        } else if (!sized) {
            plan_.spares_quantile = 0.99;  // ByteRobust
        }
        plan_.policies.emplace_back(HotSpares{});
    }

    void preflight(MapReader& reader) {
        PreflightCheck policy;
        reader.integer("rounds", policy.rounds, {1, 100});
        read_wall_time(reader, "duration", policy.duration);
        reader.real("finds", policy.finds, 0, 1);
        reader.real("localises", policy.localises, 0, 1);
        reader.real("false_positive", policy.false_positive, 0, 1);
        plan_.policies.emplace_back(policy);
    }

    void peers(MapReader& reader) {
        static constexpr Choice<PeerPlacementKind> kKinds[] = {
            {"group", PeerPlacementKind::group},
            {"ring", PeerPlacementKind::ring},
            {"cross_dp", PeerPlacementKind::cross_data_parallel}};
        PeerCheckpoint policy;
        reader.integer("copies", policy.placement.copies, {2, 16});
        reader.choice("placement", policy.placement.kind, kKinds);
        plan_.policies.emplace_back(policy);
    }

    void checkpoint(const DocumentNode& map, const std::string& path) {
        if (!map.is_map()) {
            errors_.push_back({map.where(), path + " must be a map, not " + map.describe(), {}});
            return;
        }
        MapReader reader{map, path, errors_};
        if (const DocumentNode* node = reader.find("interval")) {
            interval(reader, *node);
        }
        static constexpr Choice<CheckpointMode> kModes[] = {{"blocking", CheckpointMode::blocking},
                                                            {"async", CheckpointMode::async}};
        reader.choice("mode", plan_.checkpoint.mode, kModes);
        read_wall_time(reader, "stall", plan_.checkpoint.stall);
        read_wall_time(reader, "write", plan_.checkpoint.write);
        read_wall_time(reader, "load", plan_.checkpoint.load);
        reader.finish();
    }

    void interval(MapReader& reader, const DocumentNode& node) {
        static constexpr std::pair<std::string_view, IntervalRule> kRules[] = {
            {"young", IntervalRule::young},
            {"daly", IntervalRule::daly},
            {"exact", IntervalRule::exact},
            {"adaptive", IntervalRule::adaptive}};
        for (const auto& [word, rule] : kRules) {
            if (node.is_scalar() && node.text == word) {
                plan_.checkpoint.rule = rule;
                return;
            }
        }
        plan_.checkpoint.rule = IntervalRule::fixed;
        const Result<WallTime> time =
            node.is_scalar() ? parse_wall_time(node.text) : Result<WallTime>{WallTime{}};
        if (!time || *time <= WallTime{}) {
            reader.complain(
                "interval",
                fmt::format("{} can't be {}", reader.full_name("interval"), node.describe()),
                "a span of time, young, daly, exact or adaptive");
            return;
        }
        plan_.checkpoint.interval = *time;
    }

    RecoveryPlan& plan_;
    Errors& errors_;
};

}  // namespace

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
