// SPDX-License-Identifier: Apache-2.0
// `orrery fit CASES.csv -o FILE`: fits the general factors of a training step (step_efficiency.h)
// on measured steps and writes the catalogue's table. Prints the residuals by family, and what they
// are when each family is predicted by factors fitted without it. `--floor` tells as well what
// factors could do at most for the ratios of steps (scenarios/studies/validate/ratio_floor.h).
// `orrery fit --kernels -o FILE`: fits the efficiency curves of kernels on the catalogue's
// measurements of kernels alone (scenarios/studies/validate/kernel_fit.h).
#pragma once

#include <cstdint>
#include <string>

#include "scenarios/program/command.h"

namespace orrery {

struct FitArguments {
    std::string file;
    std::string output;      // empty: only print
    std::string host_bound;  // steps that host.call is fitted on; empty: the catalogue's
    std::string unseen;      // steps of software that no case ran on; empty: the catalogue's
    bool floor = false;
    bool kernels = false;    // `file`: measurements of kernels; empty: the catalogue's
    std::uint32_t jobs = 0;  // threads; 0: one a core. The table does not depend on them
};

// Returns the exit status.
int fit_command(const FitArguments& arguments);

Command describe_fit();

}  // namespace orrery
