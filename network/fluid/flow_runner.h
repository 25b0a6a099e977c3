// SPDX-License-Identifier: Apache-2.0
// Runs flows to their ends on any SharedRates while links change: the event loop of `orrery
// network`. A link with capacity zero is down. Flows over it stop until the switches have converged
// (`convergence` later), then take another path with their remaining bytes. Flows without another
// path wait. So does a flow that starts meanwhile. A flow that has been stopped for `timeout` ends
// unfinished, so that no flow waits for ever. When a link is back and the switches have converged
// again, moved flows return and waiting ones continue. A channel of a collective is one flow whose
// path has all its connections.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "engine/program/network_model.h"
#include "network/fluid/link_state.h"

namespace orrery {

struct LinkChange {
    Time at;
    LinkId link{};
    Bandwidth capacity;
};

struct RunnerFlow {
    Time start;   // the time at which its bytes begin to move
    Bytes bytes;  // zero: only the latency of its path
    Bandwidth rate_max;
};

// A path of a flow. The last byte arrives `latency` after it is sent.
struct FlowPath {
    std::vector<LinkShare> footprint;
    Time latency;
};
// The path of flow `i` that switches choose in `state`. False if there is none.
using PathOf = std::function<bool(std::size_t i, const LinkState& state, FlowPath& path)>;

struct FlowEnd {
    Time end;  // the arrival of the last byte, or the time of giving up
    bool finished = false;
    std::uint32_t moves = 0;  // number of changes of its path
    Time stalled;             // time stopped by a dead link
    // The reason for giving up: the dead link that stopped it; no value: no path led to the
    // receiver.
    std::optional<LinkId> waited_for{};
};

// For traces: the flow moved at `rate` on path `path` from `begin` to `end`.
struct RateSpan {
    std::uint32_t flow = 0;
    std::uint32_t path = 0;  // index in FlowRunner::paths()
    Time begin;
    Time end;
    Bandwidth rate;
};

struct FlowRunnerOptions {
    std::vector<LinkChange> changes{};                      // in any order
    Time convergence = Time::picoseconds(100'000'000'000);  // of routing protocol and hardware
    // NCCL_IB_TIMEOUT 20 and NCCL_IB_RETRY_CNT 7: 7 x 4.096 us x 2^20.
    Time timeout = Time::picoseconds(30'064'771'072'000);
    // Completions within this time after the first are processed together, at the time of the last;
    // 0: exact.
    Time batch{};
    bool keep_spans = false;
};

class FlowRunner {
public:
    FlowRunner(std::span<const LinkInfo> links, SharedRates& rates, FlowRunnerOptions options);

    // Runs all flows of one phase. Starts must not be before now(). Returns when no flow is in
    // flight.
    std::vector<FlowEnd> run(const std::vector<RunnerFlow>& flows, const PathOf& path_of);

    Time now() const { return now_; }
    // The bytes that each link has carried so far.
    const std::vector<std::int64_t>& link_bytes() const { return link_bytes_; }
    const std::vector<RateSpan>& spans() const { return spans_; }
    const std::vector<std::vector<LinkShare>>& paths() const { return paths_; }

private:
    struct Active {
        FlowId id{};
        std::uint32_t path = 0;
        Bytes left;  // when it took the path
        Time latency;
        Time since;      // of its present rate
        Bandwidth rate;  // as last recorded
        bool in_flight = false;
        bool stalled = false;
        bool parked = false;  // has no path, and is on no link
        Time stalled_since;
    };
    struct Convergence {
        std::uint32_t link;
        bool down;
    };

    Time next_event() const;
    void step(Time now);
    void end_completed(Time now);
    void apply_changes(Time now);
    void converge(Time now);
    void park(Time now, std::size_t flow, Bytes left);
    void start_parked(Time now);
    void give_up(Time now);
    std::optional<LinkId> dead_link_of(const Active& active) const;
    void start_flows(Time now);
    bool start(Time now, std::size_t flow, Bytes bytes);
    void leave(Time now, std::size_t flow, Bytes left);
    void move(Time now, std::size_t flow);
    void settle(Time now);
    void note_rates(Time now);
    std::uint32_t intern(std::vector<LinkShare> footprint);
    LinkState state() const { return {down_, load_}; }

    SharedRates& rates_;
    FlowRunnerOptions options_;
    std::vector<std::uint8_t> down_;  // as known to the switches
    std::vector<std::uint8_t> dead_;  // actual state
    std::size_t next_change_ = 0;
    std::multimap<Time, Convergence> convergences_;
    std::vector<std::uint32_t> load_;
    std::vector<std::int64_t> link_bytes_;
    std::vector<std::vector<LinkShare>> paths_;
    std::vector<FootprintId> footprints_;
    std::map<std::vector<std::pair<std::uint32_t, std::uint32_t>>, std::uint32_t> path_ids_;
    std::vector<RateSpan> spans_;
    Time now_;

    // The arguments of the current run().
    const std::vector<RunnerFlow>* flows_ = nullptr;
    const PathOf* path_of_ = nullptr;
    std::vector<std::uint32_t> order_;  // ordered by start
    std::size_t next_start_ = 0;
    std::vector<Active> active_;
    std::vector<FlowEnd> ends_;
    std::vector<std::uint32_t> flow_of_;  // by FlowId
    std::vector<FlowId> ended_;           // scratch
    std::size_t num_in_flight_ = 0;
    std::size_t num_stalled_ = 0;
    std::size_t num_parked_ = 0;
    Time last_arrival_;
};

}  // namespace orrery
