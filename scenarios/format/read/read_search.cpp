// SPDX-License-Identifier: Apache-2.0
// The search section: lists of what may vary, under the plan's own names; the objective; and the
// clusters to compare, as lists under the cluster's own keys.
#include <fmt/format.h>

#include <algorithm>

#include "models/plan_fields.h"
#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/document/overrides.h"
#include "scenarios/format/document/quantity.h"
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

class SearchReader {
public:
    SearchReader(const DocumentNode& section, Errors& errors)
        : reader_(section, "search", errors), errors_(errors) {}

    MapReader& reader() { return reader_; }

    // A list of a field's values, or one of them.
    template <auto kMember, class T>
    void field(std::vector<T>& values) {
        const auto& row = plan_field<kMember>;
        if constexpr (std::is_same_v<T, std::int64_t>) {
            reader_.integers(row.name, values, row.values);
        } else if constexpr (std::is_same_v<T, bool>) {
            words(row.name, values, kSwitch);
        } else {
            words(row.name, values, row.values);
        }
    }

    template <class T>
    void words(std::string_view key,
               std::vector<T>& values,
               std::type_identity_t<Choices<T>> choices) {
        const DocumentNode* node = reader_.find(key);
        if (node == nullptr) {
            return;
        }
        const std::vector<DocumentNode> items =
            node->is_sequence() ? node->items : std::vector<DocumentNode>{*node};
        if (items.empty()) {
            reader_.complain(key, reader_.full_name(key) + " is empty", "leave it out for all");
        }
        for (const DocumentNode& item : items) {
            const auto known = std::ranges::find_if(choices, [&](const Choice<T>& choice) {
                return item.is_scalar() && item.text == choice.word;
            });
            if (known == choices.end()) {
                std::string all;
                for (const Choice<T>& choice : choices) {
                    all += (all.empty() ? "" : ", ") + std::string{choice.word};
                }
                errors_.push_back(
                    {item.where(),
                     fmt::format("{} can't be {}", reader_.full_name(key), item.describe()),
                     "a list out of " + all});
                continue;
            }
            if (std::ranges::find(values, known->value) == values.end()) {
                values.push_back(known->value);
            }
        }
    }

private:
    MapReader reader_;
    Errors& errors_;
};

void read_space(SearchReader& search, PlanSpace& space) {
    using Plan = ParallelPlan;
    search.field<&Plan::tensor_model_parallel_size>(space.tensor_model_parallel_size);
    search.field<&Plan::pipeline_model_parallel_size>(space.pipeline_model_parallel_size);
    search.field<&Plan::virtual_pipeline_model_parallel_size>(
        space.virtual_pipeline_model_parallel_size);
    search.field<&Plan::context_parallel_size>(space.context_parallel_size);
    search.field<&Plan::micro_batch_size>(space.micro_batch_size);
    search.field<&Plan::data_parallel_sharding_strategy>(space.sharding);
    search.field<&Plan::recompute_granularity>(space.recompute);
    search.field<&Plan::schedule>(space.schedules);
    search.words("overlap", space.overlap, kSwitch);
    search.field<&Plan::sequence_parallel>(space.sequence_parallel);
    search.field<&Plan::rank_order>(space.rank_orders);
    search.words(plan_field<&Plan::pipeline_layout>.name, space.splits, kStageSplits);
}

// A number for every device, or a map of device names.
double of_device(const DocumentNode* node, const std::string& device) {
    if (node == nullptr) {
        return 0;
    }
    const DocumentNode* value = node->is_map() ? node->find(device) : node;
    return value != nullptr ? MapReader::number(*value).value_or(0) : 0;
}

// A GPU's, the mean over those of all kinds of nodes.
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

// The cluster section with one value of each varied key.
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
    SearchReader search{section, errors};
    read_space(search, spec.space);
    MapReader& reader = search.reader();
    reader.choice("objective", spec.objective, kObjectives);
    for (const char* key : {"price_per_gpu_hour", "busy_watts", "idle_watts"}) {
        check_numbers(reader, key, errors);
    }
    reader.real("tokens", spec.tokens, 0, 1e18);
    reader.real("deadline_days", spec.deadline_days, 0, 1e6);
    reader.real("budget", spec.budget, 0, 1e15);
    reader.integer("simulations", spec.simulations, {1, 10'000'000});
    reader.integer("keep", spec.keep, {1, 10'000});
    reader.integer("seeds", spec.seeds, {1, 100'000});
    const Prices prices{
        reader.find("price_per_gpu_hour"), reader.find("busy_watts"), reader.find("idle_watts")};
    const DocumentNode* clusters = reader.find("cluster");
    reader.finish();
    if (errors.size() == before) {
        Errors of_clusters;
        read_clusters(clusters, root, catalogue, folder, prices, spec, of_clusters);
        if (of_clusters.empty()) {
            check_objective(reader, spec);
        }
        errors.insert(errors.end(), of_clusters.begin(), of_clusters.end());
    }
}

}  // namespace orrery
