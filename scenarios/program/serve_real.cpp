// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/serve_real.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include "runtime/serve/http_endpoint.h"
#include "runtime/supervisor/stop_signals.h"
#include "runtime/world.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/real_serving_report.h"
#include "scenarios/studies/serve/real_serving.h"

namespace orrery {
namespace {

// For answers under way, after a signal: less than the launcher of ranks has patience.
constexpr Time kGrace = Time::seconds(4);
// Connections beside those whose requests wait or run: health, metrics, idle clients.
constexpr std::int64_t kOtherConnections = 32;

ResultOrErrors<StudyOutput> served_for_real(const Scenario& scenario, Transport* transport) {
    const auto requests = requests_of(scenario.workload);
    if (!requests) {
        return unexpected<Errors>(requests.error());
    }
    const auto instances = real_instances(scenario, transport);
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
                       .provenance = provenance_of("serve", scenario)};
}

// The tokenizer that lies beside the weights; by bytes if none does.
Result<ServedName> served_name(const Scenario& scenario) {
    const std::filesystem::path& weights = scenario.serving.weights;
    std::vector<std::filesystem::path> folders;
    if (!weights.empty()) {
        folders = {weights, weights / "..", weights.parent_path()};
    }
    Result<Tokenizer> tokenizer = Tokenizer::find(folders);
    if (!tokenizer) {
        return unexpected<Error>(tokenizer.error());
    }
    const Transformer& model = scenario.model;
    ServedName served{.model = model.name.empty() ? scenario.name : model.name,
                      .vocabulary = std::min(model.vocab_size, tokenizer->vocabulary()),
                      .context = model.seq_length};
    served.tokenizer = std::move(*tokenizer);
    return served;
}

// Until a signal comes, or the model can no longer be computed.
Result<void> serve_clients(const ServeArguments& arguments,
                           const Scenario& scenario,
                           const RealInstances& instances) {
    const Result<ListenAddress> address = listen_address(arguments.listen);
    if (!address) {
        return fail("--listen", address.error().what, address.error().hint);
    }
    auto served = served_name(scenario);
    if (!served) {
        return unexpected<Error>(served.error());
    }
    const StopSignals signals;  // before any thread
    std::random_device random;
    LiveServer server{instances.live_pools(),
                      {.context = scenario.model.seq_length,
                       .max_queue = arguments.max_queue,
                       .salt = (std::uint64_t{random()} << 32) | random()}};
    HttpEndpoint endpoint{server,
                          *served,
                          {.max_body = arguments.max_body,
                           .max_connections = arguments.max_queue + kOtherConnections}};
    const auto port = endpoint.start(*address);
    if (!port) {
        return fail("--listen", port.error().what, port.error().hint);
    }
    fmt::print(stderr,
               "orrery: {} answers at http://{}:{}/v1\n",
               served->model,
               arguments.listen.substr(0, arguments.listen.rfind(':')),
               *port);
    while (signals.pending() == 0 && server.status()) {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    endpoint.stop(kGrace);
    const LiveCounters counters = server.counters();
    const Result<void> status = server.status();
    server.stop();
    fmt::print(stderr,
               "orrery: {} requests answered, {} cancelled, {} refused\n",
               counters.finished,
               counters.cancelled,
               counters.refused);
    return status;
}

// The same command line, once more for each rank.
int start_ranks(const ServeArguments& arguments, std::int64_t num_ranks) {
    std::vector<std::string> again{"serve", arguments.file, "--real"};
    const auto pass_on = [&](const char* option, const std::string& value) {
        if (!value.empty()) {
            again.insert(again.end(), {option, value});
        }
    };
    for (const std::string& one : arguments.overrides) {
        pass_on("--set", one);
    }
    pass_on("--listen", arguments.listen);
    pass_on("--max-queue", std::to_string(arguments.max_queue));
    pass_on("--max-body", std::to_string(arguments.max_body));
    pass_on("--format", arguments.format);
    pass_on("--html", arguments.html_file);
    pass_on("--csv", arguments.csv_file);
    if (arguments.json) {
        again.emplace_back("--json");
    }
    const Result<int> status = run_ranks(static_cast<std::uint32_t>(num_ranks), again);
    if (!status) {
        return report_error(status.error());
    }
    // Rank 0 may have been stopped before it noticed.
    const int signal = *status - 128;
    if (signal > 0 && signal != SIGINT && signal != SIGTERM) {
        report_error({arguments.file,
                      fmt::format("a rank was ended by signal {}", signal),
                      "nothing is served without it; start the command again"});
    }
    return *status;
}

int follow(const ServeArguments& arguments, const Scenario& scenario, World& world) {
    const Errors errors = follow_instance(scenario, *world.transport);
    return errors.empty() ? kExitOk : report_errors(placed(errors, arguments.file));
}

int serve_here(const ServeArguments& arguments, const Scenario& scenario, Transport* transport) {
    if (arguments.listen.empty()) {
        return run_study(arguments,
                         {.source = arguments.file, .label = "serving", .study = [&](const auto&) {
                              return served_for_real(scenario, transport);
                          }});
    }
    const auto instances = real_instances(scenario, transport);
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
    const auto grid = real_grid(scenario);
    if (!grid) {
        return report_errors(placed(grid.error(), arguments.file));
    }
    const std::int64_t num_ranks = grid->num_ranks();
    if (num_ranks == 1) {
        return serve_here(arguments, scenario, nullptr);
    }
    const Result<Place> place = find_place();
    if (!place) {
        return report_error(place.error());
    }
    if (place->num_ranks == 1) {
        return start_ranks(arguments, num_ranks);
    }
    if (place->num_ranks != static_cast<std::uint32_t>(num_ranks)) {
        return report_error({arguments.file,
                             fmt::format("the instances have {} ranks, and there are {} processes",
                                         num_ranks,
                                         place->num_ranks),
                             "one process for each rank, or none but this one"});
    }
    // The threads of the transport must inherit that signals are kept, so this comes before them.
    // The launcher passes a signal to all ranks; rank 0 answers it, and the others end with rank 0.
    const StopSignals signals;
    Result<World> world = join_world();
    if (!world) {
        return report_error(world.error());
    }
    return world->rank > 0 ? follow(arguments, scenario, *world)
                           : serve_here(arguments, scenario, world->transport.get());
}

}  // namespace orrery
