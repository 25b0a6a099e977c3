// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/discover.h"

#include <fmt/format.h>

#include <memory>

#include "scenarios/format/document/output_file.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/studies/measure/discovered_cluster.h"

namespace orrery {
namespace {

struct Discovery {
    HostMachine machine;
    std::vector<NvmlGpu> gpus;
    std::string device = "cpu";
    MachineRates rates;
    std::string cluster;  // YAML
};

Result<Discovery> discover(const DiscoverArguments& arguments) {
    if (!arguments.device.empty() && arguments.device != "cpu" && arguments.device != "cuda") {
        return fail("--device", "'" + arguments.device + "' is no kind of device", "cpu or cuda");
    }
    Discovery found{.machine = host_machine(), .gpus = {}};
    std::optional<NcclMachine> topology;
    if (!arguments.topology_file.empty()) {
        auto read = read_nccl_topology(arguments.topology_file);
        if (!read) {
            return unexpected<Error>(read.error());
        }
        topology = *read;
    }
    if (arguments.device != "cpu") {
        auto gpus = nvml_gpus();
        if (!gpus) {
            return unexpected<Error>(gpus.error());
        }
        found.gpus = std::move(*gpus);
    }
    if (found.gpus.empty() && arguments.device == "cuda") {
        return fail("--device cuda",
                    "NVIDIA's management library finds no GPU here",
                    "a machine with a GPU and its driver, or --device cpu");
    }
    if (!found.gpus.empty()) {
        found.device = "cuda";
        auto cluster = gpu_cluster(found.gpus, topology);
        if (!cluster) {
            return unexpected<Error>(cluster.error());
        }
        found.cluster = to_yaml(*cluster);
        return found;
    }
    const Result<MachineRates> rates = probe_machine();
    if (!rates) {
        return unexpected<Error>(rates.error());
    }
    found.rates = *rates;
    found.cluster = to_yaml(cpu_cluster(found.machine, found.rates));
    return found;
}

std::string json_of(const Discovery& found) {
    if (found.device == "cuda") {
        return fmt::format("{{\"device\": \"cuda\", \"gpus\": {}}}\n", found.gpus.size());
    }
    return fmt::format(
        "{{\"device\": \"cpu\", \"cores\": {}, \"gemm_flops_per_s\": {:.6g}, "
        "\"memory_bytes_per_s\": {:.6g}, \"message_latency_s\": {:.6g}, "
        "\"message_bytes_per_s\": {:.6g}}}\n",
        found.machine.cores,
        found.rates.gemm_fp32.per_second(),
        found.rates.memory.gigabytes_per_second() * 1e9,
        found.rates.message_latency.seconds(),
        found.rates.message_bandwidth.gigabytes_per_second() * 1e9);
}

}  // namespace

int discover_command(const DiscoverArguments& arguments) {
    const auto output = OutputFile::open_if_named(arguments.output);
    if (!output) {
        return report_error(output.error());
    }
    const Result<Discovery> found = discover(arguments);
    if (!found) {
        return report_error(found.error());
    }
    if (*output) {
        if (const Result<void> written = (*output)->commit(found->cluster); !written) {
            return report_error(written.error());
        }
    }
    if (arguments.json) {
        return print_output(with_provenance(json_of(*found), provenance_of("discover")));
    }
    return print_output(*output ? fmt::format("{}: {}\n", arguments.output, found->machine.words())
                                : found->cluster);
}

Command describe_discover() {
    const auto arguments = std::make_shared<DiscoverArguments>();
    return {
        .name = "discover",
        .help = "Write the cluster part of a scenario from this machine: GPUs, or else CPU cores",
        .options = {{"-o,--output", &arguments->output, "File to write (YAML)", "FILE"},
                    device_option(arguments->device,
                                  "cpu or cuda (if not given: GPUs if there are any)"),
                    {"--nccl-topology",
                     &arguments->topology_file,
                     "What NCCL found of the node (NCCL_TOPO_DUMP_FILE)",
                     "FILE"},
                    {"--json", &arguments->json, "Print one JSON object of what was measured"}},
        .examples = {"discover --device cpu", "discover -o build/cluster.yaml"},
        .run = [arguments] { return discover_command(*arguments); },
    };
}

}  // namespace orrery
