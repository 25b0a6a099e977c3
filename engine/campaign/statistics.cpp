// SPDX-License-Identifier: Apache-2.0
#include "engine/campaign/statistics.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/parallel.h"
#include "engine/base/statistics.h"

namespace orrery {
namespace {

// Two-sided 95 % quantile of Student's t with n degrees of freedom: from 4 on the Cornish-Fisher
// expansion (Abramowitz and Stegun 26.7.5), accurate to 0.1 %; below from the table.
double student_t(std::size_t n) {
    static constexpr double kFew[] = {0, 12.706, 4.303, 3.182};
    if (n < 4) {
        return kFew[n];
    }
    const double z = 1.959964;
    const auto v = static_cast<double>(n);
    const double z3 = z * z * z;
    const double z5 = z3 * z * z;
    return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
           (3 * z5 * z * z + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

// Kept training time up to an instant: piecewise linear, as a list of its corners.
struct Corner {
    double time = 0;
    double kept = 0;
};

std::vector<Corner> kept_curve(const CampaignResult& run) {
    std::vector<Corner> corners{{0, 0}};
    for (const TrainingSpan& span : run.spans) {
        const double kept = corners.back().kept;
        corners.push_back({span.begin.seconds(), kept});
        corners.push_back({span.end.seconds(), kept + span.trained.seconds()});
    }
    corners.push_back({run.wall.seconds(), corners.back().kept});
    return corners;
}

double kept_until(const std::vector<Corner>& curve, double time) {
    const auto after = std::upper_bound(
        curve.begin(), curve.end(), time, [](double t, const Corner& c) { return t < c.time; });
    if (after == curve.end()) {
        return curve.back().kept;
    }
    const Corner& a = *(after - 1);
    const double share = after->time > a.time ? (time - a.time) / (after->time - a.time) : 1;
    return a.kept + share * (after->kept - a.kept);
}

}  // namespace

Statistic statistic(std::vector<double> values) {
    Statistic s;
    if (values.empty()) {
        return s;
    }
    const Moments of_values = moments(values);
    s.mean = of_values.mean;
    s.deviation = of_values.sample_deviation();
    const double half =
        student_t(values.size() - 1) * s.deviation / std::sqrt(static_cast<double>(values.size()));
    s.low = s.mean - half;
    s.high = s.mean + half;
    std::sort(values.begin(), values.end());
    s.p5 = nearest_rank(values, 5);
    s.p50 = nearest_rank(values, 50);
    s.p95 = nearest_rank(values, 95);
    return s;
}

Statistic paired_difference(const std::vector<double>& a, const std::vector<double>& b) {
    ORRERY_CHECK(a.size() == b.size());
    std::vector<double> differences;
    for (std::size_t i = 0; i < a.size(); ++i) {
        differences.push_back(a[i] - b[i]);
    }
    return statistic(std::move(differences));
}

std::vector<CampaignResult> run_seeds(const CampaignSpec& spec,
                                      std::uint64_t first_seed,
                                      std::uint32_t seeds,
                                      std::uint32_t threads,
                                      const CampaignOptions& of_first) {
    std::vector<CampaignResult> results(seeds);
    for_each_index(seeds, threads, [&](std::size_t i) {
        results[i] = run_campaign(spec, first_seed + i, i == 0 ? of_first : CampaignOptions{});
    });
    return results;
}

SlidingEttr sliding_ettr(const CampaignResult& run, WallTime window) {
    const std::vector<Corner> curve = kept_curve(run);
    const double w = window.seconds();
    const double end = run.wall.seconds();
    SlidingEttr sliding;
    if (end <= w) {
        return sliding;
    }
    const auto ettr = [&](double t) {
        return (kept_until(curve, t) - kept_until(curve, t - w)) / w;
    };
    // The least value of a piecewise linear function is at one of its corners: where t or t - w is
    // a corner of the curve.
    for (const Corner& corner : curve) {
        for (const double t : {corner.time, corner.time + w}) {
            if (t >= w && t <= end) {
                sliding.least = std::min(sliding.least, ettr(t));
            }
        }
    }
    std::vector<double> samples;
    for (double t = w; t <= end; t += 60) {
        samples.push_back(ettr(t));
    }
    std::sort(samples.begin(), samples.end());
    sliding.p5 = nearest_rank(samples, 5);
    sliding.p50 = nearest_rank(samples, 50);
    return sliding;
}

std::vector<double> ettr_by_part(const CampaignResult& run, std::uint32_t parts) {
    const std::vector<Corner> curve = kept_curve(run);
    const double size = run.wall.seconds() / parts;
    std::vector<double> values;
    for (std::uint32_t i = 0; i < parts; ++i) {
        values.push_back((kept_until(curve, size * (i + 1)) - kept_until(curve, size * i)) / size);
    }
    return values;
}

}  // namespace orrery
