// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/specs/calibration.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {
namespace {

constexpr const char* kCalibrationSource = "calibration";

EfficiencyParameter calibrated(double value) {
    return {.value = value, .sigma = 0, .source = kCalibrationSource};
}

}  // namespace

const CalibrationFactor& calibration_factor(std::string_view name) {
    const auto found = std::ranges::find(kCalibrationFactors, name, &CalibrationFactor::name);
    ORRERY_CHECK(found != kCalibrationFactors.end());
    return *found;
}

void apply_calibration(const Calibration& calibration, EfficiencyTable& table) {
    const std::string& generation = calibration.generation;
    for (const CalibrationFactor& factor : kCalibrationFactors) {
        table.set(factor.row, generation, "*", calibrated(calibration.*factor.member));
    }
    table.set(kCalibratedStepRow, generation, "*", calibrated(calibration.step.seconds() * 1e6));
    if (calibration.spread > 0) {
        table.set(std::string{kCalibratedSpreadRow} + calibration.software,
                  generation,
                  calibration.precision,
                  calibrated(calibration.spread));
    }
}

double calibrated_factor(const EfficiencyTable& table,
                         const CalibrationFactor& factor,
                         std::string_view generation) {
    return table.value_or(factor.row, generation, "*", 1.0);
}

Time calibrated_step(const EfficiencyTable& table, std::string_view generation) {
    return Time::seconds(table.value_or(kCalibratedStepRow, generation, "*", 0.0) * 1e-6);
}

std::string calibration_text(const Calibration& calibration, const std::string& source) {
    std::string text = fmt::format(
        "# {}\nkind: calibration\n{}software: {}\ngeneration: {}\nprecision: {}\n"
        "steps: {}\n",
        source,
        calibration.name.empty() ? "" : fmt::format("name: {}\n", calibration.name),
        calibration.software,
        calibration.generation,
        calibration.precision,
        calibration.steps);
    for (const CalibrationFactor& factor : kCalibrationFactors) {
        text += fmt::format("{}: {:.4f}\n", factor.name, calibration.*factor.member);
    }
    return text + fmt::format("step: {:.4g} ms\nspread: {:.4f}\n",
                              calibration.step.seconds() * 1e3,
                              calibration.spread);
}

}  // namespace orrery
