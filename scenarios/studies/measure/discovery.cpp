// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/discovery.h"

#include <optional>
#include <utility>

#include "scenarios/format/document/yaml_document.h"

namespace orrery {

Result<Discovery> discover(const std::string& device, const std::string& topology_file) {
    if (!device.empty() && device != "cpu" && device != "cuda") {
        return fail("--device", "'" + device + "' is no kind of device", "cpu or cuda");
    }
    Discovery found{.machine = host_machine(), .gpus = {}};
    std::optional<NcclMachine> topology;
    if (!topology_file.empty()) {
        auto read = read_nccl_topology(topology_file);
        if (!read) {
            return unexpected<Error>(read.error());
        }
        topology = *read;
    }
    if (device != "cpu") {
        auto gpus = nvml_gpus();
        if (!gpus) {
            return unexpected<Error>(gpus.error());
        }
        found.gpus = std::move(*gpus);
    }
    if (found.gpus.empty() && device == "cuda") {
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

}  // namespace orrery
