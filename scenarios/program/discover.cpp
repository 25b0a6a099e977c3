// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/discover.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "scenarios/program/common_options.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/facts_report.h"
#include "scenarios/studies/measure/discovery.h"

namespace orrery {
namespace {

std::vector<Fact> facts_of(const Discovery& found) {
    if (found.device == "cuda") {
        return {{"device", "cuda", Unit::words}, {"gpus", found.gpus.size()}};
    }
    return {{"device", "cpu", Unit::words},
            {"cores", found.machine.cores},
            {"gemm_flops_per_s", found.rates.gemm_fp32.per_second(), Unit::number},
            {"memory_bytes_per_s", found.rates.memory.gigabytes_per_second() * 1e9, Unit::number},
            {"message_latency_s", found.rates.message_latency.seconds(), Unit::number},
            {"message_bytes_per_s",
             found.rates.message_bandwidth.gigabytes_per_second() * 1e9,
             Unit::number}};
}

ResultOrErrors<StudyOutput> discover_output(const DiscoverArguments& arguments) {
    Result<Discovery> found = discover(arguments.device, arguments.topology_file);
    if (!found) {
        return unexpected<Errors>(Errors{found.error()});
    }
    const std::vector<Fact> facts = facts_of(*found);
    return StudyOutput{
        .report = facts_report(found->machine.words(), facts),
        .json = facts_json(facts),
        .provenance = provenance_of("discover"),
        .text = arguments.output.empty()
                    ? found->cluster
                    : fmt::format("{}: {}\n", arguments.output, found->machine.words()),
        .product = std::move(found->cluster)};
}

}  // namespace

int discover_command(const DiscoverArguments& arguments) {
    return run_study(arguments, "this machine", "measuring", [&](const auto&) {
        return discover_output(arguments);
    });
}

Command describe_discover() {
    const auto arguments = std::make_shared<DiscoverArguments>();
    return {
        .name = "discover",
        .group = CommandGroup::measure,
        .help = "Write the cluster part of a scenario from this machine: GPUs, or else CPU cores",
        .options = joined(
            {{output_option(arguments->output, "Write the cluster to a file (YAML)"),
              device_option(arguments->device, "cpu or cuda (if not given: GPUs if there are any)"),
              {"--nccl-topology",
               &arguments->topology_file,
               "What NCCL found of the node (NCCL_TOPO_DUMP_FILE)",
               "FILE"}},
             view_options(*arguments, {})}),
        .examples = {"discover --device cpu", "discover -o build/cluster.yaml"},
        .run = [arguments] { return discover_command(*arguments); },
    };
}

}  // namespace orrery
