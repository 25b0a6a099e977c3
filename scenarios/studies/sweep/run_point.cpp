// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/run_point.h"

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "scenarios/studies/sweep/point_identity.h"

namespace orrery {
namespace {

std::string as_text(const Error& error) {
    const std::string text = error.where.empty() ? error.what : error.where + ": " + error.what;
    return error.hint.empty() ? text : text + " (hint: " + error.hint + ")";
}

void fill(const Answer& answer, PointResult& result) {
    result.gpus = answer.ranks;
    result.iteration_s = answer.iteration.seconds();
    result.uncertainty = answer.uncertainty;
    result.tokens_per_s = answer.tokens_per_s;
    result.mfu = answer.mfu;
    result.hfu = answer.hfu;
    result.peak_memory_bytes = answer.memory.peak.count();
    result.fits = answer.memory.fits;
    result.wall_s = answer.wall_s;
}

}  // namespace

StudyPoints::StudyPoints(const Study& study, AnswerText text)
    : study_(study), text_(std::move(text)) {
    for (const std::filesystem::path& scenario : study.scenarios) {
        fingerprints_.push_back(scenario_fingerprint(scenario, made_of_.catalogue));
    }
}

std::string StudyPoints::id_of(std::int64_t number) const {
    const StudyPoint point = point_of(study_, number);
    return point_identity(fingerprints_[point.scenario],
                          overrides_of(study_, point),
                          study_.scenarios[point.scenario].parent_path());
}

PointResult StudyPoints::run(std::int64_t number) const {
    const StudyPoint point = point_of(study_, number);
    const std::filesystem::path& file = study_.scenarios[point.scenario];
    PointResult result{.id = id_of(number),
                       .study = study_.name,
                       .scenario = file.filename().string(),
                       .settings = point.settings,
                       .version = made_of_.build.short_name()};
    ReadOptions read;
    read.overrides = overrides_of(study_, point);
    const ResultOrErrors<Scenario> scenario = read_scenario(file, read);
    if (!scenario) {
        result.error =
            as_text(placed_in_file(scenario.error().front(), read.overrides, study_.places));
        return result;
    }
    const Result<Answer> answer = simulate_scenario(*scenario, {});
    if (!answer) {
        result.error = as_text(placed_in_file(answer.error(), read.overrides, study_.places));
        return result;
    }
    fill(*answer, result);
    if (text_) {
        Provenance made_of = made_of_;
        made_of.scenarios.push_back(scenario->origin);
        made_of.seed = scenario->job.seed;
        result.answer = text_(*answer, made_of);
    }
    return result;
}

}  // namespace orrery
