// SPDX-License-Identifier: Apache-2.0
// Predicted against measured step times, per case, per family, and overall with equal weights of
// the families, beside a control: one constant MFU per GPU generation and precision
// (scenarios/studies/validate/control.h). The error of a case is predicted / measured - 1. The
// error of a pair of cases of one family is that of the ratio of their times.
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace orrery {

inline constexpr double kQuantile95 = 1.6448536269514722;  // of the standard normal distribution

struct ValidatedCase {
    std::string name;
    std::string family;
    double measured_s = 0;
    double predicted_s = 0;  // simulated step with the median correction (`shift`)
    double control_s = 0;
    std::string stack{};   // software, with its version
    std::string choice{};  // equal for plans of one model, cluster and batch
    std::string model{};
    bool fits = true;   // in the device's memory
    double wall_s = 0;  // wall time of the simulation
    double sigma = 0;   // relative standard deviation of the prediction
    double shift = 0;   // Answer::shift, included in `predicted_s`

    double simulated_s() const { return predicted_s * std::exp(-shift); }
    double error() const { return predicted_s / measured_s - 1; }
    double control_error() const { return control_s / measured_s - 1; }
    // Half width of the 90 % interval of a log-normal: predicted_s is divided and multiplied by 1 +
    // half_width().
    double half_width() const { return std::expm1(kQuantile95 * sigma); }
    bool within() const {
        return std::abs(std::log(predicted_s / measured_s)) <= kQuantile95 * sigma;
    }
};

struct SkippedCase {
    std::string name;
    std::string family;
    std::string reason;
};

// Statistics of absolute errors. Percentiles interpolate between neighbouring values.
struct ErrorSummary {
    std::size_t cases = 0;
    double mean = 0;
    double median = 0;
    double p90 = 0;
    double max = 0;
};

// Least difference in efficiency of a counted pair of cases (one family, one software): the ratio
// of their times differs by 4 % from the control's. A pair in proportion to the control is right in
// every simulator, and versions of one software differ by up to 12 % on one configuration.
inline constexpr double kEfficiencyDiffers = 0.04;
bool efficiencies_differ(const ValidatedCase& a, const ValidatedCase& b);

struct RatioSummary {
    std::size_t pairs = 0;
    double median = 0;  // of the ratio's absolute errors
    double max = 0;
    double control_median = 0;
    double rank_correlation = 0;  // Spearman's, of predicted and measured times; 0 below 3 cases
};

struct FamilySummary {
    std::string family;
    ErrorSummary predicted;
    ErrorSummary control;
    RatioSummary ratios;
    double coverage = 0;  // share of the cases inside their 90 % interval
};

// Kendall's tau of plans by predicted and measured times: pairs in the right order less those in
// the wrong order, over all pairs. Equal measured times form no pair. Equal predicted times count
// as neither right nor wrong.
struct Ranking {
    std::size_t choices = 0;   // with at least two plans
    std::size_t pairs = 0;     // of plans with equal `choice`
    double tau = 0;            // over these pairs
    std::size_t families = 0;  // with pairs of cases of one model, for any GPUs and batch
    double families_tau = 0;   // mean over these families of the tau of such pairs
};

struct Validation {
    std::vector<ValidatedCase> rows;
    std::vector<SkippedCase> skipped;
    std::vector<FamilySummary> families;  // in the order of their first row
    double balanced_error = 0;            // mean of the families' medians
    double control_balanced_error = 0;
    double p90_error = 0;    // over all cases with equal weights
    double ratio_error = 0;  // mean of the medians of the families with counted pairs
    double control_ratio_error = 0;
    std::vector<std::string> assumed_instead;  // COLUMN=VALUE for cases that assume the column
    double coverage = 0;                       // over all cases with equal weights
    double balanced_coverage = 0;              // mean of the families' shares
    double median_half_width = 0;
    Ranking ranking;
};

ErrorSummary summarise(std::vector<double> errors);
double spearman(const std::vector<double>& a, const std::vector<double>& b);

Ranking rank_plans(const std::vector<ValidatedCase>& rows);

// Computes the families, the ranking and the overall errors from the rows.
void summarise_families(Validation& validation);

}  // namespace orrery
