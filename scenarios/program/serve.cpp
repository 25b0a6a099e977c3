// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/serve.h"

#include <memory>

#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/serving_report.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {
namespace {

ResultOrErrors<StudyOutput> served(const Scenario& scenario) {
    const auto requests = requests_of(scenario.workload);
    if (!requests) {
        return unexpected<Errors>(requests.error());
    }
    ServingResult result;
    const auto answer = serve_scenario(
        scenario, scenario.serving, *requests, {.users = scenario.workload.users}, &result);
    if (!answer) {
        return unexpected<Errors>(Errors{answer.error()});
    }
    return StudyOutput{.report = serving_sections(scenario, *answer, result),
                       .json = serving_json(scenario, *answer),
                       .provenance = provenance_of("serve", scenario)};
}

}  // namespace

int serve_command(const ServeArguments& arguments) {
    ReadOptions read;
    read.serving = true;
    read.overrides = arguments.overrides;
    const ResultOrErrors<Scenario> scenario = read_scenario(arguments.file, read);
    if (!scenario) {
        return report_errors(scenario.error());
    }
    return run_study(arguments,
                     {.source = arguments.file, .label = "serving", .study = [&](const auto&) {
                          return served(*scenario);
                      }});
}

Command describe_serve() {
    const auto arguments = std::make_shared<ServeArguments>();
    return {
        .name = "serve",
        .help = "Serve a load of requests in simulated time",
        .options =
            joined({{scenario_option(arguments->file, "of kind serving"),
                     override_option(arguments->overrides)},
                    view_options(*arguments,
                                 {.html = kPageHelp, .csv = "Write the latencies as a table"})}),
        .examples = {"serve scenarios/serving/llama3-70b.yaml",
                     "serve scenarios/serving/llama3-70b.yaml --set workload.request_rate=20"},
        .run = [arguments] { return serve_command(*arguments); },
    };
}

}  // namespace orrery
