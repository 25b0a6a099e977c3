// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "models/plan/validate_plan.h"
#include "runtime/trainable.h"
#include "scenarios/format/document/overrides.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/device_needs.h"
#include "scenarios/format/read/effective_scenario.h"
#include "scenarios/format/read/file_kind.h"
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/read/read_serving.h"
#include "scenarios/format/read/read_stack.h"
#include "scenarios/format/specs/cluster_shape.h"
#include "scenarios/format/specs/network_words.h"
#include "scenarios/format/specs/node_devices.h"

namespace orrery {
namespace {

struct KeyPlace {
    std::int64_t line = 0;
    std::int64_t column = 0;
    auto operator<=>(const KeyPlace&) const = default;
};

// Order of an error: those in the scenario's own file come first, then others (--set, the
// catalogue).
KeyPlace place_of(const Error& error, const std::string& source) {
    constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
    if (!error.where.starts_with(source + ":")) {
        return {kLast, 0};
    }
    KeyPlace place{kLast, 0};
    const char* end = error.where.data() + error.where.size();
    const char* at = error.where.data() + source.size() + 1;
    const auto line = std::from_chars(at, end, place.line);
    if (line.ptr != end) {
        std::from_chars(line.ptr + 1, end, place.column);
    }
    return place;
}

// Sorts by the order of the file and removes duplicates, because a search reads the cluster again
// for its variants.
void sort_by_place(Errors& errors, const std::string& source) {
    std::stable_sort(errors.begin(), errors.end(), [&](const Error& a, const Error& b) {
        return place_of(a, source) < place_of(b, source);
    });
    std::set<std::string> known;
    std::erase_if(errors,
                  [&](const Error& error) { return !known.insert(error.to_string()).second; });
}

void check_network_of_steps(const Scenario& scenario, Errors& errors) {
    if (!scenario.network_settings.events.empty()) {
        errors.push_back({scenario.network_settings.events.front().where,
                          "network.events are for orrery network, not for steps",
                          "leave them out"});
    }
}

// Factors measured on another network do not apply to this one.
void check_congestion(const Scenario& scenario, bool cluster_is_good, Errors& errors) {
    const auto& factors = scenario.network_settings.congestion;
    if (!factors || !cluster_is_good || scenario.cluster.num_nodes == 1) {
        return;
    }
    const std::string key = first_difference(factors->measured_on, scenario.cluster.fabric);
    if (!key.empty()) {
        errors.push_back({scenario.network_settings.congestion_where,
                          fmt::format("network.congestion was measured on a network that differs "
                                      "from cluster.fabric: {}",
                                      key),
                          "measure it on this one: orrery network FILE --store NEW.yaml"});
    }
}

// Sets the data-parallel size from the ranks of a model replica. The checks of the plan report
// sizes that do not fit.
void derive_data_parallel_size(Scenario& scenario) {
    const std::int64_t replica = scenario.plan.model_parallel_size();
    const std::int64_t gpus = scenario.cluster.num_ranks();
    scenario.plan.data_parallel_size = std::max<std::int64_t>(1, gpus / replica);
}

void check_plan(const DocumentNode& root, const Scenario& scenario, Errors& errors) {
    for (Error error : check(scenario.model, scenario.plan, scenario.cluster.num_ranks())) {
        const std::string key = error.where.substr(error.where.rfind('.') + 1);
        const bool starts_with_value = !error.what.empty() && std::isdigit(error.what[0]) != 0;
        if (starts_with_value) {
            error.what = fmt::format("{} {}", key, error.what);
        } else if (!has_path(root, error.where) && error.what.find(key) == std::string::npos) {
            // The place is that of the section.
            error.what = fmt::format("{}: {}", error.where, error.what);
        }
        error.where = where_of_path(root, error.where);
        errors.push_back(std::move(error));
    }
}

void check_recovery(const DocumentNode& root, const Scenario& scenario, Errors& errors) {
    const std::int64_t replicas = scenario.plan.data_parallel_size;
    for (const RecoveryPlan& plan : scenario.recovery) {
        for (const auto& policy : make_ladder(plan.policies)) {
            if (const std::optional<PolicyMisfit> misfit = policy->misfit(replicas)) {
                errors.push_back(
                    {where_of_path(root, "recovery.policies"), misfit->what, misfit->hint});
            }
        }
    }
}

// Reads one section. Returns whether it exists without errors.
template <class Read>
bool read_section(DocumentNode& root,
                  MapReader& reader,
                  std::string_view key,
                  Presence presence,
                  Errors& errors,
                  const Read& read) {
    if (reader.find(key, presence) == nullptr) {
        return false;
    }
    const std::size_t before = errors.size();
    read(*root.find(key));
    return errors.size() == before;
}

// Reads the jobs, and checks their plans and models against each other and the devices.
void read_all_jobs(DocumentNode& root,
                   MapReader& reader,
                   const Catalogue& catalogue,
                   const std::filesystem::path& folder,
                   Scenario& scenario,
                   Errors& errors) {
    for (const char* key :
         {"model", "plan", "software", "stack", "search", "faults", "recovery", "campaign"}) {
        if (root.find(key) != nullptr) {
            reader.refuse(key,
                          "a scenario with jobs has none of its own",
                          "each job has its own model, plan and software");
        }
    }
    const std::size_t before = errors.size();
    DocumentNode& section = *root.find("jobs");
    read_jobs(section, catalogue, folder, scenario, scenario.jobs, errors);
    if (errors.size() > before) {
        return;
    }
    for (std::size_t j = 0; j < scenario.jobs.size(); ++j) {
        Scenario job = *scenario.jobs[j].scenario;
        derive_data_parallel_size(job);
        check_plan(section.items[j], job, errors);
        check_device_needs(section.items[j], job, errors);
        scenario.jobs[j].scenario = std::make_shared<const Scenario>(std::move(job));
    }
}

// Reads the sections of a campaign. The places of faults are known even if the cluster's section
// has errors.
void read_weeks(const DocumentNode& root,
                MapReader& reader,
                const Catalogue& catalogue,
                const std::filesystem::path& folder,
                Scenario& scenario,
                Errors& errors) {
    ClusterShape& shape = scenario.campaign.shape;
    shape = cluster_shape(scenario.cluster, scenario.campaign);
    if (reader.find("campaign") != nullptr) {
        read_campaign(*root.find("campaign"), scenario.campaign, errors);
    }
    if (reader.find("faults") != nullptr) {
        read_faults(*root.find("faults"), catalogue, folder, shape, scenario.faults, errors);
    }
    if (reader.find("recovery") != nullptr) {
        read_recovery(
            *root.find("recovery"), scenario.campaign.detection, scenario.recovery, errors);
    }
}

// Reads the job's steps and its data.
void read_steps(const DocumentNode& root,
                MapReader& reader,
                const std::filesystem::path& folder,
                const ReadOptions& options,
                Scenario& scenario,
                Errors& errors) {
    if (const DocumentNode* section = reader.find("job")) {
        read_job(*section, folder, scenario.job, errors);
    }
    if (options.for_training && scenario.job.training.dataset.empty() &&
        where_of_path(root, "job.dataset") == where_of_path(root, "job")) {
        errors.push_back({where_of_path(root, "job"),
                          "training needs data: job.dataset is missing",
                          "the path of a text, or of a file made by orrery tokenize"});
    }
}

// Checks that cluster, model and plan, each valid, fit together.
void check_together(const DocumentNode& root,
                    const ReadOptions& options,
                    Scenario& scenario,
                    Errors& errors) {
    derive_data_parallel_size(scenario);
    scenario.job.training.ranks_of_node = scenario.cluster.gpus_per_server();
    const std::size_t before = errors.size();
    check_plan(root, scenario, errors);
    check_device_needs(root, scenario, errors);
    check_recovery(root, scenario, errors);
    if (const auto one = check_one_kind(scenario, "orrery train"); options.for_training && !one) {
        errors.push_back(one.error());
    }
    if (options.for_training && errors.size() == before) {
        const std::int64_t ranks = scenario.cluster.num_ranks();
        std::ranges::move(
            refused_in_training(root, check_trainable(scenario.model, scenario.plan, ranks)),
            std::back_inserter(errors));
    }
}

constexpr Choice<int> kScenarioWords[] = {{"scenario", 0}, {"network", 1}, {"serving", 2}};

constexpr Key kScenarioRows[] = {
    plain_choice<kScenarioWords>("kind", "Kind of the file.").by("from its keys"),
    key<&Scenario::name>("name", "What reports call the scenario.").by("the file's name"),
    key<&Scenario::software>("software", "Software that runs the job: nemo-24.05."),
    plain(
        "stack", KeyShape::word, "Software of the catalogue whose defaults the plan takes: nemo."),
    nested("cluster", KeyShape::map, kClusterKeys, "Nodes and networks.").required(),
    entry("model", "models", kModelKeys, "The model; required without jobs."),
    nested("plan", KeyShape::map, kPlanKeys, "Parallelism and batch; required without jobs."),
    nested("network", KeyShape::map, kNetworkKeys, "How the network is simulated.")
        .or_words<kFidelities>()
        .by("fluid"),
    nested("job", KeyShape::map, kJobKeys, "Steps to simulate, or a training."),
    nested("jobs", KeyShape::map_list, kClusterJobKeys, "Several jobs on the cluster."),
    nested("search", KeyShape::map, kSearchKeys, "What `orrery search` varies."),
    nested("faults", KeyShape::map_list, kFaultKeys, "Faults."),
    nested("recovery", KeyShape::map_or_list, kRecoveryKeys, "Recovery plans."),
    nested("campaign", KeyShape::map, kCampaignKeys, "A training over days or weeks."),
    nested("serving", KeyShape::map, kServingKeys, "Instances that serve (kind: serving)."),
    nested("workload", KeyShape::map, kWorkloadKeys, "Load that they serve (kind: serving)."),
};

// Reads the model and its serving.
void read_served(DocumentNode& root,
                 MapReader& reader,
                 const Catalogue& catalogue,
                 const std::filesystem::path& folder,
                 Scenario& scenario,
                 Errors& errors) {
    const auto required = Presence::required;
    read_section(root, reader, "model", required, errors, [&](DocumentNode& section) {
        read_model(section, catalogue, folder, scenario.model, scenario.model_remarks, errors);
    });
    read_section(root, reader, "serving", required, errors, [&](DocumentNode& section) {
        read_serving(section, catalogue, folder, scenario.serving, scenario.model_remarks, errors);
        check_recovery(section, scenario.serving, root.find("faults") != nullptr, errors);
    });
    read_section(root, reader, "workload", required, errors, [&](DocumentNode& section) {
        read_workload(section, folder, scenario.workload, errors);
        check_load(section, root.find("serving"), scenario.serving, scenario.workload, errors);
    });
    if (reader.find("faults") != nullptr) {
        scenario.campaign.shape = cluster_shape(scenario.cluster, scenario.campaign);
        read_faults(*root.find("faults"),
                    catalogue,
                    folder,
                    scenario.campaign.shape,
                    scenario.faults,
                    errors);
    }
    if (reader.find("search") != nullptr) {
        read_pool_search(*root.find("search"), scenario.pool_search, errors);
    }
    if (const DocumentNode* section = reader.find("campaign")) {
        read_campaign(*section, scenario.campaign, errors);
        for (const DocumentNode& key : section->keys) {
            if (key.text != "seeds") {
                errors.push_back({key.where(),
                                  "campaign." + key.text + " is of a training's campaign",
                                  "the load says how long a served campaign lasts"});
            }
        }
    }
    for (const char* key : {"plan", "jobs", "stack", "recovery"}) {
        if (root.find(key) != nullptr) {
            reader.refuse(key, "a file of kind serving has none", "serving.pools has the sizes");
        }
    }
    for (const char* key : {"job", "network", "software"}) {
        if (root.find(key) != nullptr) {
            reader.refuse(key, "a file of kind serving has none", "leave it out");
        }
    }
    reader.finish();
}

Scenario read_root(DocumentNode& root,
                   const std::filesystem::path& folder,
                   const ReadOptions& options,
                   Errors& errors) {
    const Catalogue catalogue{options.catalogue};
    Scenario scenario;
    scenario.document = std::make_shared<DocumentNode>(root);
    MapReader reader{root, "", errors};
    read_keys(reader, kScenarioKeys, scenario);
    const auto cluster_of = [&](DocumentNode& section) {
        scenario.devices =
            read_cluster(section, catalogue, folder, scenario.cluster, scenario.device, errors);
    };
    const bool cluster =
        read_section(root, reader, "cluster", Presence::optional, errors, cluster_of);
    scenario.cluster_where =
        where_of_path(root, scenario.cluster.kinds.empty() ? "cluster.nodes" : "cluster.kinds");
    const bool jobs = reader.find("jobs") != nullptr && !options.network_only;
    const Presence rest = options.network_only || jobs ? Presence::optional : Presence::required;
    if (options.serving) {
        read_served(root, reader, catalogue, folder, scenario, errors);
        return scenario;
    }
    for (const char* key : {"serving", "workload"}) {
        if (root.find(key) != nullptr) {
            reader.refuse(key, "only a file of kind serving has this section", "orrery serve FILE");
        }
    }
    const bool model =
        !jobs && read_section(root, reader, "model", rest, errors, [&](DocumentNode& section) {
            read_model(section, catalogue, folder, scenario.model, scenario.model_remarks, errors);
        });
    const bool plan =
        !jobs && read_section(root, reader, "plan", rest, errors, [&](DocumentNode& section) {
            add_stack(root, section, catalogue, scenario, errors);
            read_plan(section, scenario.plan, errors);
        });
    if (const DocumentNode* section = reader.find("network")) {
        read_network(*section, scenario.network, scenario.network_settings, errors);
        if (const DocumentNode* factors = section->find("congestion")) {
            read_congestion(*factors, catalogue, folder, scenario.network_settings, errors);
            check_congestion(scenario, cluster, errors);
        }
        if (!options.network_only) {
            check_network_of_steps(scenario, errors);
        }
    }
    read_steps(root, reader, folder, options, scenario, errors);
    if (jobs && !options.several_jobs) {
        reader.complain("jobs",
                        "this scenario has several jobs, and one is due",
                        "orrery simulate FILE, or a scenario with model and plan");
    } else if (jobs && cluster) {
        read_all_jobs(root, reader, catalogue, folder, scenario, errors);
    }
    if (jobs) {
        reader.finish();
        return scenario;
    }
    if (const DocumentNode* section = reader.find("search")) {
        read_search(*section, *scenario.document, catalogue, folder, scenario.search, errors);
    }
    read_weeks(root, reader, catalogue, folder, scenario, errors);
    reader.finish();
    if (cluster && model && plan) {
        check_together(root, options, scenario, errors);
    }
    return scenario;
}

// Whether the document describes only a network, without errors: then no other key can be a
// misspelt model or plan.
bool is_network(DocumentNode root,
                const std::filesystem::path& folder,
                const ReadOptions& options) {
    const bool only = root.is_map() && root.find("cluster") != nullptr &&
                      std::ranges::all_of(root.keys, [](const DocumentNode& key) {
                          return key.text == "kind" || key.text == "name" ||
                                 key.text == "cluster" || key.text == "network";
                      });
    if (options.network_only || !only) {
        return false;
    }
    ReadOptions as_network = options;
    as_network.network_only = true;
    Errors errors;
    read_root(root, folder, as_network, errors);
    return errors.empty();
}

// Reads the scenario of a document. `of` has the file and the overrides that are already applied.
ResultOrErrors<Scenario> read_document(DocumentNode root,
                                       const std::string& source,
                                       const std::filesystem::path& folder,
                                       const ReadOptions& options,
                                       ScenarioOrigin of) {
    Errors errors;
    if (root.is_map()) {
        for (const std::string& assignment : options.overrides) {
            apply_override(root, assignment, errors);
        }
    }
    // A file without `kind` that describes a network is recognised below, once it is free of
    // errors.
    const bool network = options.network_only || root.find("kind") == nullptr;
    Error other = options.serving ? of_another_kind(root, {"serving"})
                  : network       ? of_another_kind(root, {"scenario", "network"})
                                  : of_another_kind(root, {"scenario"});
    if (errors.empty() && !other.what.empty()) {
        return unexpected<Errors>(Errors{std::move(other)});
    }
    if (errors.empty() && !options.serving && is_network(root, folder, options)) {
        return unexpected<Errors>(Errors{{root.where(),
                                          "there is no model and no plan: this describes a network",
                                          "orrery network FILE, or add model and plan"}});
    }
    Scenario scenario = read_root(root, folder, options, errors);
    if (!errors.empty()) {
        sort_by_place(errors, source);
        return unexpected<Errors>(std::move(errors));
    }
    if (scenario.name.empty()) {
        scenario.name = std::filesystem::path{source}.stem().string();
    }
    of.overrides.insert(of.overrides.end(), options.overrides.begin(), options.overrides.end());
    of.effective = effective_scenario(std::move(root), scenario.name, folder);
    of.catalogue = options.catalogue;
    scenario.origin = std::make_shared<ScenarioOrigin>(std::move(of));
    return scenario;
}

}  // namespace

const KeyTable<Scenario> kScenarioKeys = key_table<Scenario>("scenario", kScenarioRows);

ResultOrErrors<Scenario> read_scenario_document(DocumentNode root,
                                                const std::string& source,
                                                const std::filesystem::path& folder,
                                                const ReadOptions& options) {
    const std::string file = std::filesystem::path{source}.filename().string();
    return read_document(std::move(root), source, folder, options, {.file = file});
}

ResultOrErrors<Scenario> read_scenario_text(const std::string& text,
                                            const std::string& source,
                                            const std::filesystem::path& folder,
                                            const ReadOptions& options) {
    ResultOrErrors<DocumentNode> root = parse_yaml(text, source);
    if (!root) {
        sort_by_place(root.error(), source);
        return unexpected<Errors>(std::move(root.error()));
    }
    return read_scenario_document(std::move(*root), source, folder, options);
}

ResultOrErrors<Scenario> read_effective_scenario(DocumentNode document,
                                                 const std::string& source,
                                                 const ScenarioOrigin& of,
                                                 const ReadOptions& options) {
    const std::filesystem::path folder = std::filesystem::path{source}.parent_path();
    return read_document(std::move(document), source, folder, options, of);
}

ResultOrErrors<Scenario> read_scenario(const std::filesystem::path& file,
                                       const ReadOptions& options) {
    const Result<std::string> text = read_text_file(file);
    if (!text) {
        return unexpected<Errors>(Errors{text.error()});
    }
    return read_scenario_text(*text, source_name(file), file.parent_path(), options);
}

}  // namespace orrery
