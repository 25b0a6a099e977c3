// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_report.h"
#include "scenarios/report/render/json_text.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json errors_json(const ErrorSummary& summary) {
    return {{"cases", summary.cases},
            {"median", summary.median},
            {"p90", summary.p90},
            {"max", summary.max},
            {"mean", summary.mean}};
}

Json ratio_json(const RatioSummary& ratios) {
    return {{"pairs", ratios.pairs},
            {"median", ratios.median},
            {"max", ratios.max},
            {"control_median", ratios.control_median},
            {"rank_correlation", ratios.rank_correlation}};
}

}  // namespace

std::string json_report(const Validation& validation) {
    Json rows = json_list<Json>(validation.rows, [](const ValidatedCase& row) -> Json {
        return {{"case", row.name},
                {"family", row.family},
                {"measured_s", row.measured_s},
                {"predicted_s", row.predicted_s},
                {"simulated_s", row.simulated_s()},
                {"control_s", row.control_s},
                {"error", row.error()},
                {"control_error", row.control_error()},
                {"relative_sigma", row.sigma},
                {"half_width_90", row.half_width()},
                {"within_90", row.within()},
                {"fits", row.fits},
                {"wall_s", row.wall_s}};
    });
    Json skipped = json_list<Json>(validation.skipped, [](const SkippedCase& skip) -> Json {
        return {{"case", skip.name}, {"family", skip.family}, {"reason", skip.reason}};
    });
    Json families = Json::object();
    for (const FamilySummary& family : validation.families) {
        families[family.family] = {{"predicted", errors_json(family.predicted)},
                                   {"control", errors_json(family.control)},
                                   {"ratios", ratio_json(family.ratios)},
                                   {"coverage_90", family.coverage}};
    }
    const bool any = !validation.rows.empty();
    const Json overall = {
        {"balanced_error", any ? Json(validation.balanced_error) : Json()},
        {"control_balanced_error", any ? Json(validation.control_balanced_error) : Json()},
        {"p90_error", any ? Json(validation.p90_error) : Json()},
        {"ratio_error", any ? Json(validation.ratio_error) : Json()},
        {"control_ratio_error", any ? Json(validation.control_ratio_error) : Json()},
        {"assumed_instead", validation.assumed_instead},
        {"coverage_90", any ? Json(validation.coverage) : Json()},
        {"balanced_coverage_90", any ? Json(validation.balanced_coverage) : Json()},
        {"median_half_width_90", any ? Json(validation.median_half_width) : Json()},
        {"families", validation.families.size()},
        {"cases", validation.rows.size()},
        {"skipped", validation.skipped.size()},
        {"ranking",
         {{"choices", validation.ranking.choices},
          {"pairs", validation.ranking.pairs},
          {"kendall_tau", validation.ranking.tau},
          {"families", validation.ranking.families},
          {"families_kendall_tau", validation.ranking.families_tau}}}};
    return json_text(
        Json{{"rows", rows}, {"skipped", skipped}, {"families", families}, {"overall", overall}});
}

std::string json_report(const CollectiveValidation& validation) {
    const auto family_json = [](const CollectiveFamily& family) {
        const auto median = [](std::size_t rows, double value) {
            return Json{{"rows", rows}, {"median", rows > 0 ? Json(value) : Json()}};
        };
        return Json{{"below_1MiB", median(family.rows_small, family.median_small)},
                    {"from_1MiB", median(family.rows_large, family.median_large)}};
    };
    Json rows = json_list<Json>(validation.rows, [](const ValidatedCollective& row) -> Json {
        return {{"family", row.of.family()},
                {"size_bytes", row.of.bytes.count()},
                {"measured_s", row.of.measured_us * 1e-6},
                {"predicted_s", row.predicted_us * 1e-6},
                {"error", row.error()},
                {"algorithm", row.algorithm},
                {"protocol", row.protocol}};
    });
    Json skipped = json_list<Json>(validation.skipped, [](const SkippedCollective& family) -> Json {
        return {{"family", family.family}, {"reason", family.reason}};
    });
    Json families = Json::object();
    for (const CollectiveFamily& family : validation.families) {
        families[family.name] = family_json(family);
    }
    return json_text(Json{{"rows", rows},
                          {"skipped", skipped},
                          {"families", families},
                          {"overall", family_json(validation.all)}});
}

}  // namespace orrery
