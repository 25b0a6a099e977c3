// SPDX-License-Identifier: Apache-2.0
// Predicted against measured step times, per case, per family, and overall with every family
// weighing the same, beside a control: one constant MFU per GPU generation and precision
// (scenarios/studies/validate/control.h). The error of a case is predicted / measured - 1. For
// pairs of cases of one family the error is that of the ratio of their times.
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace orrery {

inline constexpr double kQuantile95 = 1.6448536269514722;  // of the standard normal

struct ValidatedCase {
    std::string name;
    std::string family;
    double measured_s = 0;
    double predicted_s = 0;  // that steps which lack as much took in the median
    double control_s = 0;
    std::string stack{};   // software that ran
    std::string choice{};  // cases with the same one are plans for one model, cluster and batch
    std::string model{};
    bool fits = true;   // in the memory that the device has
    double wall_s = 0;  // that the simulation took
    double sigma = 0;   // relative standard deviation of the prediction
    double shift = 0;   // Answer::shift, which `predicted_s` contains

    double simulated_s() const { return predicted_s * std::exp(-shift); }
    double error() const { return predicted_s / measured_s - 1; }
    double control_error() const { return control_s / measured_s - 1; }
    // The interval that holds 90 % of a log-normal: predicted_s divided and multiplied by
    // 1 + half_width().
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

// Of absolute errors. Percentiles interpolate between the neighbouring values.
struct ErrorSummary {
    std::size_t cases = 0;
    double mean = 0;
    double median = 0;
    double p90 = 0;
    double max = 0;
};

// Pairs of cases of a family, run by the same software, whose efficiencies differ: the ratio of
// their times is 4 % or more from what the control's constant MFU says. (Of pairs in proportion
// every simulator is right; versions of one software differ by up to 12 % on one configuration.)
inline constexpr double kEfficiencyDiffers = 0.04;
bool efficiencies_differ(const ValidatedCase& a, const ValidatedCase& b);

struct RatioSummary {
    std::size_t pairs = 0;
    double median = 0;  // absolute error of the ratio
    double max = 0;
    double control_median = 0;
    double rank_correlation = 0;  // Spearman's, of predicted and measured times; 0 below 3 cases
};

struct FamilySummary {
    std::string family;
    ErrorSummary predicted;
    ErrorSummary control;
    RatioSummary ratios;
    double coverage = 0;  // share of the cases that lie within their 90 % interval
};

// Are plans put in the order of their measured times? Kendall's tau: pairs in the right order less
// those in the wrong one, over all. Equal measured times are no pair, equal predicted ones neither
// right nor wrong.
struct Ranking {
    std::size_t choices = 0;   // with two plans or more
    std::size_t pairs = 0;     // of plans with one `choice`
    double tau = 0;            // over these
    std::size_t families = 0;  // that have pairs of cases of one model, whatever its GPUs and batch
    double families_tau = 0;   // over a family's such pairs, in the mean of these families
};

struct Validation {
    std::vector<ValidatedCase> rows;
    std::vector<SkippedCase> skipped;
    std::vector<FamilySummary> families;  // in the order of their first row
    double balanced_error = 0;            // mean of the families' medians
    double control_balanced_error = 0;
    double p90_error = 0;    // of all cases, every one weighing the same
    double ratio_error = 0;  // mean of the medians of the families that have such pairs
    double control_ratio_error = 0;
    std::vector<std::string> assumed_instead;  // COLUMN=VALUE, where cases do not state it
    double coverage = 0;                       // of all cases, every one weighing the same
    double balanced_coverage = 0;              // mean of the families' shares
    double median_half_width = 0;
    Ranking ranking;
};

ErrorSummary summarise(std::vector<double> errors);
double spearman(const std::vector<double>& a, const std::vector<double>& b);

Ranking rank_plans(const std::vector<ValidatedCase>& rows);

// Fills families, the ranking and the overall errors from the rows.
void summarise_families(Validation& validation);

}  // namespace orrery
