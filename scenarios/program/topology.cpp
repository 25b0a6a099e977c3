// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/program/any_scenario.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/unread_keys.h"
#include "scenarios/report/topology_report.h"

namespace orrery {
namespace {

constexpr std::int64_t kNoRank = -1;
constexpr std::int64_t kMostRanks = 10'000'000;

struct TopologyArguments : ViewArguments {
    std::string file;
    std::vector<std::string> overrides;
    std::int64_t from = kNoRank;
    std::int64_t to = kNoRank;
};

KeyUses keys_of_topology() {
    return {{"kind"}, {"name"}, {"cluster"}, {"software"}, {"stack"}, {"model"}, {"plan"}};
}

using RankPair = std::pair<std::uint32_t, std::uint32_t>;

// One end alone is taken with rank 0.
std::optional<RankPair> ends_of(const TopologyArguments& arguments) {
    if (arguments.from == kNoRank && arguments.to == kNoRank) {
        return {};
    }
    const auto rank = [](std::int64_t end) {
        return end == kNoRank ? 0U : static_cast<std::uint32_t>(end);
    };
    return RankPair{rank(arguments.from), rank(arguments.to)};
}

ResultOrErrors<StudyOutput> topology_output(const TopologyArguments& arguments) {
    const ResultOrErrors<Scenario> scenario =
        read_any_scenario(arguments.file, arguments.overrides);
    if (!scenario) {
        return unexpected<Errors>(scenario.error());
    }
    const auto ends = ends_of(arguments);
    const Result<Topology> topology = topology_of(*scenario, ends);
    if (!topology) {
        return unexpected<Errors>(Errors{topology.error()});
    }
    StudyOutput output{.report = topology_sections(*topology),
                       .json = topology_json(*topology),
                       .provenance = provenance_of("topology", *scenario)};
    if (ends) {
        output.provenance.add_option("from-rank", std::to_string(ends->first));
        output.provenance.add_option("to-rank", std::to_string(ends->second));
    }
    return output;
}

}  // namespace

Command describe_topology() {
    const auto arguments = std::make_shared<TopologyArguments>();
    return {
        .name = "topology",
        .group = CommandGroup::scenarios,
        .help = "Say how a scenario's cluster is wired, and where a plan's groups are on it",
        .options = joined(
            {{{"file", &arguments->file, "Scenario file; '-' is standard input", "FILE", true},
              override_option(arguments->overrides, keys_of_topology()),
              {"--from-rank",
               &arguments->from,
               "Show the path from this rank",
               "RANK",
               false,
               0,
               kMostRanks},
              {"--to-rank",
               &arguments->to,
               "Show the path to this rank",
               "RANK",
               false,
               0,
               kMostRanks}},
             view_options(*arguments, {.html = kPageHelp, .csv = "Write the tiers as a table"})}),
        .examples = {"topology scenarios/network-clos-64.yaml",
                     "topology scenarios/llama3-70b-h100.yaml --from-rank 0 --to-rank 32"},
        .run =
            [arguments] {
                return run_study(*arguments, arguments->file, "reading", [&](const auto&) {
                    return topology_output(*arguments);
                });
            },
    };
}

}  // namespace orrery
