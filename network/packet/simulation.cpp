// SPDX-License-Identifier: Apache-2.0
#include "network/packet/simulation.h"

#include <fmt/format.h>

#include "engine/base/check.h"
#include "network/packet/packet_engine.h"

namespace orrery::packet {

namespace {

constexpr std::int64_t kPacketsMax = 1'000'000'000;  // per flow

Result<void> check_path(const Topology& topology, const FlowSpec& flow) {
    if (flow.path.empty()) {
        return {};
    }
    std::uint32_t node = flow.source;
    for (const std::uint32_t port : flow.path) {
        if (port >= topology.num_ports() || topology.port(port).from != node) {
            return fail(
                {},
                fmt::format("the path of a flow does not go on at {}", topology.node_name(node)),
                "give the ports from source to destination in order");
        }
        node = topology.port(port).to;
    }
    if (node != flow.destination) {
        return fail({},
                    fmt::format("the path of a flow ends at {}, not at host {}",
                                topology.node_name(node),
                                flow.destination),
                    "give the ports from source to destination in order");
    }
    return {};
}

}  // namespace

Simulation::Simulation(std::unique_ptr<PacketEngine> engine) : engine_(std::move(engine)) {}
Simulation::Simulation(Simulation&&) noexcept = default;
Simulation& Simulation::operator=(Simulation&&) noexcept = default;
Simulation::~Simulation() = default;

Result<Simulation> Simulation::create(const Topology& topology,
                                      const PacketParameters& parameters) {
    auto complete = derived(parameters, topology.shape());
    if (!complete) {
        return unexpected<Error>(complete.error());
    }
    return Simulation(std::make_unique<PacketEngine>(topology, *complete));
}

Result<std::uint32_t> Simulation::add_flow(const FlowSpec& flow) {
    const Topology& topology = engine_->topology();
    if (flow.source >= topology.num_hosts() || flow.destination >= topology.num_hosts() ||
        flow.source == flow.destination) {
        return fail(
            {},
            fmt::format("a flow goes from host {} to host {}", flow.source, flow.destination),
            fmt::format("two different hosts of 0 to {}", topology.num_hosts() - 1));
    }
    if (flow.bytes < Bytes{} || flow.start.picoseconds() < engine_->now()) {
        return fail({}, "a flow has negative bytes or starts in the past", "start at now or later");
    }
    const PacketParameters& p = engine_->parameters();
    if (flow.bytes / Bytes{p.packet_bytes - p.header_bytes} >= kPacketsMax) {
        return fail({}, "a flow has too many packets", fmt::format("at most {}", kPacketsMax));
    }
    if (auto checked = check_path(topology, flow); !checked) {
        return unexpected<Error>(checked.error());
    }
    return engine_->add_flow(flow);
}

void Simulation::set_rate(Time at, std::uint32_t port, Bandwidth rate) {
    ORRERY_CHECK(at.picoseconds() >= engine_->now() && port < engine_->topology().num_ports());
    engine_->set_rate(at.picoseconds(), port, rate);
}

void Simulation::set_host_paused(Time at, std::uint32_t host, bool paused) {
    ORRERY_CHECK(at.picoseconds() >= engine_->now() && host < engine_->topology().num_hosts());
    engine_->set_host_paused(at.picoseconds(), host, paused);
}

void Simulation::run(const std::function<void(std::int64_t)>& progress) {
    constexpr std::uint64_t kEventsBetween = 1 << 20;
    while (engine_->run_events(kEventsBetween)) {
        if (progress) {
            std::int64_t received = 0;
            for (const Flow& flow : engine_->flows()) {
                received += flow.result.bytes_received;
            }
            progress(received);
        }
    }
}

bool Simulation::run_until(Time limit, std::vector<std::uint32_t>& ended) {
    ended.clear();
    engine_->run_until(limit.picoseconds(), &ended);
    return !ended.empty();
}

Time Simulation::now() const {
    return Time::picoseconds(engine_->now());
}

std::uint32_t Simulation::num_flows() const {
    return static_cast<std::uint32_t>(engine_->flows().size());
}

std::uint32_t Simulation::num_unfinished() const {
    return engine_->num_unfinished();
}

FlowResult Simulation::flow(std::uint32_t id) const {
    FlowResult result = engine_->flows()[id].result;
    result.state = engine_->flows()[id].state;
    return result;
}

PortStatistics Simulation::port(std::uint32_t id) const {
    return engine_->statistics(id);
}

Totals Simulation::totals() const {
    return engine_->totals();
}

std::int64_t Simulation::queue_bytes(std::uint32_t port) const {
    return engine_->queue_bytes(port);
}

std::int64_t Simulation::window(std::uint32_t flow) const {
    return engine_->flows()[flow].sender.window;
}

std::int64_t Simulation::rate(std::uint32_t flow) const {
    return engine_->flows()[flow].sender.rate;
}

std::vector<std::string> Simulation::waits() const {
    std::vector<std::string> lines;
    for (std::uint32_t id = 0; id < num_flows(); ++id) {
        if (engine_->flows()[id].state != FlowState::finished) {
            lines.push_back(engine_->wait_of(id));
        }
    }
    return lines;
}

const PacketParameters& Simulation::parameters() const {
    return engine_->parameters();
}

}  // namespace orrery::packet
