// SPDX-License-Identifier: Apache-2.0
// Fits the general efficiency curves to measured kernels. It is a maximum a posteriori fit in log
// space: least squares of log(predicted / measured) with Huber weights, plus a prior on every
// parameter and on one factor per source (machines of one kind, and methods of measurement, differ
// by 5 %). Eigen's Levenberg-Marquardt solves it. Parameters without rows follow from rules between
// generations, with a larger sigma. Deterministic.
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
    double predicted_seconds = 0;  // without the source's factor
    double error() const { return predicted_seconds / measured_seconds - 1; }
};

struct FitReport {
    EfficiencyTable table;
    std::vector<FitResidual> residuals;            // in the order of the measurements
    std::map<std::string, double> source_factors;  // measured time = factor * curve
};

// Relative errors of one group of residuals.
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

// The predictions of a table for rows that need not be those of its fit.
std::vector<FitResidual> residuals_of(const EfficiencyTable& table,
                                      const std::vector<Measurement>& rows,
                                      const std::map<std::string, DeviceSpec>& devices);

}  // namespace orrery
