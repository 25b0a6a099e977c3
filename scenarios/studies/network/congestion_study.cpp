// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/congestion_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "network/collectives/channel_router.h"
#include "network/collectives/group_layout.h"
#include "network/fabric/footprint.h"
#include "network/fluid/flow_runner.h"
#include "network/fluid/fluid.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/specs/network_words.h"
#include "scenarios/studies/network/flow_study.h"
#include "scenarios/studies/network/packet_study.h"

namespace orrery {
namespace {

constexpr std::uint32_t kNodesOfAllToAll = 32;  // the number of flows grows with its square
constexpr double kPacketsMax = 60e6;            // a simulation of some minutes

using MessagesOf = std::function<std::vector<NicMessage>(Bytes)>;

class PatternRun {
public:
    PatternRun(PacketStudy packets, Fabric fair, const packet::PacketParameters& parameters)
        : packets_(std::move(packets)),
          fair_(std::move(fair)),
          links_(fair_.links().begin(), fair_.links().end()),
          packet_bytes_(parameters.packet_bytes - parameters.header_bytes) {
        // As many bytes cross the wire as with packets.
        const double payload =
            static_cast<double>(packet_bytes_) / static_cast<double>(parameters.packet_bytes);
        const double share = payload / fair_.spec().fabric.efficiency;
        for (LinkInfo& link : links_) {
            const double bits = static_cast<double>(link.capacity.bits_per_second()) * share;
            link.capacity = Bandwidth::bits_per_second(static_cast<std::int64_t>(bits));
        }
    }

    const Fabric& fabric() const { return packets_.fabric(); }
    Result<CongestionRow> measure(const char* pattern,
                                  const MessagesOf& messages,
                                  const CongestionRequest& request) const;

private:
    Time fair_time(const std::vector<NicMessage>& messages) const;
    Result<Time> packet_time(const std::vector<NicMessage>& messages) const;

    PacketStudy packets_;
    Fabric fair_;
    std::vector<LinkInfo> links_;
    std::uint32_t packet_bytes_;
};

Time PatternRun::fair_time(const std::vector<NicMessage>& messages) const {
    const std::uint32_t queue_pairs = fair_.queue_pairs_apart();
    std::vector<RunnerFlow> flows;
    for (const NicMessage& message : messages) {
        for (std::uint32_t q = 0; q < queue_pairs; ++q) {
            flows.push_back({.bytes = share_of_queue_pair(message.bytes, q, queue_pairs)});
        }
    }
    FluidRates rates(links_);
    FlowRunner runner(links_, rates, {});
    runner.run(flows, [&](std::size_t i, const LinkState& state, FlowPath& out) {
        const NicMessage& m = messages[i / queue_pairs];
        const auto q = static_cast<std::uint32_t>(i % queue_pairs);
        Path path;
        fair_.route_nics(m.from, m.to, m.label, path, q, {.down = {}, .load = state.load});
        FootprintBuilder builder;
        builder.add(path, 1);
        out = {.footprint = builder.take(), .latency = path.latency};
        return true;
    });
    return runner.now();
}

Result<Time> PatternRun::packet_time(const std::vector<NicMessage>& messages) const {
    double packets = 0;
    for (const NicMessage& m : messages) {
        packets += static_cast<double>(m.bytes.count()) / packet_bytes_ + 1;
    }
    if (packets > kPacketsMax) {
        return fail("--ranks",
                    fmt::format("{:.3g} million packets are too many", packets * 1e-6),
                    "fewer ranks, or smaller sizes");
    }
    const auto run = packets_.run(messages, nullptr);
    if (!run) {
        return unexpected<Error>(run.error());
    }
    if (!run->finished) {
        return fail({},
                    "the packets do not all arrive",
                    run->waits.empty() ? std::string{} : run->waits.front());
    }
    return run->end;
}

Result<CongestionRow> PatternRun::measure(const char* pattern,
                                          const MessagesOf& messages,
                                          const CongestionRequest& request) const {
    const auto small = messages(request.small);
    const auto large = messages(request.large);
    CongestionRow row;
    row.pattern = pattern;
    row.messages = small.size();
    row.fair_small = fair_time(small);
    row.fair_large = fair_time(large);
    const auto packets_small = packet_time(small);
    if (!packets_small) {
        return unexpected<Error>(packets_small.error());
    }
    const auto packets_large = packet_time(large);
    if (!packets_large) {
        return unexpected<Error>(packets_large.error());
    }
    row.packets_small = *packets_small;
    row.packets_large = *packets_large;
    row.factor = fitted_factor(row);
    return row;
}

std::vector<RankId> first_ranks(std::uint32_t n) {
    std::vector<RankId> ranks;
    for (std::uint32_t rank = 0; rank < n; ++rank) {
        ranks.push_back(to_id<RankId>(rank));
    }
    return ranks;
}

// All ranks of a few nodes, which are spread evenly over the nodes of the first `ranks` ranks.
std::vector<RankId> spread_ranks(const Fabric& fabric, std::uint32_t ranks) {
    const std::uint32_t per_node = fabric.spec().node.gpus_per_node;
    const std::uint32_t nodes = std::max(1U, ranks / per_node);
    const std::uint32_t taken = std::min(nodes, kNodesOfAllToAll);
    std::vector<RankId> members;
    for (std::uint32_t i = 0; i < taken; ++i) {
        const std::uint32_t node = i * nodes / taken;
        for (std::uint32_t gpu = 0; gpu < per_node; ++gpu) {
            members.push_back(to_id<RankId>(node * per_node + gpu));
        }
    }
    return members;
}

// A message from a NIC of node `a` to the NIC of node `b` on the same rail.
NicMessage on_rail(
    const GroupLayout& layout, std::uint32_t a, std::uint32_t b, std::uint32_t rail, Bytes bytes) {
    return {.from = layout.rail(a, rail).nic,
            .to = layout.rail(b, rail).nic,
            .bytes = bytes,
            .label = flow_label(layout.rail_rank(a, rail), layout.rail_rank(b, rail), 0, 0)};
}

// Every node sends to the next one on every rail.
std::vector<NicMessage> ring_messages(const Fabric& fabric, std::uint32_t ranks, Bytes bytes) {
    const auto members = first_ranks(ranks);
    const GroupLayout layout(fabric, members);
    std::vector<NicMessage> messages;
    for (std::uint32_t rail = 0; rail < layout.num_rails(); ++rail) {
        for (std::uint32_t node = 0; node < layout.num_nodes(); ++node) {
            messages.push_back(on_rail(layout, node, (node + 1) % layout.num_nodes(), rail, bytes));
        }
    }
    return messages;
}

// A NIC sends `bytes` in total, evenly to the NICs of its rail.
std::vector<NicMessage> all_to_all_messages(const Fabric& fabric,
                                            std::uint32_t ranks,
                                            Bytes bytes) {
    const auto members = spread_ranks(fabric, ranks);
    const GroupLayout layout(fabric, members);
    const std::uint32_t nodes = layout.num_nodes();
    std::vector<NicMessage> messages;
    for (std::uint32_t a = 0; a < nodes; ++a) {
        for (std::uint32_t b = 0; b < nodes; ++b) {
            for (std::uint32_t rail = 0; a != b && rail < layout.num_rails(); ++rail) {
                messages.push_back(on_rail(layout, a, b, rail, Bytes{bytes.count() / (nodes - 1)}));
            }
        }
    }
    return messages;
}

// Messages between pipeline stages: every rank sends to the one half of the ranks further on.
std::vector<NicMessage> shift_messages(const Fabric& fabric, std::uint32_t ranks, Bytes bytes) {
    const std::uint32_t per_node = fabric.spec().node.gpus_per_node;
    return messages_of_pairs(fabric, traffic(TrafficPattern::pairs, ranks, per_node, 0), bytes);
}

Result<PatternRun> prepare(const Scenario& scenario, std::uint32_t ranks) {
    const packet::PacketParameters& p = scenario.network_settings.packet.parameters;
    const bool sprays = scenario.cluster.fabric.routing == RoutingKind::spray;
    if (scenario.network_settings.packet.spray_given &&
        sprays != (p.spray != packet::SprayKind::single)) {
        return fail(scenario.network_settings.packet.where,
                    "packets and the fabric's routing disagree on spraying",
                    "cluster.fabric.routing: spray where packets are sprayed");
    }
    if (!scenario.network_settings.events.empty()) {
        return fail(scenario.network_settings.events.front().where,
                    "factors are those of a network without faults",
                    "leave network.events out");
    }
    if (ranks < 2 * scenario.cluster.node.gpus_per_node) {
        return fail("--ranks",
                    fmt::format("{} ranks are less than two servers", ranks),
                    "factors are those of transfers between servers");
    }
    auto packets = PacketStudy::make(scenario.cluster, scenario.network_settings);
    if (!packets) {
        return unexpected<Error>(packets.error());
    }
    auto fair = build_fabric(scenario.cluster);
    if (!fair) {
        return unexpected<Error>(fair.error());
    }
    return PatternRun{std::move(*packets), std::move(*fair), p};
}

void put_factor(DocumentNode& entry, const std::string& key, const CongestionFactor& factor) {
    put(entry, key + ".efficiency", scalar_node(fmt::format("{:.4f}", factor.efficiency)));
    put(entry,
        key + ".queueing_delay",
        scalar_node(fmt::format("{:.3f} us", factor.queueing_delay.microseconds())));
}

}  // namespace

CongestionFactor fitted_factor(const CongestionRow& row) {
    const double fair = (row.fair_large - row.fair_small).seconds();
    const double packets = (row.packets_large - row.packets_small).seconds();
    CongestionFactor factor;
    if (fair > 0 && packets > 0) {
        factor.efficiency = std::clamp(fair / packets, 0.01, 1.5);
    }
    const double delay = row.packets_small.seconds() - row.fair_small.seconds() / factor.efficiency;
    factor.queueing_delay = Time::seconds(std::max(0.0, delay));
    return factor;
}

Result<CongestionStudy> measure_congestion(const Scenario& scenario,
                                           const CongestionRequest& request) {
    const std::uint32_t all = scenario.cluster.num_ranks();
    const std::uint32_t ranks = request.ranks == 0 ? all : request.ranks;
    if (ranks > all) {
        return fail("--ranks", fmt::format("{} ranks of {}", ranks, all), "at most all of them");
    }
    const auto measurement = prepare(scenario, ranks);
    if (!measurement) {
        return unexpected<Error>(measurement.error());
    }
    CongestionStudy study;
    study.factors.algorithm =
        word_of(scenario.network_settings.packet.parameters.congestion, kCongestionKinds);
    study.factors.name = scenario.name;
    study.factors.measured_on = scenario.cluster.fabric;
    const struct {
        const char* name;
        std::vector<NicMessage> (*messages)(const Fabric&, std::uint32_t, Bytes);
        CongestionFactor CongestionFactors::*factor;
    } patterns[] = {
        {"ring", ring_messages, &CongestionFactors::ring},
        {"all_to_all", all_to_all_messages, &CongestionFactors::all_to_all},
        {"point_to_point", shift_messages, &CongestionFactors::point_to_point},
    };
    for (const auto& pattern : patterns) {
        const auto messages = [&](Bytes bytes) {
            return pattern.messages(measurement->fabric(), ranks, bytes);
        };
        auto row = measurement->measure(pattern.name, messages, request);
        if (!row) {
            return unexpected<Error>(row.error());
        }
        study.factors.*pattern.factor = row->factor;
        study.rows.push_back(std::move(*row));
    }
    return study;
}

std::string congestion_entry(const CongestionStudy& study) {
    const FabricSpec& f = study.factors.measured_on;
    DocumentNode entry;
    put(entry, "kind", scalar_node("congestion_control"));
    put(entry, "algorithm", scalar_node(study.factors.algorithm));
    const auto set = [&](const char* key, std::string value) {
        put(entry, std::string{"measured_on."} + key, scalar_node(std::move(value)));
    };
    set("kind", std::string{word_of(f.kind, kFabricKinds)});
    set("nic_bandwidth", to_text(f.nic_bandwidth));
    if (f.kind != FabricKind::single_switch) {
        set("tiers", fmt::format("{}", f.tiers));
        set("multi_rail", fmt::format("{}", f.multi_rail));
        if (f.uplink_bandwidth != Bandwidth{}) {
            set("uplink_bandwidth", to_text(f.uplink_bandwidth));
        }
        set("oversubscription", fmt::format("{}", f.oversubscription));
        if (f.core_bandwidth != Bandwidth{}) {
            set("core_bandwidth", to_text(f.core_bandwidth));
        }
        set("spine_oversubscription", fmt::format("{}", f.spine_oversubscription));
        set("routing", std::string{word_of(f.routing, kRoutingKinds)});
        set("qps_per_connection", fmt::format("{}", f.qps_per_connection));
    }
    put_factor(entry, "ring", study.factors.ring);
    put_factor(entry, "all_to_all", study.factors.all_to_all);
    put_factor(entry, "point_to_point", study.factors.point_to_point);
    return to_yaml(
        entry,
        {fmt::format("Packets against fair shares of the same flows: orrery network --store, {}.",
                     study.factors.name)});
}

}  // namespace orrery
