// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/check.h"

#include <fmt/format.h>

#include <memory>

#include "scenarios/format/document/yaml_document.h"
#include "scenarios/program/any_scenario.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/show_output.h"
#include "scenarios/program/unread_keys.h"
#include "scenarios/report/checked_file.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/studies/sweep/study.h"

namespace orrery {
namespace {

bool is_study(const std::string& file) {
    const auto document = read_yaml_file(file);
    return document && document->is_map() && document->find("cluster") == nullptr &&
           (document->find("grid") != nullptr || document->find("points") != nullptr);
}

// Checks a study and each of its scenarios with the keys of all points.
CheckedFile check_study(const std::string& file) {
    CheckedFile checked{.file = file, .kind = "study"};
    const ResultOrErrors<Study> study = read_study(file, unread_in_study);
    if (!study) {
        checked.errors = study.error();
        return checked;
    }
    std::vector<std::string> changes;
    for (const auto& [key, value] : study->common) {
        changes.push_back(key + "=" + value);
    }
    for (const std::filesystem::path& scenario : study->scenarios) {
        if (const auto read = read_any_scenario(scenario.string(), changes); !read) {
            checked.errors.insert(checked.errors.end(), read.error().begin(), read.error().end());
        }
    }
    checked.summary =
        fmt::format("{} of {}",
                    counted(study->size(), "point"),
                    counted(static_cast<std::int64_t>(study->scenarios.size()), "scenario"));
    return checked;
}

CheckedFile check_scenario(const std::string& file, const std::vector<std::string>& overrides) {
    CheckedFile checked{.file = file, .kind = "scenario"};
    const ResultOrErrors<Scenario> scenario = read_any_scenario(file, overrides);
    if (!scenario) {
        checked.errors = scenario.error();
        return checked;
    }
    if (is_network_alone(*scenario)) {
        checked.kind = "network";
    }
    checked.summary = summary_of(*scenario, is_network_alone(*scenario));
    return checked;
}

}  // namespace

int check_command(const CheckArguments& arguments) {
    std::vector<CheckedFile> files;
    bool right = true;
    for (const std::string& file : arguments.files) {
        files.push_back(is_study(file) ? check_study(file)
                                       : check_scenario(file, arguments.overrides));
        const Errors& errors = files.back().errors;
        right = right && errors.empty();
        if (!errors.empty() && !arguments.json && arguments.format != "json") {
            report_errors(errors);
        }
    }
    const int status = right ? kExitOk : kExitUserError;
    return show_output(arguments,
                       {.report = checked_sections(files),
                        .json = checked_json(files),
                        .provenance = provenance_of("check"),
                        .text = checked_text(files),
                        .status = status});
}

Command describe_check() {
    const auto arguments = std::make_shared<CheckArguments>();
    return {
        .name = "check",
        .group = CommandGroup::scenarios,
        .help = "Read and validate scenarios and studies without running them",
        .options = joined({{{"files",
                             &arguments->files,
                             "Scenario or study files (YAML); '-' is standard input",
                             "FILE",
                             true},
                            override_option(arguments->overrides, every_key())},
                           view_options(*arguments, {})}),
        .examples = {"check scenarios/llama3-8b-h100.yaml", "check scenarios/*.yaml"},
        .run = [arguments] { return check_command(*arguments); },
    };
}

}  // namespace orrery
