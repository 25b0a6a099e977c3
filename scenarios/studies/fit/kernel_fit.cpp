// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/kernel_fit.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <system_error>

#include "kernels/range_fit.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

constexpr double kDistanceSigma = 0.3;  // of a spread over half a dozen regions
constexpr const char* kKernelTableComment =
    "Parameters of the efficiency curves (kernels/efficiency.h), fitted (kernels/fit.h) on the\n"
    "tables in measurements/ by: orrery fit --kernels -o "
    "scenarios/catalogue/kernel_efficiency.csv\n"
    "sigma is relative. Do not edit: change the measurements or kernels/fit_parameters.cpp and fit "
    "again.";

ResultOrErrors<std::map<std::string, DeviceSpec>> catalogue_devices(const Catalogue& catalogue) {
    std::map<std::string, DeviceSpec> devices;
    Errors errors;
    for (const std::string& name : catalogue.names("devices")) {
        DocumentNode named;
        named.kind = DocumentNode::Kind::scalar;
        named.text = name;
        named.source = std::make_shared<const std::string>("the catalogue's devices");
        const DocumentNode map = catalogue.resolve(named, "devices", "devices." + name, errors);
        if (errors.empty()) {
            read_device(map, "devices." + name, devices[name], errors);
        }
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return devices;
}

}  // namespace

std::vector<std::string> measurement_files(const std::filesystem::path& root) {
    std::vector<std::string> files;
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator{root / "measurements", missing}) {
        if (entry.path().extension() == ".csv") {
            files.push_back(entry.path().string());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

ResultOrErrors<KernelFit> fit_kernels(const std::vector<std::string>& files,
                                      const Catalogue& catalogue) {
    const auto devices = catalogue_devices(catalogue);
    if (!devices) {
        return unexpected<Errors>(devices.error());
    }
    std::vector<Measurement> rows;
    for (const std::string& file : files) {
        auto read = read_measurements(file, *devices);
        if (!read) {
            return unexpected<Errors>(read.error());
        }
        std::move(read->begin(), read->end(), std::back_inserter(rows));
    }
    KernelFit fit{.report = fit_efficiency(rows, *devices), .left_out = {}};
    fit.report.table.set("gemm.residual_per_octave",
                         "*",
                         "*",
                         {.value = residual_per_octave(rows, *devices, fit.report.table),
                          .sigma = kDistanceSigma,
                          .source = "fit: regions of shapes left out"});
    std::set<std::string> sources;
    for (const Measurement& row : rows) {
        sources.insert(row.source);
    }
    for (const std::string& source : sources) {
        std::vector<Measurement> others;
        std::vector<Measurement> own;
        for (const Measurement& row : rows) {
            (row.source == source ? own : others).push_back(row);
        }
        const EfficiencyTable table = fit_efficiency(others, *devices).table;
        auto residuals = residuals_of(table, own, *devices);
        std::move(residuals.begin(), residuals.end(), std::back_inserter(fit.left_out));
    }
    return fit;
}

std::string kernel_efficiency_csv(const KernelFit& fit) {
    return efficiency_table_csv(fit.report.table, kKernelTableComment);
}

}  // namespace orrery
