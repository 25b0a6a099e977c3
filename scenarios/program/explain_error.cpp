// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/explain_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "scenarios/format/document/nearest.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/progress.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "scenarios/studies/validate/assumed_inputs.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {
namespace {

struct Outcome {
    Alternative instead;
    Result<Answer> answer;
    double change(double predicted_s) const {
        return answer ? answer->iteration.seconds() / predicted_s - 1 : 0;
    }
};

Result<Answer> simulate_row(const PublishedCase& row) {
    const Result<Scenario> scenario = scenario_of(row, Catalogue{default_catalogue()});
    return scenario ? simulate_scenario(*scenario) : unexpected<Error>(scenario.error());
}

// Of the first of the tables that has it.
ResultOrErrors<PublishedCase> find_case(const std::vector<std::string>& files,
                                        const std::string& name) {
    std::vector<std::string> names;
    for (const std::string& file : files) {
        const auto cases = read_published_cases(file);
        if (!cases) {
            return unexpected<Errors>(cases.error());
        }
        for (const PublishedCase& row : *cases) {
            if (row.name == name) {
                return row;
            }
            names.push_back(row.name);
        }
    }
    // Hundreds of names would be no help.
    const bool near = !nearest_names(name, names, 1).empty();
    const std::string hint = near ? nearest_hint(name, names) : "the table's column case has them";
    return unexpected<Errors>(Errors{{files.back(), "has no case '" + name + "'", hint}});
}

std::string head(const PublishedCase& row, const Answer& answer, double sigma) {
    const double predicted = answer.iteration.seconds();
    const ValidatedCase whole{.name = row.name,
                              .family = row.family,
                              .measured_s = row.measured_s,
                              .predicted_s = predicted,
                              .sigma = sigma,
                              .shift = answer.shift};
    const double centre = predicted * std::exp(answer.shift);
    return fmt::format(
        "{} ({}, {} GPUs {})\n\n"
        "  measured          {:>9.4g} s\n"
        "  predicted         {:>9.4g} s  ({:+.1f} %)\n"
        "  90 % interval     {:>9.4g} s  to {:.4g} s: the measurement lies {}\n",
        row.name,
        row.stack,
        row.num_gpus,
        row.gpu,
        row.measured_s,
        predicted,
        whole.error() * 100,
        centre / (1 + whole.half_width()),
        centre * (1 + whole.half_width()),
        whole.within() ? "inside" : "outside");
}

std::string parts(const Answer& answer) {
    std::string text = "\nWhere the predicted step goes\n\n";
    Time named;
    for (const LostMfu& lost : answer.lost_mfu) {
        named += lost.time;
    }
    const auto line = [&](std::string_view what, Time time) {
        text += fmt::format("  {:<28}{:>9.3f} s {:>6.1f} %\n",
                            what,
                            time.seconds(),
                            100 * (time / answer.iteration));
    };
    line("model FLOPs at the peak", answer.iteration - named);
    for (const LostMfu& lost : answer.lost_mfu) {
        line(words_for(lost.cause), lost.time);
    }
    return text;
}

std::string assumptions(const PublishedCase& row, const Answer& answer, std::vector<Outcome> all) {
    if (all.empty()) {
        return "\nThe source states every input that has an obvious other value.\n";
    }
    const double predicted = answer.iteration.seconds();
    std::ranges::stable_sort(all, [&](const Outcome& a, const Outcome& b) {
        return std::abs(a.change(predicted)) > std::abs(b.change(predicted));
    });
    std::string text = fmt::format("\nWhat the source does not state{:>26}{:>12}{:>9}{:>9}\n\n",
                                   "instead",
                                   "predicted s",
                                   "change",
                                   "error");
    for (const Outcome& outcome : all) {
        const std::string what = outcome.instead.column + " " + outcome.instead.stated;
        text += fmt::format("  {:<40}{:>14}", what, outcome.instead.value);
        if (!outcome.answer) {
            text += "  not possible\n";
            continue;
        }
        const double seconds = outcome.answer->iteration.seconds();
        text += fmt::format("{:>12.4g}{:>+8.1f}%{:>+8.1f}%{}\n",
                            seconds,
                            100 * outcome.change(predicted),
                            100 * (seconds / row.measured_s - 1),
                            outcome.answer->memory.fits ? "" : "  does not fit");
    }
    return text;
}

}  // namespace

int explain_error_command(const ExplainErrorArguments& arguments) {
    std::vector<std::string> files{arguments.file};
    if (arguments.file.empty()) {
        const std::filesystem::path published = default_catalogue() / "published";
        files = {(published / "training.csv").string(), (published / "training_more.csv").string()};
    }
    const auto row = find_case(files, arguments.name);
    if (!row) {
        return report_errors(row.error());
    }
    const Result<Answer> answer = simulate_row(*row);
    if (!answer) {
        return report_error(answer.error());
    }
    ProgressBar bar{"varying"};
    std::vector<Outcome> outcomes;
    const std::vector<Alternative> others = alternatives(*row);
    for (const Alternative& other : others) {
        bar.show(static_cast<double>(outcomes.size()) / static_cast<double>(others.size()));
        outcomes.push_back({other, simulate_row(other.row)});
    }
    bar.finish();
    std::size_t next = 0;  // assumed_spread() asks in the same order
    const double spread = assumed_spread(
        *row, answer->iteration.seconds(), [&](const PublishedCase&) -> std::optional<double> {
            const Result<Answer>& known = outcomes[next++].answer;
            return known && (known->memory.fits || !answer->memory.fits)
                       ? std::optional{known->iteration.seconds()}
                       : std::nullopt;
        });
    return print_output(head(*row, *answer, std::hypot(answer->uncertainty, spread)) +
                        parts(*answer) + assumptions(*row, *answer, std::move(outcomes)));
}

Command describe_explain_error() {
    const auto arguments = std::make_shared<ExplainErrorArguments>();
    return {
        .name = "explain-error",
        .help = "One published case: its waterfall, and which assumption moves it most",
        .options = {{"case", &arguments->name, "Name of the case", "NAME", true},
                    {"--cases", &arguments->file, "Table of cases if not the catalogue's", "FILE"}},
        .examples = {"explain-error MS-1024-M"},
        .run = [arguments] { return explain_error_command(*arguments); },
    };
}

}  // namespace orrery
