// SPDX-License-Identifier: Apache-2.0
// The catalogue's table of kernel efficiencies (kernel_efficiency.csv) from the catalogue's
// measurements: kernels/fit.h on the devices that the catalogue describes.
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
    // Every row as a fit on the other sources predicts it.
    std::vector<FitResidual> left_out;
};

// `<root>/measurements/*.csv`, by name.
std::vector<std::string> measurement_files(const std::filesystem::path& root);

// Of single kernels timed in these files (columns: measurements/README.md).
ResultOrErrors<KernelFit> fit_kernels(const std::vector<std::string>& files,
                                      const Catalogue& catalogue);

// The file's text, with the command that makes it.
std::string kernel_efficiency_csv(const KernelFit& fit);

}  // namespace orrery
