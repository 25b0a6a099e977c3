// SPDX-License-Identifier: Apache-2.0
// Fits the general efficiency curves to measured kernels: maximum a posteriori in log space, that
// is least squares of log(predicted / measured) with Huber weights, plus a prior on every parameter
// and on one factor a source (machines of one kind differ by 5 %, and so do people's ways of
// measuring), solved by Levenberg-Marquardt with Eigen. Parameters that no row touches follow from
// rules between generations, with a larger sigma. Deterministic.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "kernels/device_spec.h"
#include "kernels/efficiency_table.h"
#include "kernels/measurement.h"

namespace orrery {

struct FitResidual {
    std::string name;
    std::string family;
    std::string source;
    std::string device;
    double measured_seconds = 0;
    double predicted_seconds = 0;  // without the factor of the source
    double error() const { return predicted_seconds / measured_seconds - 1; }
};

struct FitReport {
    EfficiencyTable table;
    std::vector<FitResidual> residuals;            // in the order of the measurements
    std::map<std::string, double> source_factors;  // measured time = factor * curve
};

// Relative errors of one group of residuals, absolute ones sorted for the quantiles.
struct FitSummary {
    std::size_t rows = 0;
    double median_error = 0;  // signed
    double median_absolute_error = 0;
    double p90_absolute_error = 0;
};

FitReport fit_efficiency(const std::vector<Measurement>& rows,
                         const std::map<std::string, DeviceSpec>& devices);

// By family and device: "gemm a100-80g".
std::map<std::string, FitSummary> summarise(const std::vector<FitResidual>& residuals);

// Predictions of a table for rows that it may not have been fitted to.
std::vector<FitResidual> residuals_of(const EfficiencyTable& table,
                                      const std::vector<Measurement>& rows,
                                      const std::map<std::string, DeviceSpec>& devices);

}  // namespace orrery
