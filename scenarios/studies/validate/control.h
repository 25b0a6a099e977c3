// SPDX-License-Identifier: Apache-2.0
// The control of a validation: one constant MFU per GPU generation and precision, the one with the
// smallest balanced error on the published rows of the catalogue. A useful simulator must clearly
// beat it. MFU counts full attention (models/plan/flops.h).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct MeasuredScenario {
    Scenario scenario;
    std::string family;
    double measured_s = 0;
};

class Control {
public:
    // Fits the constants to the rows. A class without rows gets the mean of all constants.
    explicit Control(const std::vector<MeasuredScenario>& rows);

    double predicted_s(const Scenario& scenario) const;
    // MFU by class: "ampere bf16".
    const std::map<std::string, double>& constants() const { return mfu_; }

private:
    std::map<std::string, double> mfu_;
    double otherwise_ = 0.4;
};

}  // namespace orrery
