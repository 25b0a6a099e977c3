// SPDX-License-Identifier: Apache-2.0
// Fits the facts of a calibration on a few measured steps of one software, and measures on
// published families how much K given steps improve the predictions of the others.
//
// The fit is Bayesian. Facts are drawn from their prior (importance sampling with a counter-based
// generator), and a draw's weight is the likelihood of the given steps under it. A prediction is
// the weighted mean of the draws' logarithms. Errors of steps and of facts have Student's t
// distribution with three degrees of freedom: one outlying step or fact does not spoil the rest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scenarios/studies/validate/step_response.h"

namespace orrery {

// Relative standard deviation between steps of one software after their shared facts; it is drawn
// like a fact. Steps of software with fitted factors differ by 5 % (step.residual of the
// catalogue's factors). Published stacks without fitted factors differ by 3 to 20 % within a
// family. The prior is uniform in the logarithm.
inline constexpr double kStepSpreadLeast = 0.03;
inline constexpr double kStepSpreadMost = 0.2;

// Posterior distribution of the facts after some measured steps.
class CalibrationPosterior {
public:
    // `steps` has at least one step.
    explicit CalibrationPosterior(std::span<const StepResponse* const> steps);

    struct Prediction {
        double seconds = 0;
        double sigma = 0;  // relative standard deviation of one further step
    };
    Prediction predict(const StepResponse& step) const;
    // Posterior means; of factors the geometric mean.
    Calibration mean() const;

private:
    std::vector<Calibration> facts_;
    std::vector<double> weights_;  // sum to 1
    std::int64_t steps_ = 0;
};

// Errors of a family. The given steps are drawn from each of its groups: one version of a software
// on one generation of devices.
struct CalibratedFamily {
    std::string family;
    // Of the groups that have more steps than are given. A family without such groups is left out.
    std::size_t steps = 0;
    std::size_t groups = 0;
    double before = 0;  // median absolute error without a calibration, mean over the draws
    double after = 0;
    double coverage = 0;    // share of other steps inside their 90 % interval, mean over the draws
    double half_width = 0;  // median half width of that interval
};

struct CalibratedValidation {
    std::size_t given = 0;
    std::size_t draws = 0;
    std::vector<CalibratedFamily> families;
    double before = 0;  // this and the next three: means over the families
    double after = 0;
    double coverage = 0;
    double half_width = 0;
    std::vector<std::string> drawn;  // names of the steps of the first draw, over all groups
};

// `responses` and `groups` (names) are indexed like `rows`. The draws depend only on the seed and
// on the position of a group's first row.
CalibratedValidation validate_calibrated(const std::vector<ValidatedCase>& rows,
                                         const std::vector<StepResponse>& responses,
                                         const std::vector<std::string>& groups,
                                         std::size_t given,
                                         std::size_t draws,
                                         std::uint64_t seed);

// `given` different numbers below `steps`, in the order of the draw.
std::vector<std::size_t> drawn_steps(std::size_t steps,
                                     std::size_t given,
                                     std::uint64_t seed,
                                     std::uint64_t group,
                                     std::uint32_t draw);

}  // namespace orrery
