// SPDX-License-Identifier: Apache-2.0
// Fits the facts of a calibration on a few measured steps of one software, and tells by drawn steps
// of published families what that is worth: K steps are given, the others predicted.
//
// The fit is Bayesian: facts are drawn from what is known before (importance sampling, by counter),
// each draw weighs as much as the given steps are likely under it, and a prediction is the mean of
// the draws' logarithms. Errors of steps and of facts have Student's t distribution of three
// degrees of freedom, so that one odd step, or one fact that is far off, does not spoil the rest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scenarios/studies/validate/step_response.h"

namespace orrery {

// Relative standard deviation between steps of one software, after what they share: one more thing
// that the given steps tell. Steps of one software whose factors are fitted differ by 5 %
// (step.residual of the catalogue's factors); stacks of the published tables that no factor was
// fitted on differ by 3 to 20 % within a family. Every value is as likely as its double.
inline constexpr double kStepSpreadLeast = 0.03;
inline constexpr double kStepSpreadMost = 0.2;

// What is known of the facts after some steps were measured.
class CalibrationPosterior {
public:
    // At least one step.
    explicit CalibrationPosterior(std::span<const StepResponse* const> steps);

    struct Prediction {
        double seconds = 0;
        double sigma = 0;  // relative standard deviation, of one further step
    };
    Prediction predict(const StepResponse& step) const;
    // The means of the facts (of factors: geometric).
    Calibration mean() const;

private:
    std::vector<Calibration> facts_;
    std::vector<double> weights_;  // add up to 1
    std::int64_t steps_ = 0;
};

// Steps are drawn from each group of a family: one version of a software on one generation of
// devices, for which a calibration is.
struct CalibratedFamily {
    std::string family;
    std::size_t steps = 0;   // of groups that have more than are given; without such it is left out
    std::size_t groups = 0;  // of these
    double before = 0;       // median absolute error, the mean over the draws
    double after = 0;
    double coverage = 0;    // share of the others inside their 90 % interval, mean over the draws
    double half_width = 0;  // of that interval, median
};

struct CalibratedValidation {
    std::size_t given = 0;
    std::size_t draws = 0;
    std::vector<CalibratedFamily> families;
    double before = 0;  // means over the families
    double after = 0;
    double coverage = 0;
    double half_width = 0;
    std::vector<std::string> drawn;  // steps of the first draw, by name, of all groups
};

// `responses` of the rows, `groups` their names. The draws depend on the seed and on the group's
// place alone.
CalibratedValidation validate_calibrated(const std::vector<ValidatedCase>& rows,
                                         const std::vector<StepResponse>& responses,
                                         const std::vector<std::string>& groups,
                                         std::size_t given,
                                         std::size_t draws,
                                         std::uint64_t seed);

// `given` of `steps` numbers, in the order of their draw.
std::vector<std::size_t> drawn_steps(std::size_t steps,
                                     std::size_t given,
                                     std::uint64_t seed,
                                     std::uint64_t group,
                                     std::uint32_t draw);

}  // namespace orrery
