// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/network.h"

#include <fmt/format.h>

#include <memory>

#include "kernels/profile.h"
#include "network/nccl_topology.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/json_report.h"
#include "scenarios/report/network_report.h"
#include "scenarios/report/perfetto_network.h"
#include "scenarios/report/simgrid_platform.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/studies/network/congestion_study.h"
#include "scenarios/studies/network/network_study.h"

namespace orrery {
namespace {

constexpr std::size_t kSizesMax = 64;

Result<Bytes> parse_size(std::string_view text) {
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    Result<Bytes> size = parse_bytes(text);
    if (!size) {
        Error error = size.error();
        error.where = "--size";
        return unexpected<Error>(std::move(error));
    }
    if (*size <= Bytes{}) {
        return fail("--size", "a size must not be zero");
    }
    return size;
}

Result<void> append_range(std::string_view text, std::vector<Bytes>& sizes) {
    const std::size_t dots = text.find("..");
    const auto first = parse_size(text.substr(0, dots));
    if (!first) {
        return unexpected<Error>(first.error());
    }
    Bytes last = *first;
    if (dots != std::string_view::npos) {
        const auto to = parse_size(text.substr(dots + 2));
        if (!to) {
            return unexpected<Error>(to.error());
        }
        last = *to;
        if (last < *first) {
            return fail("--size", fmt::format("{} ends below where it begins", text), "1MiB..8GiB");
        }
    }
    for (Bytes size = *first; size <= last; size = size * 2) {
        sizes.push_back(size);
    }
    return {};
}

}  // namespace

Result<std::vector<Bytes>> parse_sizes(std::string_view text) {
    std::vector<Bytes> sizes;
    while (true) {
        const std::size_t comma = text.find(',');
        if (const auto added = append_range(text.substr(0, comma), sizes); !added) {
            return unexpected<Error>(added.error());
        }
        if (comma == std::string_view::npos) {
            break;
        }
        text.remove_prefix(comma + 1);
    }
    if (sizes.size() > kSizesMax) {
        return fail("--size", fmt::format("{} sizes", sizes.size()), "at most 64");
    }
    return sizes;
}

namespace {

Result<void> write_topology(const Scenario& scenario, const std::string& file) {
    if (Result<void> one = check_one_kind(scenario, "--export-nccl-topology"); !one) {
        return one;
    }
    return OutputFile::write(file,
                             write_nccl_topology(scenario.cluster.node,
                                                 scenario.cluster.fabric,
                                                 scenario.device.compute_capability,
                                                 pci_of_device(scenario.device.name)));
}

Result<void> write_platform(const Scenario& scenario, const std::string& file) {
    const auto fabric = build_fabric(scenario.cluster);
    if (!fabric) {
        return unexpected<Error>(fabric.error());
    }
    const auto output = OutputFile::open(file);
    if (!output) {
        return unexpected<Error>(output.error());
    }
    if (const auto written = write_simgrid_platform((*output)->stream(), *fabric); !written) {
        return written;
    }
    return (*output)->commit();
}

Result<void> write_exports(const NetworkArguments& arguments, const Scenario& scenario) {
    if (!arguments.topology_file.empty()) {
        if (const auto written = write_topology(scenario, arguments.topology_file); !written) {
            return written;
        }
    }
    if (!arguments.simgrid_file.empty()) {
        return write_platform(scenario, arguments.simgrid_file);
    }
    return {};
}

Provenance made_of(const NetworkArguments& arguments, const Scenario& scenario) {
    Provenance provenance = provenance_of("network", scenario);
    const auto option = [&](const char* name, const std::string& value) {
        if (!value.empty()) {
            provenance.add_option(name, value);
        }
    };
    option("pattern", arguments.pattern);
    option("size", arguments.sizes);
    option("fidelity", arguments.fidelity);
    option("ranks", arguments.ranks == 0 ? "" : std::to_string(arguments.ranks));
    return provenance;
}

// Measures and keeps factors, in place of one pattern.
int store_congestion(const Scenario& scenario, const NetworkArguments& arguments) {
    CongestionRequest request{.ranks = arguments.ranks};
    if (!arguments.sizes.empty()) {
        const auto sizes = parse_sizes(arguments.sizes);
        if (!sizes) {
            return report_error(sizes.error());
        }
        if (sizes->size() < 2 || sizes->back() <= sizes->front()) {
            return report_error({"--size", "factors need a small and a larger size", "2MiB,16MiB"});
        }
        request.small = sizes->front();
        request.large = sizes->back();
    }
    const auto output = OutputFile::open(arguments.store_file);
    if (!output) {
        return report_error(output.error());
    }
    const Result<CongestionStudy> study = measure_congestion(scenario, request);
    if (!study) {
        Error error = study.error();
        error.where = error.where.empty() ? arguments.file : error.where;
        return report_error(error);
    }
    if (const auto written = (*output)->commit(congestion_entry(*study)); !written) {
        return report_error(written.error());
    }
    return print_output(congestion_report(*study));
}

// The transfers of a profile that are of the scenario's device.
ResultOrErrors<std::vector<MeasuredTransfer>> measured_transfers(const std::string& profile,
                                                                 const std::string& device) {
    std::vector<MeasuredTransfer> rows;
    if (profile.empty()) {
        return rows;
    }
    const auto read = read_machine_profile(profile);
    if (!read) {
        return unexpected<Errors>(read.error());
    }
    for (const TransferEntry& entry : read->transfers) {
        if (entry.device == device) {
            rows.push_back(entry.time);
        }
    }
    if (rows.empty()) {
        return unexpected<Errors>({{profile,
                                    fmt::format("has no transfer of the device '{}'", device),
                                    "orrery import nccl-tests makes such a profile"}});
    }
    return rows;
}

ResultOrErrors<StudyOutput> network_output(const NetworkArguments& arguments,
                                           const Scenario& scenario,
                                           const NetworkRequest& request) {
    const auto trace = std::make_shared<NetworkTrace>();
    const Result<NetworkAnswer> answer = study_network(scenario, request, *trace);
    if (!answer) {
        return unexpected<Errors>(Errors{answer.error()});
    }
    return StudyOutput{.report = network_sections(*answer),
                       .json = json_report(*answer),
                       .provenance = made_of(arguments, scenario),
                       .text = network_report(*answer),
                       .write_trace = [trace](const std::string& file) {
                           return write_network_trace(file, *trace);
                       }};
}

}  // namespace

int network_command(const NetworkArguments& arguments) {
    const auto sizes = parse_sizes(arguments.sizes.empty() ? "1MiB..1GiB" : arguments.sizes);
    if (!sizes) {
        return report_error(sizes.error());
    }
    ReadOptions read;
    read.network_only = true;
    read.overrides = arguments.overrides;
    ResultOrErrors<Scenario> scenario = read_scenario(arguments.file, read);
    if (!scenario) {
        return report_errors(scenario.error());
    }
    if (!arguments.fidelity.empty()) {
        const auto fidelity = parse_fidelity(arguments.fidelity);
        if (!fidelity) {
            return report_error(fidelity.error());
        }
        scenario->network = *fidelity;
    }
    note_faults_left_out(*scenario, FaultUser::network);
    if (!arguments.store_file.empty()) {
        return store_congestion(*scenario, arguments);
    }
    if (const auto written = write_exports(arguments, *scenario); !written) {
        return report_error(written.error());
    }
    auto measured = measured_transfers(arguments.profile_file, scenario->device.name);
    if (!measured) {
        return report_errors(measured.error());
    }
    NetworkRequest request{.pattern = arguments.pattern,
                           .sizes = *sizes,
                           .ranks = arguments.ranks,
                           .trace = !arguments.trace_file.empty(),
                           .measured = std::move(*measured)};
    return run_study(
        arguments,
        {.source = arguments.file, .label = "simulating", .study = [&](const auto& progress) {
             request.progress = progress;
             return network_output(arguments, *scenario, request);
         }});
}

Command describe_network() {
    const auto arguments = std::make_shared<NetworkArguments>();
    std::string patterns;
    for (const std::string& pattern : network_patterns()) {
        patterns += (patterns.empty() ? "" : ", ") + pattern;
    }
    const CommandOption store{"--export-congestion",
                              &arguments->store_file,
                              "Measure the congestion control of network.packet on packets, and "
                              "write its factors for network.congestion",
                              "FILE"};
    const CommandOption topology{"--export-nccl-topology",
                                 &arguments->topology_file,
                                 "Write a server as XML for NCCL_TOPO_FILE",
                                 "FILE"};
    return {
        .name = "network",
        .help = "Run a collective or a flow pattern alone on a scenario's network",
        .options = joined(
            {{scenario_option(arguments->file, "a cluster is enough"),
              override_option(arguments->overrides),
              {"--pattern", &arguments->pattern, patterns, "NAME"},
              {"--size",
               &arguments->sizes,
               "Bytes of the vector, or of each flow: 1MiB..1GiB (doubling), 64KiB,1MiB",
               "SIZES"},
              {"--fidelity",
               &arguments->fidelity,
               "analytic, fluid, packet or simgrid, in place of the scenario's",
               "NAME"},
              {"--ranks", &arguments->ranks, "Only the first N ranks", "N", false, 2, 4'000'000},
              {"--profile",
               &arguments->profile_file,
               "Compare with the collectives of a profile, inside a server (import nccl-tests)",
               "FILE"}},
             view_options(*arguments,
                          {.html = kPageHelp,
                           .csv = "Write the times by size as a table",
                           .trace = "Write a Perfetto trace of the last size: flows, and load of "
                                    "links"}),
             {{"--export-simgrid",
               &arguments->simgrid_file,
               "Write the fabric as a platform file of SimGrid",
               "FILE"},
              store,
              topology,
              old_option("--store", "--export-congestion", store),
              old_option("--write-nccl-topology", "--export-nccl-topology", topology)}}),
        .examples = {"network scenarios/network-clos-64.yaml --pattern all_reduce",
                     "network scenarios/network-clos-64.yaml --pattern permutation --size 16MiB"},
        .run = [arguments] { return network_command(*arguments); },
    };
}

}  // namespace orrery
