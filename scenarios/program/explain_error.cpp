// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/explain_error.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/validation_report.h"

namespace orrery {

int explain_error_command(const ExplainErrorArguments& arguments) {
    const std::filesystem::path published = default_catalogue() / "published";
    const std::vector<std::string> files =
        arguments.file.empty() ? std::vector<std::string>{published / "training.csv",
                                                          published / "training_more.csv",
                                                          published / "training_blind.csv"}
                               : std::vector<std::string>{arguments.file};
    return run_study(
        arguments,
        files.back(),
        "varying",
        [&](const std::function<void(double)>& progress) -> ResultOrErrors<StudyOutput> {
            const auto explained = explain_error(files, arguments.name, progress);
            if (!explained) {
                return unexpected<Errors>(explained.error());
            }
            StudyOutput output{.report = explained_error_sections(*explained),
                               .json = explained_error_json(*explained),
                               .provenance = provenance_of("explain-error")};
            output.provenance.add_option("case", arguments.name);
            for (const std::string& file : files) {
                output.provenance.add_input(file);
            }
            return output;
        });
}

Command describe_explain_error() {
    const auto arguments = std::make_shared<ExplainErrorArguments>();
    return {
        .name = "explain-error",
        .group = CommandGroup::judge,
        .help = "One published case: its waterfall, and which assumption moves it most",
        .options = joined(
            {{{"case", &arguments->name, "Name of the case", "NAME", true},
              {"--cases", &arguments->file, "Table of cases if not the catalogue's", "FILE"}},
             view_options(*arguments,
                          {.html = kPageHelp, .csv = "Write the parts of the step as a table"})}),
        .examples = {"explain-error MS-1024-M"},
        .run = [arguments] { return explain_error_command(*arguments); },
    };
}

}  // namespace orrery
