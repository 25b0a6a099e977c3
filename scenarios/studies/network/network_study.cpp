// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/network_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>

#include "network/fabric/fabric_remarks.h"
#include "network/fluid/uncontended.h"
#include "network/measured_network.h"
#include "network/nccl_network.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/format/specs/network_words.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/network/collective_flows.h"
#include "scenarios/studies/network/flow_study.h"
#include "scenarios/studies/network/link_events.h"
#include "scenarios/studies/network/link_use.h"
#include "scenarios/studies/network/network_pattern.h"
#include "scenarios/studies/network/network_rates.h"
#include "scenarios/studies/network/packet_study.h"

namespace orrery {
namespace {

constexpr std::size_t kBusiestShown = 8;
constexpr std::size_t kLinksTraced = 32;

class NetworkStudy {
public:
    NetworkStudy(const Scenario& scenario, const NetworkRequest& request, NetworkTrace& trace)
        : scenario_(scenario), request_(request), trace_(trace) {}

    Result<NetworkAnswer> run();

private:
    Result<void> prepare();
    Result<void> run_size(Bytes size, bool last);
    Result<void> run_packets(Bytes size, bool last);
    // `start_up` gets the longest start-up of a transfer.
    std::vector<NicMessage> messages_of_transfers(Bytes size, Time& start_up) const;
    Time time_of_servers(Bytes size, NetworkRow& row) const;
    void finish_row(NetworkRow& row);
    NetworkRow new_row(Bytes size) const;
    std::vector<FlowEnd> run_channels(CollectiveFlows& flows,
                                      FlowRunner& runner,
                                      Bytes size,
                                      NetworkRow& row) const;
    std::vector<RankPair> pairs() const;
    CollectiveCall call_of(Bytes size) const;
    void use_of_links(const FlowRunner& runner, Bytes size);
    void use_of_links(const Fabric& fabric,
                      std::span<const std::int64_t> bytes,
                      std::span<const std::uint32_t> crossings,
                      Time duration,
                      Bytes size);
    void say(Bytes size, double share) const;
    void note_changes();
    void note_waits(std::span<const std::string> names, std::span<const FlowEnd> ends);
    FlowRunnerOptions runner_options(bool last) const;

    const Scenario& scenario_;
    const NetworkRequest& request_;
    NetworkTrace& trace_;
    NetworkPattern pattern_;
    std::unique_ptr<NcclNetwork> network_;
    std::optional<PacketStudy> packets_;
    std::unique_ptr<NcclNetwork> connections_;  // numbered, on the fabric of packets_
    std::vector<LinkChange> changes_;
    std::vector<RankId> members_;
    std::vector<std::string> waits_;  // waits of the last run
    NetworkAnswer answer_;
};

Result<void> NetworkStudy::prepare() {
    const auto& patterns = all_network_patterns();
    const auto known = std::find_if(patterns.begin(), patterns.end(), [&](const NetworkPattern& p) {
        return p.name == request_.pattern;
    });
    if (known == patterns.end()) {
        std::string names;
        for (const NetworkPattern& p : patterns) {
            names += (names.empty() ? "" : ", ") + p.name;
        }
        return fail("--pattern", fmt::format("no pattern '{}'", request_.pattern), names);
    }
    pattern_ = *known;
    if (const auto ready = check_fidelity(scenario_.network); !ready) {
        return ready;
    }
    auto fabric = build_fabric(scenario_.cluster);
    if (!fabric) {
        return unexpected<Error>(fabric.error());
    }
    const std::uint32_t all = fabric->num_ranks();
    const std::uint32_t ranks = request_.ranks == 0 ? all : request_.ranks;
    if (ranks > all || ranks < 2) {
        return fail(request_.ranks == 0 ? "" : "--ranks",
                    fmt::format("{} ranks of {}", ranks, all),
                    "a pattern takes at least two ranks, and a rank is a GPU of the cluster");
    }
    if (scenario_.network == NetworkFidelity::packet) {
        auto packets = PacketStudy::make(scenario_.cluster, scenario_.network_settings);
        if (!packets) {
            return unexpected<Error>(packets.error());
        }
        packets_ = std::move(*packets);
    } else {
        auto changes = link_changes(*fabric, scenario_.network_settings.events);
        if (!changes) {
            return unexpected<Error>(changes.error());
        }
        changes_ = std::move(*changes);
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        members_.push_back(to_id<RankId>(rank));
    }
    NcclNetworkOptions options = nccl_options(scenario_);
    options.contention = scenario_.network != NetworkFidelity::analytic;
    options.congestion = scenario_.network == NetworkFidelity::packet
                             ? std::nullopt
                             : scenario_.network_settings.congestion;
    if (scenario_.network == NetworkFidelity::packet) {
        options.all_to_all_share = 1;  // packets model waits
    }
    network_ = std::make_unique<NcclNetwork>(std::move(*fabric), options);
    if (packets_) {
        options.number_connections = true;
        connections_ = std::make_unique<NcclNetwork>(packets_->fabric(), options);
    }
    return {};
}

FlowRunnerOptions NetworkStudy::runner_options(bool last) const {
    return {.changes = changes_,
            .convergence = scenario_.network_settings.convergence,
            .timeout = scenario_.network_settings.timeout,
            .batch = scenario_.network_settings.batch,
            .keep_spans = last && request_.trace};
}

NetworkRow NetworkStudy::new_row(Bytes size) const {
    const auto kind = pattern_.collective;
    const bool sums = kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
    return {.size = size, .count = size.count() / 4, .reduction = sums ? "sum" : "none"};
}

Result<void> NetworkStudy::run_size(Bytes size, bool last) {
    if (packets_) {
        return run_packets(size, last);
    }
    const auto rates = make_rates(scenario_.network, network_->links());
    FlowRunner runner(network_->links(), *rates, runner_options(last));
    NetworkRow row = new_row(size);
    std::vector<FlowEnd> ends;
    if (pattern_.traffic) {
        FlowStudy flows(network_->fabric(), pairs());
        ends = flows.run(runner, size);
        answer_.flows.push_back(flows.times(size, ends));
        if (last && request_.trace) {
            flows.draw(runner, ends, trace_);
        }
        note_waits(flows.names(), ends);
    } else {
        CollectiveFlows flows(*network_, members_, !changes_.empty());
        ends = run_channels(flows, runner, size, row);
        if (last && request_.trace) {
            flows.draw(runner, trace_);
        }
        note_waits(flows.names(), ends);
    }
    row.time = runner.now();
    for (const FlowEnd& end : ends) {
        row.finished = row.finished && end.finished;
    }
    finish_row(row);
    answer_.rate_solves += rates->num_solves();
    if (last) {
        use_of_links(runner, size);
    }
    return {};
}

void NetworkStudy::finish_row(NetworkRow& row) {
    const double seconds = row.time.seconds();
    row.algbw = seconds > 0 ? static_cast<double>(row.size.count()) / seconds * 1e-9 : 0;
    const auto ranks = static_cast<std::uint32_t>(members_.size());
    row.busbw = row.algbw * bus_factor(pattern_.collective, ranks);
    const bool collective = pattern_.collective || !pattern_.traffic;
    if (collective && ranks <= scenario_.cluster.node.gpus_per_node) {
        const TransferKind kind =
            pattern_.collective ? transfer_kind(*pattern_.collective) : TransferKind::send_recv;
        row.measured = TransferTimes{request_.measured}
                           .time(kind, Dtype::fp32, row.size, ranks)
                           .value_or(Time{});
    }
    answer_.rows.push_back(row);
}

// Time of a collective that only NVLink, PCIe, protocol and start-up limit.
Time NetworkStudy::time_of_servers(Bytes size, NetworkRow& row) const {
    UncontendedRates rates(network_->links());
    FlowRunner runner(network_->links(), rates, {});
    if (!pattern_.traffic) {
        CollectiveFlows flows(*network_, members_, false);
        run_channels(flows, runner, size, row);
    }
    return runner.now();
}

std::vector<FlowEnd> NetworkStudy::run_channels(CollectiveFlows& flows,
                                                FlowRunner& runner,
                                                Bytes size,
                                                NetworkRow& row) const {
    return pattern_.collective ? flows.run_collective(runner, call_of(size), row)
                               : flows.run_messages(runner, size, row);
}

// Notes the flows that did not end, and the links for which they wait.
void NetworkStudy::note_waits(std::span<const std::string> names, std::span<const FlowEnd> ends) {
    auto notes = wait_notes(network_->fabric(), names, ends);
    waits_.insert(waits_.end(), notes.begin(), notes.end());
}

// Messages of the collective, or of every rank to the next one, on their connections.
std::vector<NicMessage> NetworkStudy::messages_of_transfers(Bytes size, Time& start_up) const {
    std::vector<NicMessage> messages;
    const auto add = [&](const TransferCall& call, std::span<const RankId> members) {
        const auto own = messages_of_transfer(*connections_, call, members);
        messages.insert(messages.end(), own.begin(), own.end());
        start_up = std::max(start_up, network_->plan(call, members).phases.at(0).latency);
    };
    if (pattern_.collective) {
        add(call_of(size), members_);
        return messages;
    }
    for (std::size_t r = 0; r < members_.size(); ++r) {
        add(SendCall{.bytes = size, .ranks = static_cast<std::uint32_t>(members_.size())},
            std::array{members_[r], members_[(r + 1) % members_.size()]});
    }
    return messages;
}

// On packets: NCCL's start-up, then the bytes on every connection, but not faster than inside the
// servers.
Result<void> NetworkStudy::run_packets(Bytes size, bool last) {
    NetworkRow row = new_row(size);
    const Time servers = time_of_servers(size, row);
    Time start_up;
    const std::vector<NicMessage> messages =
        pattern_.traffic ? messages_of_pairs(network_->fabric(), pairs(), size)
                         : messages_of_transfers(size, start_up);
    auto run = packets_->run(messages,
                             last && request_.trace ? &trace_ : nullptr,
                             [&](double share) { say(size, share); });
    if (!run) {
        return unexpected<Error>(run.error());
    }
    row.time = std::max(servers, start_up + run->end);
    row.finished = run->finished;
    finish_row(row);
    if (pattern_.traffic) {
        answer_.flows.push_back(summarise(size, run->flows));
    }
    run->counts.size = size;
    answer_.packets.push_back(run->counts);
    answer_.notes.insert(answer_.notes.end(), run->waits.begin(), run->waits.end());
    if (last) {
        trace_.title = fmt::format("{} of {} B", request_.pattern, size.count());
        const std::vector<std::uint32_t> none(run->link_bytes.size(), 0);
        use_of_links(packets_->fabric(), run->link_bytes, none, row.time, size);
    }
    return {};
}

std::vector<RankPair> NetworkStudy::pairs() const {
    return traffic(*pattern_.traffic,
                   static_cast<std::uint32_t>(members_.size()),
                   scenario_.cluster.node.gpus_per_node,
                   scenario_.network_settings.seed);
}

CollectiveCall NetworkStudy::call_of(Bytes size) const {
    CollectiveCall call;
    call.kind = *pattern_.collective;
    call.bytes = size;
    call.wire = Dtype::fp32;
    return call;
}

void NetworkStudy::use_of_links(const Fabric& fabric,
                                std::span<const std::int64_t> bytes,
                                std::span<const std::uint32_t> crossings,
                                Time duration,
                                Bytes size) {
    answer_.links_size = size;
    answer_.classes = use_by_class(fabric, bytes, duration);
    answer_.heat = heat_by_class(fabric, bytes, duration, kHeatCells);
    for (const LinkId link : busiest_links(fabric, bytes, kBusiestShown)) {
        const std::size_t l = index(link);
        answer_.busiest.push_back(
            {.link = fabric.link_name(link),
             .utilisation = utilisation(fabric.links()[l].capacity, bytes[l], duration),
             .bytes = bytes[l],
             .flows = crossings[l]});
    }
}

void NetworkStudy::use_of_links(const FlowRunner& runner, Bytes size) {
    const Fabric& fabric = network_->fabric();
    const auto& bytes = runner.link_bytes();
    std::vector<std::uint32_t> crossings(bytes.size(), 0);
    for (const auto& path : runner.paths()) {
        for (const LinkShare& share : path) {
            crossings[index(share.link)] += share.count;
        }
    }
    use_of_links(fabric, bytes, crossings, runner.now(), size);
    if (request_.trace) {
        std::vector<LinkId> traced = busiest_links(fabric, bytes, kLinksTraced);
        for (const LinkChange& change : changes_) {
            if (std::find(traced.begin(), traced.end(), change.link) == traced.end()) {
                traced.push_back(change.link);
            }
        }
        trace_.counters = link_counters(fabric, runner, traced);
        trace_.title = fmt::format("{} of {} B", request_.pattern, size.count());
    }
}

void NetworkStudy::note_changes() {
    const Fabric& fabric = network_->fabric();
    for (const LinkChange& change : changes_) {
        const bool down = change.capacity == Bandwidth{};
        answer_.notes.push_back(fmt::format(
            "at {:.3f} ms {}: {}",
            change.at.seconds() * 1e3,
            fabric.link_name(change.link),
            down ? "down" : fmt::format("{:.4g} GB/s", change.capacity.gigabytes_per_second())));
    }
    if (const Time batch = scenario_.network_settings.batch; batch > Time{}) {
        answer_.notes.push_back(fmt::format(
            "completions within {:.3g} us are taken together: every end may be so much late, per "
            "batch that it waits for",
            batch.microseconds()));
    }
    if (const auto& factors = scenario_.network_settings.congestion;
        factors && scenario_.network != NetworkFidelity::packet && !pattern_.traffic) {
        answer_.notes.push_back(fmt::format(
            "congestion control {}, measured on packets ({})", factors->algorithm, factors->name));
    }
    for (const NetworkRow& row : answer_.rows) {
        if (!row.finished) {
            answer_.notes.push_back(fmt::format(
                "{} B: gave up; the time is when the last flow ended or stood still for {:.3g} s",
                row.size.count(),
                scenario_.network_settings.timeout.seconds()));
        }
    }
    answer_.notes.insert(answer_.notes.end(), waits_.begin(), waits_.end());
    std::ranges::move(fabric_remarks(scenario_.cluster), std::back_inserter(answer_.notes));
}

// Reports progress: `share` of this size and all earlier sizes.
void NetworkStudy::say(Bytes size, double share) const {
    if (!request_.progress) {
        return;
    }
    double all = 0;
    double done = 0;
    bool before = true;
    for (const Bytes other : request_.sizes) {
        before = before && other != size;
        all += static_cast<double>(other.count());
        done += before ? static_cast<double>(other.count()) : 0;
    }
    request_.progress((done + share * static_cast<double>(size.count())) / std::max(all, 1.0));
}

Result<NetworkAnswer> NetworkStudy::run() {
    const auto started = std::chrono::steady_clock::now();
    if (const auto ready = prepare(); !ready) {
        return unexpected<Error>(ready.error());
    }
    const ClusterSpec& cluster = scenario_.cluster;
    answer_.scenario = scenario_.name;
    answer_.cluster = words_of(cluster);
    if (cluster.num_nodes > 1) {
        answer_.cluster += ", " + cluster.fabric.name;
    }
    answer_.pattern = request_.pattern;
    answer_.fidelity = name(scenario_.network);
    answer_.routing = word_of(cluster.fabric.routing, kRoutingKinds);
    answer_.ranks = static_cast<std::uint32_t>(members_.size());
    answer_.version = kVersion;
    for (std::size_t i = 0; i < request_.sizes.size(); ++i) {
        say(request_.sizes[i], 0);
        if (const auto done = run_size(request_.sizes[i], i + 1 == request_.sizes.size()); !done) {
            return unexpected<Error>(done.error());
        }
    }
    note_changes();
    answer_.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return std::move(answer_);
}

}  // namespace

const std::vector<std::string>& network_patterns() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const NetworkPattern& pattern : all_network_patterns()) {
            all.push_back(pattern.name);
        }
        return all;
    }();
    return names;
}

Result<NetworkAnswer> study_network(const Scenario& scenario,
                                    const NetworkRequest& request,
                                    NetworkTrace& trace) {
    return NetworkStudy{scenario, request, trace}.run();
}

}  // namespace orrery
