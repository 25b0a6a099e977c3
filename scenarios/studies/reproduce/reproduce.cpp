// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/reproduce/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/parallel.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/format/read/read_reproduction.h"
#include "scenarios/studies/campaign/run_campaign.h"
#include "scenarios/studies/reproduce/variant.h"
#include "scenarios/studies/reproduce/verdict.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

// A study of a variant that comparisons need.
struct PlannedRun {
    const PreparedVariant* variant = nullptr;
    ReproducedStudy study = ReproducedStudy::step;
    VariantAnswer answer{};
    std::string error{};
    double wall_s = 0;
};

std::string words_of_error(const Error& error) {
    return error.where.empty() ? error.what : error.where + ": " + error.what;
}

template <class T>
void take_answer(Result<T> result, std::optional<T>& answer, std::string& error) {
    if (result) {
        answer = std::move(*result);
    } else {
        error = words_of_error(result.error());
    }
}

void run_served(PlannedRun& planned) {
    const Scenario& scenario = planned.variant->scenario;
    const auto requests = requests_of(scenario);
    if (!requests) {
        planned.error = words_of_error(requests.error().front());
        return;
    }
    VariantAnswer& answer = planned.answer;
    if (planned.study == ReproducedStudy::highest_rate) {
        if (scenario.workload.request_rate <= 0) {
            planned.error = "workload.request_rate is due: the highest rate is sought from there";
            return;
        }
        take_answer(
            find_highest_rate(scenario, scenario.serving, *requests, scenario.serving.objectives),
            answer.highest_rate,
            planned.error);
    } else {
        take_answer(serve_scenario(
                        scenario, scenario.serving, *requests, {.users = scenario.workload.users}),
                    answer.serving,
                    planned.error);
    }
}

void run_planned(PlannedRun& planned) {
    const auto begin = std::chrono::steady_clock::now();
    const Scenario& scenario = planned.variant->scenario;
    VariantAnswer& answer = planned.answer;
    switch (planned.study) {
        case ReproducedStudy::step:
            take_answer(simulate_scenario(scenario), answer.step, planned.error);
            break;
        case ReproducedStudy::campaign:
            take_answer(run_campaign_scenario(scenario), answer.campaign, planned.error);
            break;
        case ReproducedStudy::search:
            take_answer(search_plans(scenario, scenario.search), answer.search, planned.error);
            break;
        case ReproducedStudy::placement:
            take_answer(place_nodes(scenario), answer.placed, planned.error);
            break;
        case ReproducedStudy::layer_plan:
            take_answer(plan_layers(scenario), answer.layer_plan, planned.error);
            break;
        case ReproducedStudy::longest_sequence:
            take_answer(largest_fit(scenario, FitOf::sequence), answer.largest_fit, planned.error);
            break;
        case ReproducedStudy::most_layers:
            take_answer(largest_fit(scenario, FitOf::layers), answer.largest_fit, planned.error);
            break;
        case ReproducedStudy::serving:
        case ReproducedStudy::highest_rate:
            run_served(planned);
            break;
    }
    planned.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class Museum {
public:
    Museum(const std::vector<Reproduction>& rooms, const ReproduceOptions& options)
        : rooms_(rooms), options_(options), tables_(options.catalogue) {}

    Errors prepare_all() {
        Errors errors;
        for (const Reproduction& room : rooms_) {
            for (const ReproducedVariant& variant : room.variants) {
                const bool served = is_served(room, variant.name);
                auto prepared = prepare(variant, room.file.parent_path(), tables_, served);
                if (prepared) {
                    variants_.emplace(key_of(room, variant.name), std::move(*prepared));
                } else {
                    std::ranges::move(prepared.error(), std::back_inserter(errors));
                }
            }
        }
        return errors;
    }

    void run_all() {
        std::vector<PlannedRun*> todo;
        for (const Reproduction& room : rooms_) {
            for (const ReproducedComparison& comparison : room.comparisons) {
                for (const std::string& name : {comparison.variant, comparison.baseline}) {
                    if (!name.empty()) {
                        plan_run(room, name, study_of(comparison.metric), todo);
                    }
                }
            }
        }
        for_each_index(
            todo.size(),
            options_.jobs,
            [&](std::size_t i) { run_planned(*todo[i]); },
            [&](std::size_t done) {
                if (options_.progress) {
                    options_.progress(static_cast<double>(done) / static_cast<double>(todo.size()));
                }
            });
    }

    RoomOutcome outcome_of(const Reproduction& room) const {
        RoomOutcome outcome{.room = room, .comparisons = {}};
        std::set<const PlannedRun*> counted;
        for (const ReproducedComparison& comparison : room.comparisons) {
            outcome.comparisons.push_back(judge(room, comparison));
            for (const std::string& name : {comparison.variant, comparison.baseline}) {
                if (!name.empty()) {
                    const PlannedRun& planned = run_of(room, name, comparison.metric);
                    outcome.wall_s += counted.insert(&planned).second ? planned.wall_s : 0;
                }
            }
        }
        return outcome;
    }

private:
    using RunKey = std::pair<std::string, ReproducedStudy>;

    static std::string key_of(const Reproduction& room, const std::string& variant) {
        return room.file.string() + "#" + variant;
    }

    const PreparedVariant& variant_of(const Reproduction& room, const std::string& name) const {
        const auto found = variants_.find(key_of(room, name));
        ORRERY_CHECK(found != variants_.end());
        return found->second;
    }

    void plan_run(const Reproduction& room,
                  const std::string& name,
                  ReproducedStudy study,
                  std::vector<PlannedRun*>& todo) {
        const PreparedVariant& variant = variant_of(room, name);
        const auto [at, added] =
            runs_.try_emplace(RunKey{variant.identity, study}, PlannedRun{&variant, study});
        if (added) {
            todo.push_back(&at->second);
        }
    }

    const PlannedRun& run_of(const Reproduction& room,
                             const std::string& name,
                             ReproducedMetric metric) const {
        return runs_.at(RunKey{variant_of(room, name).identity, study_of(metric)});
    }

    // The published figure of a comparison, from the times of published cases if it names some.
    double published_of(const Reproduction& room, const ReproducedComparison& comparison) const {
        if (comparison.published) {
            return *comparison.published;
        }
        const auto measured = [&](const std::string& name) {
            const PreparedVariant& variant = variant_of(room, name);
            const Scenario& scenario = variant.scenario;
            const double tokens = static_cast<double>(scenario.plan.global_batch_size) *
                                  static_cast<double>(scenario.model.seq_length);
            return comparison.metric == ReproducedMetric::iteration_s ? variant.measured_s
                                                                      : tokens / variant.measured_s;
        };
        const double own = measured(comparison.variant);
        return comparison.baseline.empty() ? own : own / measured(comparison.baseline);
    }

    ComparisonOutcome judge(const Reproduction& room,
                            const ReproducedComparison& comparison) const {
        ComparisonOutcome outcome{.comparison = comparison};
        outcome.published = published_of(room, comparison);
        const PlannedRun& own = run_of(room, comparison.variant, comparison.metric);
        const PlannedRun& base = comparison.baseline.empty()
                                     ? own
                                     : run_of(room, comparison.baseline, comparison.metric);
        outcome.error = own.error.empty() ? base.error : own.error;
        outcome.simulated = value_of(comparison.metric, own.answer);
        if (!comparison.baseline.empty()) {
            const std::optional<double> below = value_of(comparison.metric, base.answer);
            outcome.simulated = outcome.simulated && below && *below != 0
                                    ? std::optional{*outcome.simulated / *below}
                                    : std::nullopt;
            if (own.answer.step && base.answer.step) {
                outcome.causes = changes_of(*base.answer.step, *own.answer.step);
            }
        }
        if (!outcome.simulated && outcome.error.empty()) {
            outcome.error = "the study has no such figure";
        }
        outcome.pass =
            outcome.simulated && passes(comparison, outcome.published, *outcome.simulated);
        return outcome;
    }

    static std::vector<CauseChange> changes_of(const Answer& base, const Answer& variant) {
        const auto tokens = [](const Answer& answer) {
            return static_cast<double>(answer.global_batch_size) *
                   static_cast<double>(answer.seq_length);
        };
        const double scale = tokens(base) / tokens(variant);
        std::array<CauseChange, kNumCauses> all{};
        double base_s = base.iteration.seconds();
        double variant_s = variant.iteration.seconds() * scale;
        for (const LostMfu& lost : base.lost_mfu) {
            all[static_cast<std::size_t>(lost.cause)].baseline_s = lost.time.seconds();
            base_s -= lost.time.seconds();
        }
        for (const LostMfu& lost : variant.lost_mfu) {
            const double seconds = lost.time.seconds() * scale;
            all[static_cast<std::size_t>(lost.cause)].variant_s = seconds;
            variant_s -= seconds;
        }
        // The remaining time is that of the model FLOPs at peak.
        all[static_cast<std::size_t>(Cause::useful_compute)] = {
            Cause::useful_compute, base_s, variant_s};
        std::vector<CauseChange> changes;
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i].cause = static_cast<Cause>(i);
            if (all[i].baseline_s != 0 || all[i].variant_s != 0) {
                changes.push_back(all[i]);
            }
        }
        return changes;
    }

    const std::vector<Reproduction>& rooms_;
    const ReproduceOptions& options_;
    PublishedTables tables_;
    std::map<std::string, PreparedVariant> variants_;
    std::map<RunKey, PlannedRun> runs_;
};

}  // namespace

std::size_t RoomOutcome::passed() const {
    return static_cast<std::size_t>(
        std::ranges::count(comparisons, true, &ComparisonOutcome::pass));
}

std::vector<std::filesystem::path> room_files(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    std::error_code ignored;
    for (const auto& file : std::filesystem::directory_iterator{folder, ignored}) {
        if (file.path().extension() == ".yaml") {
            files.push_back(file.path());
        }
    }
    std::ranges::sort(files);
    return files;
}

ResultOrErrors<std::vector<Reproduction>> find_rooms(const std::filesystem::path& folder,
                                                     const std::vector<std::string>& names) {
    const std::vector<std::filesystem::path> all = room_files(folder);
    std::vector<std::string> known;
    for (const std::filesystem::path& file : all) {
        known.push_back(file.stem().string());
    }
    Errors errors;
    std::vector<std::filesystem::path> files = names.empty() ? all : decltype(all){};
    for (const std::string& name : names) {
        const std::filesystem::path file =
            name.ends_with(".yaml") ? std::filesystem::path{name} : folder / (name + ".yaml");
        if (!name.ends_with(".yaml") && std::ranges::find(known, name) == known.end()) {
            errors.push_back({name, "there is no such reproduction", nearest_hint(name, known)});
        } else if (std::ranges::find(files, file) == files.end()) {
            files.push_back(file);
        }
    }
    if (names.empty() && files.empty()) {
        errors.push_back({folder.string(), "holds no reproductions", {}});
    }
    std::vector<Reproduction> rooms;
    for (const std::filesystem::path& file : files) {
        ResultOrErrors<Reproduction> room = read_reproduction(file);
        if (room) {
            rooms.push_back(std::move(*room));
        } else {
            std::ranges::move(room.error(), std::back_inserter(errors));
        }
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return rooms;
}

ResultOrErrors<std::vector<RoomOutcome>> reproduce(const std::vector<Reproduction>& rooms,
                                                   const ReproduceOptions& options) {
    Museum museum{rooms, options};
    if (Errors errors = museum.prepare_all(); !errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    museum.run_all();
    std::vector<RoomOutcome> outcomes;
    for (const Reproduction& room : rooms) {
        outcomes.push_back(museum.outcome_of(room));
    }
    return outcomes;
}

}  // namespace orrery
