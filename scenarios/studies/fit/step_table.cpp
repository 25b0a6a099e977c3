// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/step_table.h"

#include <fmt/format.h>

#include "scenarios/format/provenance/fingerprint.h"

namespace orrery {

StepTableInputs catalogue_inputs(const std::filesystem::path& root) {
    const std::filesystem::path published = root / "published";
    return {.steps = published / "training.csv",
            .unseen = published / "training_more.csv",
            .experts = published / "training_moe.csv",
            .host_bound = published / "host_bound.csv",
            .kernels = root / "kernel_efficiency.csv"};
}

std::string fingerprints(const StepTableInputs& inputs) {
    std::string text;
    for (const auto& file :
         {inputs.steps, inputs.unseen, inputs.experts, inputs.host_bound, inputs.kernels}) {
        text += fmt::format("{} {}\n", file.filename().string(), file_fingerprint(file));
    }
    return text;
}

std::string step_efficiency_csv(const EfficiencyTable& table,
                                const std::string& command,
                                const StepTableInputs& inputs) {
    return efficiency_table_csv(
        table,
        fmt::format(
            "General factors of a training step (scenarios/studies/simulate/step_efficiency.h), "
            "fitted on measured\n"
            "steps by: orrery {}\n"
            "Do not edit: fit again. Made from these files (128 bits of FNV-1a):\n{}",
            command,
            fingerprints(inputs)));
}

}  // namespace orrery
