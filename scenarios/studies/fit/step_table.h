// SPDX-License-Identifier: Apache-2.0
// The catalogue's table of a step's general factors (step_efficiency.csv) as text: the factors, the
// command that makes them, and fingerprints of the files that they were made from.
#pragma once

#include <filesystem>
#include <string>

#include "kernels/efficiency_table.h"

namespace orrery {

struct StepTableInputs {
    std::filesystem::path steps;       // the factors were fitted on
    std::filesystem::path unseen;      // of other software
    std::filesystem::path experts;     // of models with experts
    std::filesystem::path host_bound;  // for the cost of a framework's calls
    std::filesystem::path kernels;     // the table of kernel efficiencies under the factors
};

// The files that ship with the catalogue.
StepTableInputs catalogue_inputs(const std::filesystem::path& root);

// One line an input: "training.csv 0123456789abcdef0123456789abcdef". A table whose lines differ
// was made from other files.
std::string fingerprints(const StepTableInputs& inputs);

// The file's text. `command`: what to type, without the program: "fit steps.csv -o FILE".
std::string step_efficiency_csv(const EfficiencyTable& table,
                                const std::string& command,
                                const StepTableInputs& inputs);

}  // namespace orrery
