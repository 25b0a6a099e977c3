// SPDX-License-Identifier: Apache-2.0
// The search section: lists of values to vary under the plan's own names, the objective, and the
// clusters to compare, as lists under the cluster's own keys.
#include <fmt/format.h>

#include <algorithm>

#include "models/plan/plan_fields.h"
#include "scenarios/format/document/overrides.h"
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/specs/node_devices.h"

namespace orrery {
namespace {

constexpr std::size_t kClustersMost = 1000;

constexpr Choice<Objective> kObjectives[] = {
    {"step_time", Objective::step_time},
    {"mfu", Objective::mfu},
    {"cost", Objective::cost},
    {"energy", Objective::energy},
    {"goodput", Objective::goodput},
};
constexpr Choice<StageSplit> kStageSplits[] = {
    {"even", StageSplit::even},
    {"embedding_and_loss_as_layers", StageSplit::embedding_loss},
    {"balanced", StageSplit::balanced},
};
constexpr Choice<bool> kSwitch[] = {{"true", true}, {"false", false}};

// A list of a plan field's values, or one value.
template <class T>
bool read_listed(MapReader& reader, const Key& row, std::vector<T>& values, Choices<T> choices) {
    const DocumentNode* node = reader.find(row.name);
    if (node != nullptr && node->is_sequence() && node->items.empty()) {
        reader.complain(row.name, reader.full_name(row.name) + " is empty", "leave it out for all");
        return false;
    }
    std::vector<T> read;
    const bool good = reader.choices(row.name, read, choices);
    for (const T value : read) {  // two words may mean the same
        if (std::ranges::find(values, value) == values.end()) {
            values.push_back(value);
        }
    }
    return good;
}

template <auto kMember, const auto& kWords>
constexpr Key listed_words(std::string_view name, std::string_view meaning) {
    Key row = plain_choice<kWords>(name, meaning).or_list();
    row.read = [](MapReader& reader, const Key& of, void* object) {
        auto& values = key_detail::value_of<&SearchSpec::space, kMember>(object);
        using T = typename std::remove_cvref_t<decltype(values)>::value_type;
        return read_listed<T>(reader, of, values, kWords);
    };
    return row;
}

template <auto kField>
std::vector<std::string> words_of_field(bool first) {
    constexpr auto choices = plan_field<kField>.values;
    std::vector<std::string> words;
    for (const auto& choice : choices) {
        if (!first || word_of(choice.value, choices) == choice.word) {
            words.emplace_back(choice.word);
        }
    }
    return words;
}

// The values of a field of the plan under its own name.
template <auto kField, auto kMember>
constexpr Key varied(std::string_view default_words = "all that fit") {
    constexpr const auto& field = plan_field<kField>;
    using T = typename MemberValue<decltype(field.member)>::Type;
    if constexpr (std::is_same_v<T, std::int64_t>) {
        Key row = plain(field.name, KeyShape::integer, field.meaning);
        row.integers = field.values;
        row.read = [](MapReader& reader, const Key& of, void* object) {
            return key_detail::read_value(
                reader, of, key_detail::value_of<&SearchSpec::space, kMember>(object));
        };
        return row.or_list().by(default_words);
    } else if constexpr (std::is_same_v<T, bool>) {
        return listed_words<kMember, kSwitch>(field.name, field.meaning).by(default_words);
    } else {
        Key row = plain(field.name, KeyShape::choice, field.meaning);
        row.words = words_of_field<kField>;
        row.read = [](MapReader& reader, const Key& of, void* object) {
            auto& values = key_detail::value_of<&SearchSpec::space, kMember>(object);
            return read_listed<T>(reader, of, values, plan_field<kField>.values);
        };
        return row.or_list().by(default_words);
    }
}

constexpr Key kSearchRows[] = {
    varied<&ParallelPlan::tensor_model_parallel_size, &PlanSpace::tensor_model_parallel_size>(
        "within a node"),
    varied<&ParallelPlan::pipeline_model_parallel_size, &PlanSpace::pipeline_model_parallel_size>(),
    varied<&ParallelPlan::virtual_pipeline_model_parallel_size,
           &PlanSpace::virtual_pipeline_model_parallel_size>(),
    varied<&ParallelPlan::context_parallel_size, &PlanSpace::context_parallel_size>("1 to 16"),
    varied<&ParallelPlan::micro_batch_size, &PlanSpace::micro_batch_size>("1 to 16"),
    varied<&ParallelPlan::data_parallel_sharding_strategy, &PlanSpace::sharding>(),
    varied<&ParallelPlan::recompute_granularity, &PlanSpace::recompute>(),
    varied<&ParallelPlan::schedule, &PlanSpace::schedules>(),
    listed_words<&PlanSpace::overlap, kSwitch>("overlap",
                                               "The plan's four overlap switches together.")
        .by("true and false"),
    varied<&ParallelPlan::sequence_parallel, &PlanSpace::sequence_parallel>("true"),
    varied<&ParallelPlan::rank_order, &PlanSpace::rank_orders>(),
    varied<&ParallelPlan::expert_model_parallel_size, &PlanSpace::expert_model_parallel_size>(),
    varied<&ParallelPlan::expert_tensor_parallel_size, &PlanSpace::expert_tensor_parallel_size>(
        "as the plan says"),
    varied<&ParallelPlan::moe_token_dispatcher_type, &PlanSpace::dispatchers>("as the plan says"),
    listed_words<&PlanSpace::splits, kStageSplits>(plan_field<&ParallelPlan::pipeline_layout>.name,
                                                   "How layers are dealt to stages.")
        .by("all"),
    choice<kObjectives, &SearchSpec::objective>("objective", "What the best plan is best at."),
    plain("price_per_gpu_hour", KeyShape::device_real, "Price of a GPU for an hour."),
    plain("busy_watts", KeyShape::device_real, "Power of a GPU, with its share of the server."),
    plain("idle_watts", KeyShape::device_real, "The same while no kernel runs."),
    key<&SearchSpec::tokens>("tokens", "Tokens to train on.").range(0, 1e18).of("tokens"),
    key<&SearchSpec::deadline_days>("deadline_days", "Time for these tokens; 0: any.")
        .range(0, 1e6)
        .of("days"),
    key<&SearchSpec::budget>("budget", "Money for these tokens; 0: any.").range(0, 1e15),
    key<&SearchSpec::simulations>("simulations", "Most plans that are simulated.")
        .range(1, 10'000'000)
        .of("plans"),
    key<&SearchSpec::keep>("keep", "Best plans that are simulated with contention and listed.")
        .range(1, 10'000)
        .of("plans"),
    key<&SearchSpec::seeds>("seeds", "goodput: campaigns of each plan.").range(1, 100'000),
    plain("cluster", KeyShape::any, "Clusters to compare: lists under keys of the cluster."),
};

// A number for every device, or a map of device names to numbers.
double of_device(const DocumentNode* node, const std::string& device) {
    if (node == nullptr) {
        return 0;
    }
    const DocumentNode* value = node->is_map() ? node->find(device) : node;
    return value != nullptr ? MapReader::number(*value).value_or(0) : 0;
}

// Per GPU, the mean over all kinds of nodes.
double mean_of_devices(const DocumentNode* node, const ClusterVariant& variant) {
    if (variant.devices.size() < 2) {
        return of_device(node, variant.device.name);
    }
    const std::vector<std::uint32_t> ranks = ranks_of_kinds(variant.cluster);
    double sum = 0;
    for (std::size_t kind = 0; kind < ranks.size(); ++kind) {
        sum += of_device(node, variant.devices[kind].name) * ranks[kind];
    }
    return sum / variant.cluster.num_ranks();
}

void check_numbers(MapReader& reader, const char* key, Errors& errors) {
    const DocumentNode* node = reader.find(key);
    if (node == nullptr) {
        return;
    }
    const auto bad = [](const DocumentNode& value) {
        const double number = MapReader::number(value).value_or(-1);
        return number < 0 || number >= 1e9;
    };
    const std::vector<DocumentNode> items =
        node->is_map() ? node->items : std::vector<DocumentNode>{*node};
    for (const DocumentNode& item : items) {
        if (bad(item)) {
            errors.push_back({item.where(),
                              fmt::format("{} can't be {}", reader.full_name(key), item.describe()),
                              "a number, or a map from device names to numbers"});
        }
    }
}

struct Prices {
    const DocumentNode* per_hour = nullptr;
    const DocumentNode* busy = nullptr;
    const DocumentNode* idle = nullptr;
};

// Adds the cluster section with one value of each varied key.
void add_cluster(const DocumentNode& root,
                 const std::vector<std::pair<std::string, std::string>>& values,
                 const Catalogue& catalogue,
                 const std::filesystem::path& folder,
                 const Prices& prices,
                 SearchSpec& spec,
                 Errors& errors) {
    DocumentNode changed = root;
    ClusterVariant variant{.overrides = values, .cluster = {}, .device = {}};
    for (const auto& [key, value] : values) {
        apply_override(changed, fmt::format("cluster.{}={}", key, value), errors);
        variant.label += fmt::format("{}{} {}", variant.label.empty() ? "" : ", ", key, value);
    }
    DocumentNode* section = changed.find("cluster");
    if (section == nullptr || !errors.empty()) {
        return;
    }
    variant.devices =
        read_cluster(*section, catalogue, folder, variant.cluster, variant.device, errors);
    variant.price_per_gpu_hour = mean_of_devices(prices.per_hour, variant);
    variant.busy_watts = mean_of_devices(prices.busy, variant);
    variant.idle_watts = mean_of_devices(prices.idle, variant);
    spec.clusters.push_back(std::move(variant));
}

void read_clusters(const DocumentNode* section,
                   const DocumentNode& root,
                   const Catalogue& catalogue,
                   const std::filesystem::path& folder,
                   const Prices& prices,
                   SearchSpec& spec,
                   Errors& errors) {
    std::vector<std::vector<std::pair<std::string, std::string>>> all = {{}};
    if (section != nullptr && !section->is_map()) {
        errors.push_back({section->where(),
                          "search.cluster must be a map, not " + section->describe(),
                          "lists under the cluster's keys, like nodes: [64, 128]"});
        return;
    }
    for (std::size_t i = 0; section != nullptr && i < section->keys.size(); ++i) {
        const DocumentNode& item = section->items[i];
        const std::vector<DocumentNode> values =
            item.is_sequence() ? item.items : std::vector<DocumentNode>{item};
        std::vector<std::vector<std::pair<std::string, std::string>>> next;
        for (const auto& before : all) {
            for (const DocumentNode& value : values) {
                if (!value.is_scalar()) {
                    errors.push_back(
                        {value.where(),
                         "search.cluster varies words and numbers only, not " + value.describe(),
                         "write fabric.nic_bandwidth: [200 Gbps, 400 Gbps]"});
                    return;
                }
                next.push_back(before);
                next.back().emplace_back(section->keys[i].text, value.text);
            }
        }
        all = std::move(next);
        if (all.size() > kClustersMost) {
            errors.push_back({section->where(),
                              fmt::format("search.cluster makes {} clusters", all.size()),
                              fmt::format("at most {}", kClustersMost)});
            return;
        }
    }
    for (const auto& values : all) {
        add_cluster(root, values, catalogue, folder, prices, spec, errors);
        if (!errors.empty()) {
            return;
        }
    }
}

// Bounds of plans exist only for stages whose micro-batches all go one way.
void check_schedules(MapReader& reader, const SearchSpec& spec) {
    for (const ScheduleKind kind : spec.space.schedules) {
        if (kind == ScheduleKind::dual_pipe || kind == ScheduleKind::dual_pipe_v) {
            reader.complain(plan_field<&ParallelPlan::schedule>.name,
                            "a search has no bound for micro-batches that go both ways",
                            "another schedule; simulate these with plan.schedule");
        }
    }
}

void check_objective(MapReader& reader, const SearchSpec& spec) {
    const bool priced = std::ranges::all_of(
        spec.clusters, [](const ClusterVariant& c) { return c.price_per_gpu_hour > 0; });
    const bool powered = std::ranges::all_of(
        spec.clusters, [](const ClusterVariant& c) { return c.busy_watts > 0; });
    if ((spec.objective == Objective::cost || spec.budget > 0) && !priced) {
        reader.complain("price_per_gpu_hour",
                        "cost needs search.price_per_gpu_hour of every device",
                        "a number, or a map from device names to numbers");
    }
    if (spec.objective == Objective::energy && !powered) {
        reader.complain("busy_watts",
                        "energy needs search.busy_watts (and idle_watts) of every device",
                        "a number, or a map from device names to numbers");
    }
    if ((spec.budget > 0 || spec.deadline_days > 0) && spec.tokens <= 0) {
        reader.complain("tokens",
                        "a deadline or a budget needs search.tokens, the tokens to train on",
                        "300e9, say");
    }
}

}  // namespace

const KeyTable<SearchSpec> kSearchKeys = key_table<SearchSpec>("search", kSearchRows);

void read_search(const DocumentNode& section,
                 const DocumentNode& root,
                 const Catalogue& catalogue,
                 const std::filesystem::path& folder,
                 SearchSpec& spec,
                 Errors& errors) {
    if (!section.is_map()) {
        errors.push_back({section.where(), "search must be a map, not " + section.describe(), {}});
        return;
    }
    const std::size_t before = errors.size();
    MapReader reader{section, "search", errors};
    read_keys(reader, kSearchKeys, spec);
    for (const char* key : {"price_per_gpu_hour", "busy_watts", "idle_watts"}) {
        check_numbers(reader, key, errors);
    }
    const Prices prices{
        reader.find("price_per_gpu_hour"), reader.find("busy_watts"), reader.find("idle_watts")};
    const DocumentNode* clusters = reader.find("cluster");
    reader.finish();
    if (errors.size() == before) {
        Errors of_clusters;
        read_clusters(clusters, root, catalogue, folder, prices, spec, of_clusters);
        if (of_clusters.empty()) {
            check_schedules(reader, spec);
            check_objective(reader, spec);
        }
        errors.insert(errors.end(), of_clusters.begin(), of_clusters.end());
    }
}

}  // namespace orrery
