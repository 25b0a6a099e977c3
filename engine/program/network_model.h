// SPDX-License-Identifier: Apache-2.0
// The engine's questions to the network. *Planning* is static: which links does this collective
// load, after which latency, and how many bytes per unit of progress. *Rates* are dynamic: how fast
// does each transfer in flight progress while it shares links with the others.
//
// A transfer is coupled: it progresses with one rate x (bit/s), and loads link l with count_l * x.
// A ring is one such transfer: its edges advance in lock-step (the sharing rule:
// network/fluid/fluid.h).
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
    std::uint32_t count = 1;  // this link carries count * the transfer's rate
    bool operator==(const LinkShare&) const = default;
};

// Parts of a phase run at the same time; each is a coupled transfer of its own.
struct TransferPart {
    std::vector<LinkShare> footprint;  // ascending link ids, each at most once
    Bytes bytes;                       // progress to make
    Bandwidth rate_max;                // the protocol's cap on the transfer's rate
    bool operator==(const TransferPart&) const = default;
};

// Start-up and pipeline fill, then the bytes. The phase ends with its last part.
struct TransferPhase {
    Time latency;
    std::vector<TransferPart> parts;
    bool operator==(const TransferPhase&) const = default;
};

struct TransferPlan {
    std::vector<TransferPhase> phases;  // one after the other
    std::uint32_t sms = 0;              // SMs that each member holds from its arrival to the end
    std::string algorithm;              // "ring", "tree", "nvls", "p2p" …
    std::string protocol;               // "LL", "LL128", "Simple"; empty: copy engines have none
    std::uint32_t channels = 0;
    TransferEngine engine = TransferEngine::sm;  // that moves the bytes
};

// A connection, or a ring of them, before links go out of order and when switches go around them.
struct OtherPath {
    TransferPart part;
    std::vector<LinkShare> around;  // empty: there is no other path
};

struct LinkInfo {
    Bandwidth capacity;            // usable, after protocol overhead
    std::uint16_t link_class = 0;  // index into NetworkModel::link_class_names
    // What crosses it always goes through SharedRates, with all such links of its footprint.
    bool watched = false;
};

class NetworkModel {
public:
    virtual ~NetworkModel() = default;

    // `members` as engine/program/transfer_call.h orders them. Nothing moves in a group of one, nor
    // from a rank to itself. A copy is between tiers that its rank has. Deterministic; the plan may
    // depend on the placement.
    virtual TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const = 0;

    // The parts of a plan's only phase with their paths around the links that are `down` (1, by
    // LinkId). None if the model knows no other paths.
    virtual std::vector<OtherPath> paths_around(const TransferCall&,
                                                std::span<const RankId>,
                                                std::span<const std::uint8_t>) const {
        return {};
    }

    // Planning may add links behind the present ones.
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

// Transfers in flight and their rates. Usage: any number of start() and of pop_completed() at one
// instant, then settle() once; time never goes back. The sharing rule is network/fluid/fluid.h's.
class SharedRates {
public:
    virtual ~SharedRates() = default;

    // A footprint can be used by any number of flows. Counts per link, ascending link ids.
    virtual FootprintId add_footprint(std::span<const LinkShare> footprint) = 0;
    // One flow for equal parts that start together: `bytes` and `rate_max` are of each part, and
    // the flow ends with the last part. Not for stop() or start_under_way(). None if the parts have
    // to be flows of their own.
    virtual std::optional<FootprintId> join_footprints(std::span<const FootprintId> parts) {
        static_cast<void>(parts);
        return std::nullopt;
    }
    // One flow for equal flows that start together and mostly move equally fast; each ends for
    // itself, and some may be of join_footprints(). When settle() finds that one is slower, all
    // become flows of their own, see parted(). None if they have to be so from the start.
    virtual std::optional<FootprintId> join_flows(std::span<const FootprintId> flows) {
        static_cast<void>(flows);
        return std::nullopt;
    }
    // The flows that took the place of joined flows that came apart in the last settle(). The flows
    // of one joined flow follow one another in the order that join_flows() was given.
    virtual std::span<const PartedFlow> parted() const { return {}; }
    // Bytes > 0. The flow has no rate until settle().
    virtual FlowId start(Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max) = 0;
    // Starts a flow that has gone at `rate_max` since `since`, while no other flow shared its
    // links. Its work is not done yet.
    virtual FlowId start_under_way(
        Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max, Time since) = 0;
    // Recomputes the rates that the starts and ends of this instant change.
    virtual void settle(Time now) = 0;
    // When the first flow in flight ends at present rates; Time::max() if none does.
    virtual Time next_completion() const = 0;
    // For rates that find an end only by simulating up to it: goes on to the first end, or to
    // `limit` if that comes first, and returns next_completion(), which may lie beyond `limit`.
    // Nothing starts before the time returned or `limit`.
    virtual Time run_until(Time limit) {
        static_cast<void>(limit);
        return next_completion();
    }
    // Ends and removes every flow whose end is exactly `now`, in ascending FlowId order; perhaps
    // there is none. Ids are reused after that.
    virtual void pop_completed(Time now, std::vector<FlowId>& ended) = 0;
    // Removes a flow whose end lies ahead; its id is used again. Returns the bytes that it has not
    // moved, rounded up (at least one).
    virtual Bytes stop(Time now, FlowId flow) = 0;
    // Sets the capacity of a link from now on (a fault, a degraded port).
    virtual void set_capacity(Time now, LinkId link, Bandwidth capacity) = 0;

    virtual Bandwidth rate(FlowId flow) const = 0;
    virtual std::int64_t num_solves() const = 0;
    virtual std::int64_t num_flows_started() const = 0;
};

}  // namespace orrery
