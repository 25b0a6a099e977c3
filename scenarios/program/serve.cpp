// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/serve.h"

#include <functional>
#include <memory>

#include "scenarios/program/any_scenario.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/unread_keys.h"
#include "scenarios/report/served_load_sections.h"
#include "scenarios/report/serving_report.h"
#include "scenarios/report/trace/perfetto_trace.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {
namespace {

constexpr std::size_t kMostTraced = 1'000'000;  // steps

ResultOrErrors<StudyOutput> served(const ServeArguments& arguments,
                                   const Scenario& scenario,
                                   const std::function<void(double)>& progress) {
    const auto requests = requests_of(scenario);
    if (!requests) {
        return unexpected<Errors>(requests.error());
    }
    ServingResult result;
    const auto timeline = std::make_shared<ServedTimeline>();
    timeline->keep(arguments.trace_file.empty() ? 0 : kMostTraced);
    const auto answer = serve_scenario(scenario,
                                       scenario.serving,
                                       *requests,
                                       {.users = scenario.workload.users, .progress = progress},
                                       &result,
                                       timeline.get());
    if (!answer) {
        return unexpected<Errors>(Errors{answer.error()});
    }
    return StudyOutput{.report = serving_sections(scenario, *answer, result, *timeline),
                       .json = serving_json(scenario, *answer, *timeline),
                       .provenance = provenance_of("serve", scenario),
                       .product = arguments.output.empty() ? "" : requests_csv(*requests, result),
                       .write_trace = [answer = *answer, timeline](const std::string& file) {
                           return write_serving_trace(file, answer, *timeline);
                       }};
}

}  // namespace

int serve_command(const ServeArguments& arguments) {
    const ResultOrErrors<Scenario> scenario = read_served_load(arguments.file, arguments.overrides);
    if (!scenario) {
        return report_errors(scenario.error());
    }
    if (arguments.real || !arguments.listen.empty()) {
        return serve_for_real_command(arguments, *scenario);
    }
    if (!arguments.device.empty()) {
        return report_error(
            {"--device", "says where a model is served for real", "--real, or leave it out"});
    }
    note_faults_left_out(*scenario, FaultUser::serving);
    return run_study(arguments, arguments.file, "serving", [&](const auto& done) {
        return served(arguments, *scenario, done);
    });
}

std::vector<CommandOption> serve_options(ServeArguments& arguments) {
    return joined(
        {{scenario_option(arguments.file, "its kind is serving"),
          override_option(arguments.overrides, keys_of_load()),
          output_option(arguments.output, "Table of all requests to write (CSV)"),
          {"--real", &arguments.real, "Decode on this machine and replay the load in real time"},
          device_option(arguments.device,
                        "With --real: cpu (if not given), or cuda for models without "
                        "experts, one GPU an instance"),
          {"--listen",
           &arguments.listen,
           "Answer clients of OpenAI's API instead of a load (with --real)",
           "ADDRESS:PORT"},
          number_option("--max-queue",
                        arguments.max_queue,
                        "Most requests of clients that wait or run at a time (256)",
                        "N",
                        1,
                        1'000'000),
          number_option("--max-body",
                        arguments.max_body,
                        "Most bytes of a client's request (1048576)",
                        "BYTES",
                        1,
                        1'000'000'000)},
         view_options(arguments,
                      {.html = kPageHelp,
                       .csv = "Write the latencies as a table",
                       .trace = "Write a Perfetto trace of every instance's batches, "
                                "at most a million steps"})});
}

Command describe_serve() {
    const auto arguments = std::make_shared<ServeArguments>();
    return {
        .name = "serve",
        .group = CommandGroup::predict,
        .help = "Serve a load of requests in simulated time, or for real",
        .options = serve_options(*arguments),
        .examples = {"serve scenarios/serving/llama3-70b.yaml",
                     "serve scenarios/serving/llama3-70b.yaml --set workload.request_rate=20",
                     "serve --real scenarios/serve-tiny-cpu.yaml"},
        .run = [arguments] { return serve_command(*arguments); },
    };
}

}  // namespace orrery
