// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/validate.h"

#include <memory>
#include <string>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/program/calibration_file.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/spooled_input.h"
#include "scenarios/studies/validate/step_validation.h"

namespace orrery {
namespace {

Provenance validated_with(const ValidateArguments& arguments) {
    Provenance provenance = provenance_of("validate");
    provenance.add_input(arguments.file);
    if (!is_table_of_operations(arguments.file)) {
        provenance.add_input(control_table(default_catalogue()));
    }
    for (const std::string& family : arguments.families) {
        provenance.add_option("family", family);
    }
    for (const std::string& value : arguments.assume) {
        provenance.add_option("assume", value);
    }
    if (arguments.calibrate_with > 0) {
        provenance.add_option("calibrate_with", std::to_string(arguments.calibrate_with));
        provenance.add_option("draws", std::to_string(arguments.draws));
        provenance.seed = arguments.seed;
    }
    add_calibration(provenance, arguments.calibration_file);
    return provenance;
}

}  // namespace

int validate_command(const ValidateArguments& given) {
    const auto input = SpooledInput::of(given.file);
    if (!input) {
        return report_error(input.error());
    }
    ValidateArguments arguments = given;
    arguments.file = input->file();
    return run_study(arguments, arguments.file, "validating", [&](const auto& progress) {
        auto output = is_table_of_operations(arguments.file)
                          ? validate_table(arguments, progress)
                          : validate_step_table(arguments, progress);
        if (!output) {
            return ResultOrErrors<StudyOutput>{unexpected<Errors>(input->renamed(output.error()))};
        }
        output->provenance = validated_with(arguments);
        return output;
    });
}

Command describe_validate() {
    const auto arguments = std::make_shared<ValidateArguments>();
    return {
        .name = "validate",
        .group = CommandGroup::judge,
        .help = "Simulate published cases and compare with their measured step times",
        .options = joined(
            {{{"cases",
               &arguments->file,
               "Table of cases (CSV); '-' is standard input",
               "FILE",
               true},
              {"--family",
               &arguments->families,
               "Only the cases of a family; can be repeated",
               "NAME"},
              {"--assume",
               &arguments->assume,
               "Another value where a case's source does not state it; can be repeated",
               "COLUMN=VALUE"},
              number_option("--calibrate-with",
                            arguments->calibrate_with,
                            "Give the measured times of this many steps of each family, drawn, "
                            "and predict the others",
                            "K",
                            1,
                            1'000'000),
              number_option("--draws",
                            arguments->draws,
                            "With --calibrate-with: how many times steps are drawn",
                            "N",
                            1,
                            10'000),
              number_option("--seed",
                            arguments->seed,
                            "With --calibrate-with: seed of the draws",
                            "N",
                            0,
                            1'000'000'000),
              output_option(arguments->output,
                            "With --calibrate-with and one family: calibration to write, "
                            "for --calibration"),
              calibration_option(arguments->calibration_file),
              jobs_option(arguments->jobs)},
             view_options(*arguments, {.html = kPageHelp, .csv = "Write the cases as a table"})}),
        .examples = {"validate scenarios/catalogue/published/training.csv",
                     "validate scenarios/catalogue/published/training.csv --family korthikanti",
                     "validate scenarios/catalogue/published/megascale_ablation.csv --assume "
                     "gpu=a800-80g",
                     "validate mine.csv --family mine --calibrate-with 3 -o mine.yaml"},
        .run = [arguments] { return validate_command(*arguments); },
    };
}

}  // namespace orrery
