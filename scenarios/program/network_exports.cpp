// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "network/nccl/nccl_topology.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/program/network.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/report/trace/simgrid_platform.h"
#include "scenarios/studies/network/congestion_study.h"
#include "scenarios/studies/network/size_list.h"

namespace orrery {
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

}  // namespace

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

namespace {

Result<CongestionRequest> congestion_request(const NetworkArguments& arguments) {
    CongestionRequest request{.ranks = arguments.ranks};
    if (arguments.sizes.empty()) {
        return request;
    }
    const auto sizes = parse_sizes(arguments.sizes);
    if (!sizes) {
        return unexpected<Error>(sizes.error());
    }
    if (sizes->size() < 2 || sizes->back() <= sizes->front()) {
        return fail("--size", "factors need a small and a larger size", "2MiB,16MiB");
    }
    request.small = sizes->front();
    request.large = sizes->back();
    return request;
}

ResultOrErrors<StudyOutput> congestion_output(const NetworkArguments& arguments,
                                              const Scenario& scenario) {
    const auto give_up = [](const Error& error) { return unexpected<Errors>(Errors{error}); };
    const Result<CongestionRequest> request = congestion_request(arguments);
    if (!request) {
        return give_up(request.error());
    }
    const auto output = OutputFile::open(arguments.store_file);
    if (!output) {
        return give_up(output.error());
    }
    const Result<CongestionStudy> study = measure_congestion(scenario, *request);
    if (!study) {
        return give_up(study.error());
    }
    if (const auto written = (*output)->commit(congestion_entry(*study)); !written) {
        return give_up(written.error());
    }
    return StudyOutput{.report = congestion_sections(*study),
                       .json = congestion_json(*study),
                       .provenance = provenance_of("network", scenario)};
}

}  // namespace

int export_congestion(const NetworkArguments& arguments, const Scenario& scenario) {
    return run_study(arguments, arguments.file, "measuring", [&](const auto&) {
        return congestion_output(arguments, scenario);
    });
}

}  // namespace orrery
