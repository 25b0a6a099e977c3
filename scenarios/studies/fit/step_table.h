// SPDX-License-Identifier: Apache-2.0
// The catalogue's table of a step's general factors (step_efficiency.csv) as text: the factors, the
// command that makes them, and fingerprints of the files that they were made from.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/efficiency_table.h"

namespace orrery {

struct StepTableInputs {
    std::filesystem::path steps;                // steps on which the factors were fitted
    std::vector<std::filesystem::path> unseen;  // steps of other software
    std::filesystem::path experts;              // steps of models with experts
    std::filesystem::path host_bound;           // steps for the cost of a framework's calls
    std::filesystem::path kernels;              // table of kernel efficiencies below the factors
};

// The files of the catalogue.
StepTableInputs catalogue_inputs(const std::filesystem::path& root);

// One line for each input: "training.csv 0123456789abcdef0123456789abcdef". A table with other
// lines was made from other files.
std::string fingerprints(const StepTableInputs& inputs);

// Text of the file. `command` is the command line without the program: "fit steps.csv -o FILE".
std::string step_efficiency_csv(const EfficiencyTable& table,
                                const std::string& command,
                                const StepTableInputs& inputs);

}  // namespace orrery
