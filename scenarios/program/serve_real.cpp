// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "runtime/supervisor/stop_signals.h"
#include "runtime/world.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/serve.h"
#include "scenarios/report/served_load_sections.h"
#include "scenarios/report/serving_report.h"
#include "scenarios/studies/serve/real_serving.h"

namespace orrery {
namespace {

ResultOrErrors<StudyOutput> served_for_real(const Scenario& scenario,
                                            Transport* transport,
                                            DeviceChoice device) {
    const auto requests = requests_of(scenario.workload);
    if (!requests) {
        return unexpected<Errors>(requests.error());
    }
    const auto instances = real_instances(scenario, transport, device);
    if (!instances) {
        return unexpected<Errors>(instances.error());
    }
    ServingResult result;
    const auto answer = serve_for_real(scenario, *instances, *requests, &result);
    if (!answer) {
        return unexpected<Errors>(answer.error());
    }
    return StudyOutput{.report = real_serving_sections(scenario, *answer, result),
                       .json = real_serving_json(scenario, *answer),
                       .provenance = provenance_of("serve", scenario),
                       .product = requests_csv(*requests, result)};
}

int follow(const ServeArguments& arguments, const Scenario& scenario, ProcessWorld& world) {
    const Errors errors = follow_instance(scenario, *world.transport);
    return errors.empty() ? kExitOk : report_errors(placed(errors, arguments.file));
}

int serve_here(const ServeArguments& arguments,
               const Scenario& scenario,
               DeviceChoice device,
               Transport* transport) {
    if (arguments.listen.empty()) {
        return run_study(arguments, arguments.file, "serving", [&](const auto&) {
            return served_for_real(scenario, transport, device);
        });
    }
    const auto instances = real_instances(scenario, transport, device);
    if (!instances) {
        return report_errors(placed(instances.error(), arguments.file));
    }
    const Result<void> served = serve_clients(arguments, scenario, *instances);
    return served ? kExitOk : report_error(served.error());
}

}  // namespace

int serve_for_real_command(const ServeArguments& arguments, const Scenario& scenario) {
    if (!arguments.real) {
        return report_error(
            {"--listen", "answers clients of a model that is served for real", "--real"});
    }
    if (!arguments.trace_file.empty()) {
        return report_error({"--trace",
                             "shows the steps of a simulated server",
                             "leave out --real, or --output writes the times of all requests"});
    }
    const auto grid = real_grid(scenario);
    if (!grid) {
        return report_errors(placed(grid.error(), arguments.file));
    }
    const auto device = device_choice(arguments.device.empty() ? "cpu" : arguments.device);
    if (!device || *device == DeviceChoice::automatic) {
        return report_error({"--device", arguments.device + " is no device", "cpu or cuda"});
    }
    if (const Errors errors = check_device(scenario, *grid, *device); !errors.empty()) {
        return report_errors(placed(errors, arguments.file));
    }
    const std::int64_t num_ranks = grid->num_ranks();
    if (num_ranks == 1) {
        return serve_here(arguments, scenario, *device, nullptr);
    }
    const Result<Place> place = find_place();
    if (!place) {
        return report_error(place.error());
    }
    if (place->num_ranks == 1) {
        return start_serving_ranks(arguments, num_ranks);
    }
    if (place->num_ranks != static_cast<std::uint32_t>(num_ranks)) {
        return report_error({arguments.file,
                             fmt::format("the instances have {} ranks, and there are {} processes",
                                         num_ranks,
                                         place->num_ranks),
                             "one process for each rank, or none but this one"});
    }
    // The threads of the transport inherit the signal mask, so it is set before they start. The
    // launcher passes a signal to all ranks. Rank 0 handles it, and the others end with rank 0.
    const StopSignals signals;
    Result<ProcessWorld> world = join_world();
    if (!world) {
        return report_error(world.error());
    }
    return world->rank > 0 ? follow(arguments, scenario, *world)
                           : serve_here(arguments, scenario, *device, world->transport.get());
}

}  // namespace orrery
