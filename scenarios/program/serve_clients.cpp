// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/standard_error.h"
#include "runtime/serve/http_endpoint.h"
#include "runtime/supervisor/stop_signals.h"
#include "scenarios/program/serve.h"

namespace orrery {
namespace {

// Time for unfinished answers after a signal. It is shorter than the launcher's wait for its ranks.
constexpr Time kGrace = Time::seconds(4);
// Connections beyond those of waiting or running requests: health, metrics, idle clients.
constexpr std::int64_t kOtherConnections = 32;

// The tokenizer beside the weights, or bytes without one.
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
                      .adapters = scenario.workload.adapters,
                      .vocabulary = std::min(model.vocab_size, tokenizer->vocabulary()),
                      .context = model.seq_length};
    served.tokenizer = std::move(*tokenizer);
    return served;
}

}  // namespace

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
    print_to_stderr(fmt::format("orrery: {} answers at http://{}:{}/v1\n",
                                served->model,
                                arguments.listen.substr(0, arguments.listen.rfind(':')),
                                *port));
    while (signals.pending() == 0 && server.status()) {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    endpoint.stop(kGrace);
    const LiveCounters counters = server.counters();
    const Result<void> status = server.status();
    server.stop();
    print_to_stderr(fmt::format("orrery: {} requests answered, {} cancelled, {} refused\n",
                                counters.finished,
                                counters.cancelled,
                                counters.refused));
    return status;
}

}  // namespace orrery
