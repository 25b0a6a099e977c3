// SPDX-License-Identifier: Apache-2.0
// The engine's questions to the network. *Planning* is static: the links that a collective loads,
// its latencies, and the bytes of each link per unit of progress. *Rates* are dynamic: the progress
// of each transfer in flight while it shares links with the others.
//
// A transfer progresses with one rate x (bit/s) and loads link l with count_l * x. A ring, for
// example, is one such transfer: its edges advance in lock-step. network/fluid/fluid.h has the
// sharing rule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/program/program.h"
#include "engine/program/transfer_call.h"

namespace orrery {

struct LinkShare {
    LinkId link{};
    std::uint32_t count = 1;  // the link carries count times the transfer's rate
    bool operator==(const LinkShare&) const = default;
};

// The parts of a phase run at the same time. Each part is a coupled transfer of its own.
struct TransferPart {
    std::vector<LinkShare> footprint;  // ascending link ids, each at most once
    Bytes bytes;                       // progress to make
    Bandwidth rate_max;                // the protocol's cap on the transfer's rate
    bool operator==(const TransferPart&) const = default;
};

// A start-up latency (with pipeline fill), then the parts. The phase ends with its last part.
struct TransferPhase {
    Time latency;
    std::vector<TransferPart> parts;
    bool operator==(const TransferPhase&) const = default;
};

struct TransferPlan {
    std::vector<TransferPhase> phases;  // in sequence
    std::uint32_t sms = 0;              // SMs that each member holds from its arrival to the end
    std::string algorithm;              // "ring", "tree", "nvls", "p2p" …
    std::string protocol;               // "LL", "LL128", "Simple"; empty: copy engines have none
    std::uint32_t channels = 0;
    TransferEngine engine = TransferEngine::sm;  // the engine that moves the bytes
};

// The path of a connection, or of a ring of connections, without failed links, and its path around
// them.
struct OtherPath {
    TransferPart part;
    std::vector<LinkShare> around;  // empty: there is no other path
};

struct LinkInfo {
    Bandwidth capacity;            // usable, after protocol overhead
    std::uint16_t link_class = 0;  // index into NetworkModel::link_class_names
    // Transfers over this link always go through SharedRates, with all watched links of their
    // footprint.
    bool watched = false;
};

class NetworkModel {
public:
    virtual ~NetworkModel() = default;

    // Plans a transfer. `members` are in the order of engine/program/transfer_call.h. A group of
    // one, or a message from a rank to itself, moves no bytes. The rank of a copy has both tiers.
    // Deterministic; the plan may depend on the placement.
    virtual TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const = 0;

    // The parts of a plan's only phase, with their paths around the links that are down (1 in the
    // span, by LinkId). Empty if the model knows no other paths.
    virtual std::vector<OtherPath> paths_around(const TransferCall&,
                                                std::span<const RankId>,
                                                std::span<const std::uint8_t>) const {
        return {};
    }

    // Planning may append links.
    virtual std::span<const LinkInfo> links() const = 0;
    virtual std::span<const std::string> link_class_names() const = 0;
    // False: transfers never slow each other down (`network: analytic`).
    virtual bool has_contention() const = 0;
};

enum class FlowId : std::uint32_t {};
enum class FootprintId : std::uint32_t {};

struct PartedFlow {
    FlowId whole{};
    FlowId flow{};
};

// Transfers in flight and their rates. At one instant, call start() and pop_completed() any number
// of times, then settle() once. Time never goes back. network/fluid/fluid.h has the sharing rule.
class SharedRates {
public:
    virtual ~SharedRates() = default;

    // Any number of flows may use a footprint. One count per link, ascending link ids.
    virtual FootprintId add_footprint(std::span<const LinkShare> footprint) = 0;
    // Joins equal parts that start together into one flow. `bytes` and `rate_max` are those of each
    // part, and the flow ends with the last part. stop() and start_under_way() do not accept such a
    // flow. No value if the parts must be separate flows.
    virtual std::optional<FootprintId> join_footprints(std::span<const FootprintId> parts) {
        static_cast<void>(parts);
        return std::nullopt;
    }
    // Joins equal flows that start together and mostly have equal rates; each still ends by itself,
    // and a flow may itself come from join_footprints(). When settle() finds a slower one, all
    // become separate flows: see parted(). No value if they must be separate from the start.
    virtual std::optional<FootprintId> join_flows(std::span<const FootprintId> flows) {
        static_cast<void>(flows);
        return std::nullopt;
    }
    // The separate flows that replaced joined flows in the last settle(). The flows of one joined
    // flow are consecutive, in the order given to join_flows().
    virtual std::span<const PartedFlow> parted() const { return {}; }
    // Bytes > 0. The flow has no rate until settle().
    virtual FlowId start(Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max) = 0;
    // Starts a flow that has moved at `rate_max` since `since`, while no other flow shared its
    // links. Some of its bytes must be left.
    virtual FlowId start_under_way(
        Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max, Time since) = 0;
    // Recomputes the rates after the starts and ends of this instant.
    virtual void settle(Time now) = 0;
    // The time of the first end at the present rates; Time::max() if no flow ends.
    virtual Time next_completion() const = 0;
    // For models that find an end only by simulating up to it. Simulates up to the first end or to
    // `limit`, whichever comes first, and returns next_completion(), which may be later than
    // `limit`. No flow may start before the returned time or `limit`.
    virtual Time run_until(Time limit) {
        static_cast<void>(limit);
        return next_completion();
    }
    // Removes every flow that ends exactly at `now`, in ascending FlowId order, and appends it to
    // `ended`. Their ids may be reused afterwards.
    virtual void pop_completed(Time now, std::vector<FlowId>& ended) = 0;
    // Removes a flow before its end; its id may be reused. Returns its remaining bytes, rounded up
    // (at least one).
    virtual Bytes stop(Time now, FlowId flow) = 0;
    // Sets the capacity of a link from `now` on (a fault, a degraded port).
    virtual void set_capacity(Time now, LinkId link, Bandwidth capacity) = 0;

    virtual Bandwidth rate(FlowId flow) const = 0;
    virtual std::int64_t num_solves() const = 0;
    virtual std::int64_t num_flows_started() const = 0;
};

}  // namespace orrery
