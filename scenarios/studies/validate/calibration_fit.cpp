// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/calibration_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "engine/base/counter_random.h"

namespace orrery {
namespace {

constexpr int kFreedom = 3;
constexpr int kDraws = 20'000;
constexpr std::uint32_t kDrawPurpose = 0xca11;
// A draw whose logarithmic likelihood lies this far below the best one has weight 0.
constexpr double kWeighsNothing = 9;
// Upper bound of the standard deviation of the factor that all facts share: software that runs the
// same kernels differs by a factor of 1.2 either way.
constexpr double kSharedMost = 0.2;
// Widths are standard deviations of normal distributions. Student's distribution has the same 90 %
// interval at this scale, the quotient of the 95th percentiles.
constexpr double kStudentScale = kQuantile95 / 2.3534;
// Width of the constant time per step, in seconds: MegaScale's clusters lose 0.4 and 1.2 s.
constexpr double kBesideWidth = 0.1;
constexpr double kBesideMost = 0.8;  // share of the shortest given step

// Negative logarithm of Student's density, without its constant.
double unlikely(double in_widths) {
    const double scaled = in_widths / kStudentScale;
    return (kFreedom + 1) / 2.0 * std::log1p(scaled * scaled / kFreedom);
}

double student(CounterRandom& random) {
    const double normal = random.normal();
    double squares = 0;
    for (int i = 0; i < kFreedom; ++i) {
        const double other = random.normal();
        squares += other * other;
    }
    return kStudentScale * normal / std::sqrt(squares / kFreedom);
}

Calibration drawn_facts(CounterRandom& random, double shared_width, double shortest_s) {
    Calibration facts;
    facts.spread =
        kStepSpreadLeast * std::pow(kStepSpreadMost / kStepSpreadLeast, random.uniform());
    const double shared = shared_width * student(random);
    for (const CalibrationFactor& factor : kCalibrationFactors) {
        facts.*factor.member = std::clamp(
            std::exp(shared + factor.width * student(random)), kFactorLeast, kFactorMost);
    }
    const double beside = kBesideWidth * std::abs(student(random));
    facts.step = Time::seconds(std::min(beside, kBesideMost * shortest_s));
    return facts;
}

}  // namespace

CalibrationPosterior::CalibrationPosterior(std::span<const StepResponse* const> steps)
    : steps_(static_cast<std::int64_t>(steps.size())) {
    double sigma = 0;
    double shortest_s = steps.front()->measured_s;
    for (const StepResponse* step : steps) {
        sigma = std::max(sigma, step->sigma);
        shortest_s = std::min(shortest_s, step->measured_s);
    }
    CounterRandom random{0, 0, kDrawPurpose};
    std::vector<double> losses;
    for (int draw = 0; draw < kDraws; ++draw) {
        facts_.push_back(drawn_facts(random, std::min(sigma, kSharedMost), shortest_s));
        const double spread = facts_.back().spread;
        double loss = 0;
        for (const StepResponse* step : steps) {
            loss += unlikely(std::log(step->under(facts_.back()) / step->measured_s) / spread) +
                    std::log(spread);
        }
        losses.push_back(loss);
    }
    const double best = *std::ranges::min_element(losses);
    std::size_t kept = 0;
    double sum = 0;
    for (std::size_t i = 0; i < losses.size(); ++i) {
        if (losses[i] - best < kWeighsNothing) {
            facts_[kept++] = facts_[i];
            weights_.push_back(std::exp(best - losses[i]));
            sum += weights_.back();
        }
    }
    facts_.resize(kept);
    for (double& weight : weights_) {
        weight /= sum;
    }
}

CalibrationPosterior::Prediction CalibrationPosterior::predict(const StepResponse& step) const {
    double mean = 0;
    double square = 0;
    double between_steps = 0;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        const double log_time = std::log(step.under(facts_[i]));
        mean += weights_[i] * log_time;
        square += weights_[i] * log_time * log_time;
        between_steps += weights_[i] * facts_[i].spread * facts_[i].spread;
    }
    return {std::exp(mean), std::sqrt(std::max(0.0, square - mean * mean) + between_steps)};
}

Calibration CalibrationPosterior::mean() const {
    Calibration mean;
    for (const CalibrationFactor& factor : kCalibrationFactors) {
        double sum = 0;
        for (std::size_t i = 0; i < facts_.size(); ++i) {
            sum += weights_[i] * std::log(facts_[i].*factor.member);
        }
        mean.*factor.member = std::exp(sum);
    }
    double seconds = 0;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        seconds += weights_[i] * facts_[i].step.seconds();
    }
    mean.step = Time::seconds(seconds);
    mean.steps = steps_;
    return mean;
}

std::vector<std::size_t> drawn_steps(std::size_t steps,
                                     std::size_t given,
                                     std::uint64_t seed,
                                     std::uint64_t group,
                                     std::uint32_t draw) {
    std::vector<std::size_t> numbers(steps);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    CounterRandom random{seed, group, draw};
    const std::size_t count = std::min(given, steps);
    for (std::size_t i = 0; i < count; ++i) {
        const auto left = static_cast<double>(steps - i);
        const auto offset = static_cast<std::size_t>(random.uniform() * left);
        std::swap(numbers[i], numbers[i + std::min(offset, steps - i - 1)]);
    }
    numbers.resize(count);
    return numbers;
}

namespace {

// The steps that a draw did not give.
struct OtherSteps {
    std::vector<double> before;  // absolute errors
    std::vector<double> after;
    std::vector<double> widths;
    double inside = 0;

    void add(const std::vector<const StepResponse*>& steps, const std::vector<std::size_t>& drawn);
};

void OtherSteps::add(const std::vector<const StepResponse*>& steps,
                     const std::vector<std::size_t>& drawn) {
    std::vector<const StepResponse*> given;
    for (const std::size_t i : drawn) {
        given.push_back(steps[i]);
    }
    const CalibrationPosterior posterior{given};
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (std::ranges::count(drawn, i) == 0) {
            const auto [seconds, sigma] = posterior.predict(*steps[i]);
            const ValidatedCase row{
                .measured_s = steps[i]->measured_s, .predicted_s = seconds, .sigma = sigma};
            before.push_back(std::abs(steps[i]->predicted_s / steps[i]->measured_s - 1));
            after.push_back(std::abs(row.error()));
            widths.push_back(row.half_width());
            inside += row.within() ? 1 : 0;
        }
    }
}

// Rows of a family by group, in the order of the rows.
using Groups = std::map<std::string, std::vector<std::size_t>>;

CalibratedFamily calibrate_family(const std::string& name,
                                  const Groups& groups,
                                  const std::vector<StepResponse>& responses,
                                  std::uint64_t seed,
                                  CalibratedValidation& validation,
                                  const std::vector<ValidatedCase>& rows) {
    CalibratedFamily family{.family = name};
    std::vector<OtherSteps> draws(validation.draws);
    for (const auto& [group, members] : groups) {
        std::vector<const StepResponse*> steps;
        for (const std::size_t i : members) {
            steps.push_back(&responses[i]);
        }
        const std::size_t place = members.front();
        for (const std::size_t i : drawn_steps(steps.size(), validation.given, seed, place, 0)) {
            validation.drawn.push_back(rows[members[i]].name);
        }
        if (steps.size() <= validation.given) {
            continue;
        }
        ++family.groups;
        family.steps += steps.size();
        for (std::uint32_t draw = 0; draw < validation.draws; ++draw) {
            draws[draw].add(steps, drawn_steps(steps.size(), validation.given, seed, place, draw));
        }
    }
    const auto count = static_cast<double>(validation.draws);
    for (OtherSteps& draw : draws) {
        const auto others = static_cast<double>(std::max<std::size_t>(1, draw.after.size()));
        family.coverage += draw.inside / others / count;
        family.before += summarise(std::move(draw.before)).median / count;
        family.after += summarise(std::move(draw.after)).median / count;
        family.half_width += summarise(std::move(draw.widths)).median / count;
    }
    return family;
}

}  // namespace

CalibratedValidation validate_calibrated(const std::vector<ValidatedCase>& rows,
                                         const std::vector<StepResponse>& responses,
                                         const std::vector<std::string>& groups,
                                         std::size_t given,
                                         std::size_t draws,
                                         std::uint64_t seed) {
    CalibratedValidation validation{.given = given, .draws = draws};
    std::vector<std::string> names;
    std::map<std::string, Groups> families;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!families.contains(rows[i].family)) {
            names.push_back(rows[i].family);
        }
        families[rows[i].family][groups[i]].push_back(i);
    }
    for (const std::string& name : names) {
        CalibratedFamily family =
            calibrate_family(name, families.at(name), responses, seed, validation, rows);
        if (family.groups > 0) {
            validation.families.push_back(std::move(family));
        }
    }
    const auto count = static_cast<double>(std::max<std::size_t>(1, validation.families.size()));
    for (const CalibratedFamily& family : validation.families) {
        validation.before += family.before / count;
        validation.after += family.after / count;
        validation.coverage += family.coverage / count;
        validation.half_width += family.half_width / count;
    }
    return validation;
}

}  // namespace orrery
