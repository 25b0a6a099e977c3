// SPDX-License-Identifier: Apache-2.0
// The control of a validation: one constant MFU per GPU generation and precision, the one with the
// smallest balanced error on the published rows that ship with the catalogue. A simulator that does
// not clearly beat this has said nothing. MFU counts full attention (models/plan/flops.h).
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
    // Fits the constants to the rows. For a class without rows the mean of all constants stands in.
    explicit Control(const std::vector<MeasuredScenario>& rows);

    double predicted_s(const Scenario& scenario) const;
    // "ampere bf16" -> MFU
    const std::map<std::string, double>& constants() const { return mfu_; }

private:
    std::map<std::string, double> mfu_;
    double otherwise_ = 0.4;
};

}  // namespace orrery
