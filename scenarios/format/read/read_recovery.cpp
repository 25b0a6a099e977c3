// SPDX-License-Identifier: Apache-2.0
// The section `recovery`: one plan, or a list of plans to compare, each with a name, a ladder of
// policies (words, or maps of one word and its knobs) and the making of checkpoints.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <tuple>
#include <type_traits>
#include <variant>

#include "scenarios/format/document/nearest.h"
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

constexpr Choice<CheckpointMode> kModes[] = {{"blocking", CheckpointMode::blocking},
                                             {"async", CheckpointMode::async}};
constexpr Choice<IntervalRule> kRules[] = {{"young", IntervalRule::young},
                                           {"daly", IntervalRule::daly},
                                           {"exact", IntervalRule::exact},
                                           {"adaptive", IntervalRule::adaptive}};

// The key of a knob.
template <auto... kMembers>
constexpr Key key_of(const Knob<kMembers...>& knob) {
    Key row = key<kMembers...>(knob.name, knob.meaning).of(knob.unit).by(knob.default_words);
    if (knob.is_ranged) {
        row.integers = knob.integers;
        row.reals = knob.reals;
    }
    return row;
}
template <const auto& kChoices, auto... kMembers>
constexpr Key key_of(const ChoiceKnob<kChoices, kMembers...>& knob) {
    return choice<kChoices, kMembers...>(knob.name, knob.meaning);
}

template <class Policy>
void check_policy(MapReader& reader, Policy& policy) {
    if (const std::optional<PolicyMisfit> misfit = contradiction_of(PolicySpec{policy})) {
        reader.complain(misfit->knob, misfit->what, misfit->hint);
    }
}

// The keys of a policy's knobs, and its key in the ladder.
template <class Policy>
struct PolicyKeys {
    static constexpr std::size_t kKnobs = std::tuple_size_v<decltype(Policy::knobs())>;
    static constexpr std::array<Key, kKnobs> kRows =
        std::apply([](const auto&... knobs) { return std::array<Key, kKnobs>{key_of(knobs)...}; },
                   Policy::knobs());
    static constexpr auto kTable =
        key_table<Policy, check_policy<Policy>>(Policy::kWords.name, kRows);

    static constexpr Key row() {
        Key row = nested(Policy::kWords.name, KeyShape::map, kTable, Policy::kWords.meaning);
        row.read = [](MapReader& reader, const Key& of, void* plan) {
            Policy knobs;
            const bool good = read_part(reader, of, &knobs);
            static_cast<RecoveryPlan*>(plan)->policies.emplace_back(knobs);
            return good;
        };
        return row;
    }
};

// Whether a policy of ladders has a table of knobs.
template <class Policy>
inline constexpr bool has_key = requires {
    Policy::knobs();
};
template <class Specs>
struct LadderKeys;
template <class... Policies>
struct LadderKeys<std::variant<Policies...>> {
    static constexpr auto rows() {
        std::array<Key, (std::size_t{has_key<Policies>} + ...)> rows;
        std::size_t at = 0;
        const auto add = [&]<class Policy>(std::type_identity<Policy>) {
            if constexpr (has_key<Policy>) {
                rows[at++] = PolicyKeys<Policy>::row();
            }
        };
        (add(std::type_identity<Policies>{}), ...);
        return rows;
    }
};
constexpr auto kPolicyRows = LadderKeys<PolicySpec>::rows();
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
    // Converts each item to a map of its word to its knobs.
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
        for (const PolicySpec& policy : plan_.policies) {
            const PolicyWords& words = words_of(policy);
            if (!words.excludes.empty() && seen.contains(std::string{words.excludes})) {
                errors_.push_back({list.where(),
                                   fmt::format("{} has {} and {}: {}",
                                               path,
                                               words.name,
                                               words.excludes,
                                               words.why_excluded),
                                   "one of them"});
            }
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
