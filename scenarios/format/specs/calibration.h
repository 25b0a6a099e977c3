// SPDX-License-Identifier: Apache-2.0
// Facts about one software on one cluster, fitted to a few measured steps: the ratios of its
// kernel, transfer and host times to the predicted ones, and a constant time of each step. A file
// of kind calibration holds them. The reader and `orrery validate --calibrate-with` share the table
// of facts below. A calibration becomes rows of the table of a step's factors
// (scenarios/catalogue/step_efficiency.csv), which every prediction reads.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/units.h"
#include "kernels/efficiency_table.h"

namespace orrery {

struct Calibration {
    std::string name;
    std::string software;    // the lower-case word of a stack, without its version
    std::string generation;  // of the devices
    std::string precision;   // class of element types: fp16 (includes bf16), fp8, fp32
    std::int64_t steps = 0;  // number of measured steps
    double products = 1;     // time of kernels / predicted time
    double element_wise = 1;
    double communication = 1;
    double host_calls = 1;
    Time step;          // added to every step
    double spread = 0;  // relative standard deviation of the calibrated predictions
};

// A factor of a calibration. Widths are relative to the common factor. They are twice the spread
// that the published tables show within one software, because an unknown stack may differ by more.
//   products       5 %: families of training.csv, by factors fitted on the others (step.residual)
//   element_wise   15 %: the same kernels, fused or not (the two halves of megascale_ablation.csv)
//   communication  25 %: collectives below 1 MiB, by the model (collectives.csv)
//   host_calls     19 %: versions of one framework (host_bound.csv)
struct CalibrationFactor {
    std::string_view name;  // the file's key
    double Calibration::*member;
    std::string_view row;  // of the table of a step's factors
    std::string_view meaning;
    double width;
};
inline constexpr double kFactorLeast = 0.2;
inline constexpr double kFactorMost = 20;
inline constexpr std::array<CalibrationFactor, 4> kCalibrationFactors{
    {{"products",
      &Calibration::products,
      "calibration.products",
      "Time of matrix products and attention / predicted time.",
      0.1},
     {"element_wise",
      &Calibration::element_wise,
      "calibration.element_wise",
      "Time of all other kernels / predicted time.",
      0.3},
     {"communication",
      &Calibration::communication,
      "calibration.communication",
      "Time of a transfer / predicted time.",
      0.5},
     {"host_calls",
      &Calibration::host_calls,
      "calibration.host_calls",
      "Host time of a framework's call / predicted time.",
      0.4}}};
// Rows of the step's constant time and of the spread, which are not factors.
inline constexpr std::string_view kCalibratedStepRow = "calibration.step_us";
// Followed by the software
inline constexpr std::string_view kCalibratedSpreadRow = "calibration.spread.";

// Adds the calibration's rows to a table of factors, for its generation of devices.
void apply_calibration(const Calibration& calibration, EfficiencyTable& table);

// The value for these devices in a table with a calibration.
double calibrated_factor(const EfficiencyTable& table,
                         const CalibrationFactor& factor,
                         std::string_view generation);
const CalibrationFactor& calibration_factor(std::string_view name);
Time calibrated_step(const EfficiencyTable& table, std::string_view generation);

// The file's text; `source` describes its origin.
std::string calibration_text(const Calibration& calibration, const std::string& source);

}  // namespace orrery
