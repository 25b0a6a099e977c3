// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/reproduce/metrics.h"

#include <algorithm>
#include <iterator>

#include "engine/base/check.h"

namespace orrery {
namespace {

using MetricFigure = std::optional<double>;

double teraflops_of(FlopRate peak) {
    return peak.per_second() * 1e-12;
}
double gigabytes_of(Bytes bytes) {
    return static_cast<double>(bytes.count()) * 1e-9;
}

struct MetricRow {
    ReproducedMetric metric;
    ReproducedStudy study;
    std::string_view unit;
    MetricFigure (*of)(const VariantAnswer&);  // empty without an answer of the study
};

// The figure of a study's answer. `Of` is a lambda without captures.
template <class Of>
constexpr MetricRow step_metric(ReproducedMetric metric, std::string_view unit, Of) {
    return {metric, ReproducedStudy::step, unit, [](const VariantAnswer& answer) {
                return answer.step ? Of{}(*answer.step) : std::nullopt;
            }};
}
template <class Of>
constexpr MetricRow campaign_metric(ReproducedMetric metric, std::string_view unit, Of) {
    return {metric, ReproducedStudy::campaign, unit, [](const VariantAnswer& answer) {
                return answer.campaign && !answer.campaign->plans.empty()
                           ? Of{}(answer.campaign->plans.front())
                           : std::nullopt;
            }};
}
template <class Of>
constexpr MetricRow search_metric(ReproducedMetric metric, std::string_view unit, Of) {
    return {metric, ReproducedStudy::search, unit, [](const VariantAnswer& answer) {
                return answer.search && !answer.search->best.empty()
                           ? Of{}(answer.search->best.front())
                           : std::nullopt;
            }};
}
template <class Of>
constexpr MetricRow serving_metric(ReproducedMetric metric, std::string_view unit, Of) {
    return {metric, ReproducedStudy::serving, unit, [](const VariantAnswer& answer) {
                return answer.serving ? Of{}(*answer.serving) : std::nullopt;
            }};
}

constexpr MetricRow fit_metric(ReproducedMetric metric,
                               ReproducedStudy study,
                               std::string_view unit) {
    return {metric, study, unit, [](const VariantAnswer& answer) {
                return answer.largest_fit
                           ? MetricFigure{static_cast<double>(answer.largest_fit->most)}
                           : std::nullopt;
            }};
}

using Metric = ReproducedMetric;

constexpr MetricRow kMetricRows[] = {
    step_metric(Metric::iteration_s,
                "s",
                [](const Answer& a) { return MetricFigure{a.iteration.seconds()}; }),
    step_metric(Metric::tokens_per_s,
                "tokens/s",
                [](const Answer& a) { return MetricFigure{a.tokens_per_s}; }),
    step_metric(Metric::mfu, "", [](const Answer& a) { return MetricFigure{a.mfu}; }),
    step_metric(Metric::hfu, "", [](const Answer& a) { return MetricFigure{a.hfu}; }),
    step_metric(Metric::model_tflops_per_gpu,
                "TFLOP/s",
                [](const Answer& a) { return MetricFigure{a.mfu * teraflops_of(a.peak)}; }),
    step_metric(Metric::hardware_tflops_per_gpu,
                "TFLOP/s",
                [](const Answer& a) { return MetricFigure{a.hfu * teraflops_of(a.peak)}; }),
    step_metric(Metric::peak_memory_gb,
                "GB",
                [](const Answer& a) { return MetricFigure{gigabytes_of(a.memory.peak)}; }),
    step_metric(Metric::host_memory_gb,
                "GB",
                [](const Answer& a) { return MetricFigure{gigabytes_of(a.memory.host)}; }),
    step_metric(
        Metric::fits, "", [](const Answer& a) { return MetricFigure{a.memory.fits ? 1 : 0}; }),
    campaign_metric(
        Metric::goodput, "", [](const PlanAnswer& p) { return MetricFigure{p.goodput.mean}; }),
    campaign_metric(
        Metric::ettr, "", [](const PlanAnswer& p) { return MetricFigure{p.ettr.mean}; }),
    campaign_metric(Metric::interruptions,
                    "",
                    [](const PlanAnswer& p) { return MetricFigure{p.interruptions.mean}; }),
    campaign_metric(Metric::mttf_h, "h", [](const PlanAnswer& p) { return p.mttf_h; }),
    campaign_metric(
        Metric::lost_h, "h", [](const PlanAnswer& p) { return MetricFigure{p.lost_h.mean}; }),
    campaign_metric(
        Metric::communicators_s,
        "s",
        [](const PlanAnswer& p) { return MetricFigure{p.start_up.communicators.seconds()}; }),
    campaign_metric(
        Metric::restart_s,
        "s",
        [](const PlanAnswer& p) { return MetricFigure{p.costs.restart_full.seconds()}; }),
    campaign_metric(Metric::checkpoint_stall_s,
                    "s",
                    [](const PlanAnswer& p) { return MetricFigure{p.checkpoint.stall.seconds()}; }),
    campaign_metric(Metric::checkpoint_copy_s,
                    "s",
                    [](const PlanAnswer& p) { return MetricFigure{p.checkpoint.copy.seconds()}; }),
    campaign_metric(
        Metric::checkpoint_load_s,
        "s",
        [](const PlanAnswer& p) { return MetricFigure{p.costs.load_remote.seconds()}; }),
    fit_metric(Metric::longest_sequence, ReproducedStudy::longest_sequence, "tokens"),
    fit_metric(Metric::most_layers, ReproducedStudy::most_layers, "layers"),
    search_metric(Metric::best_tokens_per_s,
                  "tokens/s",
                  [](const FoundPlan& f) { return MetricFigure{f.answer.tokens_per_s}; }),
    search_metric(Metric::best_fits,
                  "",
                  [](const FoundPlan& f) { return MetricFigure{f.answer.memory.fits ? 1 : 0}; }),
    {Metric::placement_gain,
     ReproducedStudy::placement,
     "",
     [](const VariantAnswer& answer) {
         return answer.placed ? MetricFigure{answer.placed->before.iteration.seconds() /
                                             answer.placed->answer.iteration.seconds()}
                              : std::nullopt;
     }},
    {Metric::layer_plan_gain,
     ReproducedStudy::layer_plan,
     "",
     [](const VariantAnswer& answer) {
         return answer.layer_plan
                    ? MetricFigure{answer.layer_plan->all_recomputed.iteration.seconds() /
                                   answer.layer_plan->answer.iteration.seconds()}
                    : std::nullopt;
     }},
    serving_metric(
        Metric::ttft_s, "s", [](const ServingAnswer& a) { return MetricFigure{a.ttft_s.mean}; }),
    serving_metric(
        Metric::tpot_s, "s", [](const ServingAnswer& a) { return MetricFigure{a.tpot_s.mean}; }),
    serving_metric(
        Metric::e2e_s, "s", [](const ServingAnswer& a) { return MetricFigure{a.e2e_s.mean}; }),
    serving_metric(Metric::output_tokens_per_s,
                   "tokens/s",
                   [](const ServingAnswer& a) { return MetricFigure{a.output_tokens_per_s}; }),
    serving_metric(
        Metric::good_share, "", [](const ServingAnswer& a) { return MetricFigure{a.good_share}; }),
    serving_metric(Metric::brakes,
                   "",
                   [](const ServingAnswer& a) {
                       return a.row ? MetricFigure{static_cast<double>(a.row->brakes)}
                                    : std::nullopt;
                   }),
    serving_metric(Metric::peak_power_share,
                   "",
                   [](const ServingAnswer& a) {
                       return a.row ? MetricFigure{a.row->peak_watts / a.row->limit_watts}
                                    : std::nullopt;
                   }),
    {Metric::highest_rate,
     ReproducedStudy::highest_rate,
     "requests/s",
     [](const VariantAnswer& answer) {
         return answer.highest_rate ? MetricFigure{answer.highest_rate->rate} : std::nullopt;
     }},
};

const MetricRow& metric_row_of(ReproducedMetric metric) {
    const auto* const row = std::ranges::find(kMetricRows, metric, &MetricRow::metric);
    ORRERY_CHECK(row != std::end(kMetricRows));
    return *row;
}

}  // namespace

ReproducedStudy study_of(ReproducedMetric metric) {
    return metric_row_of(metric).study;
}

bool is_served(ReproducedMetric metric) {
    const ReproducedStudy study = study_of(metric);
    return study == ReproducedStudy::serving || study == ReproducedStudy::highest_rate;
}

bool is_served(const Reproduction& room, const std::string& variant) {
    return std::ranges::any_of(room.comparisons, [&](const ReproducedComparison& comparison) {
        return is_served(comparison.metric) &&
               (comparison.variant == variant || comparison.baseline == variant);
    });
}

std::string_view unit_of(ReproducedMetric metric) {
    return metric_row_of(metric).unit;
}

std::optional<double> value_of(ReproducedMetric metric, const VariantAnswer& answer) {
    return metric_row_of(metric).of(answer);
}

}  // namespace orrery
