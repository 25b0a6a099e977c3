// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/validation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "engine/base/statistics.h"

namespace orrery {
namespace {

// 1-based ranks; equal values share the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return values[a] < values[b];
    });
    std::vector<double> ranks(values.size());
    for (std::size_t first = 0; first < order.size();) {
        std::size_t last = first;
        while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) {
            ++last;
        }
        for (std::size_t i = first; i <= last; ++i) {
            ranks[order[i]] = static_cast<double>(first + last) / 2 + 1;
        }
        first = last + 1;
    }
    return ranks;
}

// Ratio of two cases' times under the control, over the measured ratio.
double off_proportion(const ValidatedCase& a, const ValidatedCase& b) {
    return (1 + a.control_error()) / (1 + b.control_error());
}

RatioSummary summarise_ratios(const std::vector<const ValidatedCase*>& cases) {
    RatioSummary summary;
    std::vector<double> errors;
    std::vector<double> control;
    std::vector<double> measured;
    std::vector<double> predicted;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        measured.push_back(cases[i]->measured_s);
        predicted.push_back(cases[i]->predicted_s);
        for (std::size_t j = i + 1; j < cases.size(); ++j) {
            const double off = (1 + cases[i]->error()) / (1 + cases[j]->error());
            if (efficiencies_differ(*cases[i], *cases[j])) {
                errors.push_back(std::abs(off - 1));
                control.push_back(std::abs(off_proportion(*cases[i], *cases[j]) - 1));
            }
        }
    }
    summary.pairs = errors.size();
    const ErrorSummary all = summarise(std::move(errors));
    summary.median = all.median;
    summary.max = all.max;
    summary.control_median = summarise(std::move(control)).median;
    summary.rank_correlation = cases.size() < 3 ? 0 : spearman(measured, predicted);
    return summary;
}

// Number of pairs of cases, and the pairs in the right order less those in the wrong order.
struct FamilyOrder {
    std::size_t pairs = 0;
    std::int64_t right = 0;

    bool add(const ValidatedCase& a, const ValidatedCase& b) {
        const double measured = a.measured_s - b.measured_s;
        const double predicted = a.predicted_s - b.predicted_s;
        if (measured == 0) {
            return false;
        }
        ++pairs;
        right += predicted == 0 ? 0 : (measured > 0) == (predicted > 0) ? 1 : -1;
        return true;
    }
    double tau() const {
        return pairs == 0 ? 0 : static_cast<double>(right) / static_cast<double>(pairs);
    }
};

void summarise_all_ratios(Validation& validation) {
    double predicted = 0;
    double control = 0;
    double families = 0;
    for (const FamilySummary& family : validation.families) {
        if (family.ratios.pairs > 0) {
            predicted += family.ratios.median;
            control += family.ratios.control_median;
            ++families;
        }
    }
    validation.ratio_error = families > 0 ? predicted / families : 0;
    validation.control_ratio_error = families > 0 ? control / families : 0;
}

}  // namespace

bool efficiencies_differ(const ValidatedCase& a, const ValidatedCase& b) {
    return a.family == b.family && a.stack == b.stack &&
           std::abs(std::log(off_proportion(a, b))) >= std::log1p(kEfficiencyDiffers);
}

ErrorSummary summarise(std::vector<double> errors) {
    ErrorSummary summary;
    if (errors.empty()) {
        return summary;
    }
    std::sort(errors.begin(), errors.end());
    summary.cases = errors.size();
    summary.mean =
        std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
    summary.median = quantile(errors, 0.5);
    summary.p90 = quantile(errors, 0.9);
    summary.max = errors.back();
    return summary;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
    const std::vector<double> ranks_a = ranks_of(a);
    const std::vector<double> ranks_b = ranks_of(b);
    const double mean = (static_cast<double>(a.size()) + 1) / 2;
    double covariance = 0;
    double variance_a = 0;
    double variance_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        covariance += (ranks_a[i] - mean) * (ranks_b[i] - mean);
        variance_a += (ranks_a[i] - mean) * (ranks_a[i] - mean);
        variance_b += (ranks_b[i] - mean) * (ranks_b[i] - mean);
    }
    const double scale = std::sqrt(variance_a * variance_b);
    return scale > 0 ? covariance / scale : 0;
}

Ranking rank_plans(const std::vector<ValidatedCase>& rows) {
    std::set<std::string> choices;
    FamilyOrder of_choices;
    std::map<std::string, FamilyOrder> families;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const ValidatedCase& a = rows[i];
            const ValidatedCase& b = rows[j];
            if (!a.choice.empty() && a.choice == b.choice && of_choices.add(a, b)) {
                choices.insert(a.choice);
            }
            if (!a.model.empty() && a.model == b.model && a.family == b.family) {
                families[a.family].add(a, b);
            }
        }
    }
    Ranking ranking{.choices = choices.size(), .pairs = of_choices.pairs, .tau = of_choices.tau()};
    for (const auto& [family, order] : families) {
        ranking.families += order.pairs > 0 ? 1 : 0;
        ranking.families_tau += order.tau();
    }
    ranking.families_tau /= static_cast<double>(std::max<std::size_t>(1, ranking.families));
    return ranking;
}

void summarise_families(Validation& validation) {
    std::vector<std::string> names;
    for (const ValidatedCase& row : validation.rows) {
        if (std::find(names.begin(), names.end(), row.family) == names.end()) {
            names.push_back(row.family);
        }
    }
    validation.families.clear();
    double predicted_sum = 0;
    double control_sum = 0;
    validation.balanced_coverage = 0;
    for (const std::string& name : names) {
        std::vector<const ValidatedCase*> cases;
        std::vector<double> predicted;
        std::vector<double> control;
        double within = 0;
        for (const ValidatedCase& row : validation.rows) {
            if (row.family == name) {
                within += row.within() ? 1 : 0;
                cases.push_back(&row);
                predicted.push_back(std::abs(row.error()));
                control.push_back(std::abs(row.control_error()));
            }
        }
        validation.families.push_back({.family = name,
                                       .predicted = summarise(std::move(predicted)),
                                       .control = summarise(std::move(control)),
                                       .ratios = summarise_ratios(cases),
                                       .coverage = within / static_cast<double>(cases.size())});
        validation.balanced_coverage += validation.families.back().coverage;
        predicted_sum += validation.families.back().predicted.median;
        control_sum += validation.families.back().control.median;
    }
    const auto count = static_cast<double>(std::max<std::size_t>(1, names.size()));
    validation.balanced_error = predicted_sum / count;
    validation.control_balanced_error = control_sum / count;
    validation.balanced_coverage /= count;
    summarise_all_ratios(validation);
    std::vector<double> widths;
    std::vector<double> errors;
    validation.coverage = 0;
    for (const ValidatedCase& row : validation.rows) {
        errors.push_back(std::abs(row.error()));
        widths.push_back(row.half_width());
        validation.coverage += row.within() ? 1.0 / static_cast<double>(validation.rows.size()) : 0;
    }
    validation.median_half_width = summarise(std::move(widths)).median;
    validation.p90_error = summarise(std::move(errors)).p90;
    validation.ranking = rank_plans(validation.rows);
}

}  // namespace orrery
