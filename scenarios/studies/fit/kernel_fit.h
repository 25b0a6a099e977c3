// SPDX-License-Identifier: Apache-2.0
// Fits the catalogue's table of kernel efficiencies (kernel_efficiency.csv) on the catalogue's
// measurements: kernels/fit.h with the devices of the catalogue.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "kernels/fit.h"
#include "scenarios/format/catalogue/catalogue.h"

namespace orrery {

struct KernelFit {
    FitReport report;
    // Every row, predicted by a fit on the other sources.
    std::vector<FitResidual> left_out;
};

// `<root>/measurements/*.csv`, sorted by name.
std::vector<std::string> measurement_files(const std::filesystem::path& root);

// Fits single kernels timed in these files (columns: measurements/README.md).
ResultOrErrors<KernelFit> fit_kernels(const std::vector<std::string>& files,
                                      const Catalogue& catalogue);

// Text of the file, with the command that makes it.
std::string kernel_efficiency_csv(const KernelFit& fit);

}  // namespace orrery
