// SPDX-License-Identifier: Apache-2.0
// The jobs section: several trainings on one cluster, each with its own model, plan, start and
// nodes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/read/read_stack.h"

namespace orrery {
namespace {

enum class JobPlacement : std::uint8_t { packed, interleaved };
constexpr Choice<JobPlacement> kJobPlacements[] = {
    {"packed", JobPlacement::packed},
    {"interleaved", JobPlacement::interleaved},
};

constexpr Key kClusterJobRows[] = {
    plain("name", KeyShape::word, "What reports call the job.").required(),
    plain("software", KeyShape::word, "Software that runs the job: nemo-24.05."),
    plain("stack", KeyShape::word, "Software of the catalogue that gives the plan's defaults."),
    key<&ClusterJob::start>("start", "Begin of the job."),
    entry("model", "models", kModelKeys, "Model of the job.").required(),
    nested("plan", KeyShape::map, kPlanKeys, "Plan of the job.").required(),
    plain_choice<kJobPlacements>("placement", "How the job takes free nodes.").by("packed"),
    plain("nodes", KeyShape::integer, "Number of nodes; required without on_nodes.")
        .range(1, 1'000'000)
        .of("nodes"),
    plain("on_nodes", KeyShape::nodes, "Numbers of the nodes: [0-3, 6].").by("free nodes"),
};

using NodeList = std::vector<std::uint32_t>;

// Reads "3" or "0-7".
std::optional<std::pair<std::uint32_t, std::uint32_t>> node_range(std::string_view text) {
    const auto number = [](std::string_view digits) -> std::optional<std::uint32_t> {
        std::uint32_t value = 0;
        const char* const end = digits.data() + digits.size();
        const auto read = std::from_chars(digits.data(), end, value);
        return read.ec == std::errc{} && read.ptr == end ? std::optional{value} : std::nullopt;
    };
    const std::size_t dash = text.find('-');
    const auto first = number(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
    return first && last && *first <= *last ? std::optional{std::pair{*first, *last}}
                                            : std::nullopt;
}

class JobsReader {
public:
    JobsReader(const Catalogue& catalogue,
               const std::filesystem::path& folder,
               const Scenario& base,
               Errors& errors)
        : catalogue_(catalogue),
          folder_(folder),
          base_(base),
          errors_(errors),
          owner_(base.cluster.num_nodes) {}

    void read(DocumentNode& section, std::vector<ClusterJob>& jobs) {
        if (!section.is_sequence() || section.items.empty()) {
            const std::string found = section.is_sequence() ? "an empty list" : section.describe();
            errors_.push_back({section.where(),
                               "jobs must be a list of jobs, not " + found,
                               "each with name, model, plan and nodes"});
            return;
        }
        if (!base_.cluster.gpu_of_rank.empty()) {
            errors_.push_back({section.where(),
                               "jobs take whole nodes of the cluster, each its own",
                               "leave cluster.placement and cluster.gpus out"});
            return;
        }
        // Jobs that name their nodes come first. The others take the remaining ones.
        jobs.resize(section.items.size());
        for (const bool listed : {true, false}) {
            for (std::size_t j = 0; j < section.items.size(); ++j) {
                if ((section.items[j].find("on_nodes") != nullptr) == listed) {
                    read_job(section.items[j], fmt::format("jobs[{}]", j), jobs[j]);
                }
            }
        }
    }

private:
    void read_job(DocumentNode& item, const std::string& path, ClusterJob& job) {
        if (!item.is_map()) {
            errors_.push_back({item.where(),
                               path + " must be a map, not " + item.describe(),
                               "with name, model, plan and nodes"});
            return;
        }
        Scenario scenario = base_;
        scenario.document = nullptr;
        scenario.name.clear();
        MapReader reader{item, path, errors_};
        reader.word("name", scenario.name);
        reader.word("software", scenario.software);
        read_keys(reader, kClusterJobKeys, job);
        if (reader.has("model")) {
            read_model(*item.find("model"),
                       catalogue_,
                       folder_,
                       scenario.model,
                       scenario.model_remarks,
                       errors_);
        }
        if (reader.has("plan")) {
            add_stack(item, *item.find("plan"), catalogue_, scenario, errors_);
            read_plan(*item.find("plan"), scenario.plan, errors_);
        }
        if (std::ranges::find(names_, scenario.name) != names_.end()) {
            reader.complain("name", fmt::format("two jobs are called {}", scenario.name));
        }
        names_.push_back(scenario.name);
        const std::uint32_t per_node = base_.cluster.node.gpus_per_node;
        for (const std::uint32_t node : take_nodes(reader, scenario.name)) {
            for (std::uint32_t gpu = 0; gpu < per_node; ++gpu) {
                scenario.cluster.gpu_of_rank.push_back(node * per_node + gpu);
            }
        }
        reader.finish();
        job.scenario = std::make_shared<const Scenario>(std::move(scenario));
    }

    // The nodes of the job in the order of its ranks; empty after an error.
    NodeList take_nodes(MapReader& reader, const std::string& name) {
        JobPlacement placement = JobPlacement::packed;
        const bool placed = reader.choice("placement", placement, kJobPlacements);
        NodeList nodes;
        if (const DocumentNode* listed = reader.find("on_nodes")) {
            if (placed || reader.find("nodes") != nullptr) {
                reader.complain("on_nodes",
                                "on_nodes says which nodes, so that nodes and placement say "
                                "nothing",
                                "leave one of them out");
                return {};
            }
            nodes = listed_nodes(*listed, reader);
        } else {
            std::uint32_t count = 0;
            if (!reader.integer("nodes", count, {1, base_.cluster.num_nodes}, Presence::required)) {
                return {};
            }
            nodes = free_nodes(placement);
            if (nodes.size() < count) {
                reader.complain("nodes",
                                fmt::format("job {} needs {} nodes, and {} of {} are free",
                                            name,
                                            count,
                                            nodes.size(),
                                            base_.cluster.num_nodes),
                                "more cluster.nodes, or smaller jobs");
                return {};
            }
            nodes.resize(count);
        }
        for (const std::uint32_t node : nodes) {
            owner_[node] = name;
        }
        return nodes;
    }

    NodeList listed_nodes(const DocumentNode& listed, MapReader& reader) const {
        std::vector<std::string> texts;
        if (listed.is_sequence()) {
            for (const DocumentNode& item : listed.items) {
                texts.push_back(item.text);
            }
        } else {
            texts.push_back(listed.text);
        }
        NodeList nodes;
        for (const std::string& text : texts) {
            const auto range = node_range(text);
            if (!range || range->second >= base_.cluster.num_nodes) {
                reader.complain(
                    "on_nodes",
                    range ? fmt::format("there is no node {}", range->second)
                          : fmt::format("'{}' is neither a node nor a range of nodes", text),
                    fmt::format("0 to {}, such as [0-3, 6]", base_.cluster.num_nodes - 1));
                return {};
            }
            for (std::uint32_t node = range->first; node <= range->second; ++node) {
                if (!owner_[node].empty() || std::ranges::find(nodes, node) != nodes.end()) {
                    reader.complain(
                        "on_nodes",
                        fmt::format("the GPUs of node {} are {} already",
                                    node,
                                    owner_[node].empty() ? std::string{"in this list"}
                                                         : "job " + owner_[node] + "'s"),
                        "a GPU has one job");
                    return {};
                }
                nodes.push_back(node);
            }
        }
        return nodes;
    }

    // Free nodes in the order in which a job takes them: by number, or in turn from each set of
    // leaf switches.
    NodeList free_nodes(JobPlacement placement) const {
        const std::uint32_t all = base_.cluster.num_nodes;
        const std::uint32_t per_set =
            placement == JobPlacement::packed
                ? all
                : std::max(1U, base_.cluster.fabric.nodes_per_leaf_set / base_.cluster.node.trays);
        NodeList nodes;
        for (std::uint32_t place = 0; place < per_set; ++place) {
            for (std::uint32_t node = place; node < all; node += per_set) {
                if (owner_[node].empty()) {
                    nodes.push_back(node);
                }
            }
        }
        return nodes;
    }

    const Catalogue& catalogue_;
    const std::filesystem::path& folder_;
    const Scenario& base_;
    Errors& errors_;
    std::vector<std::string> owner_;  // by node: the job that has it, or empty
    std::vector<std::string> names_;
};

}  // namespace

const KeyTable<ClusterJob> kClusterJobKeys = key_table<ClusterJob>("cluster_job", kClusterJobRows);

void read_jobs(DocumentNode& section,
               const Catalogue& catalogue,
               const std::filesystem::path& folder,
               const Scenario& base,
               std::vector<ClusterJob>& jobs,
               Errors& errors) {
    JobsReader{catalogue, folder, base, errors}.read(section, jobs);
}

}  // namespace orrery
