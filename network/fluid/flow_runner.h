// SPDX-License-Identifier: Apache-2.0
// Runs flows to their ends on any SharedRates, while links change: the event loop of `orrery
// network`. A link whose capacity becomes zero is down. Flows over it stand still until the
// switches have converged (`convergence` later), then take another path with what is left of their
// bytes. Those for which there is none wait, also if they start then; what stands still for
// `timeout` ends unfinished: nothing waits for ever. When a link is back and the switches have
// converged again, moved flows return and waiting ones go on. A channel of a collective is one flow
// whose path is that of all its connections.
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
    Time start;   // when its bytes begin to move
    Bytes bytes;  // none: it takes its path's latency only
    Bandwidth rate_max;
};

// A path of a flow: the last byte arrives `latency` after it left.
struct FlowPath {
    std::vector<LinkShare> footprint;
    Time latency;
};
// The path of flow `i`, as switches that know `state` choose it. False: there is none.
using PathOf = std::function<bool(std::size_t i, const LinkState& state, FlowPath& path)>;

struct FlowEnd {
    Time end;  // when the last byte arrived, or when it gave up
    bool finished = false;
    std::uint32_t moves = 0;  // to another path
    Time stalled;             // stood still because of a dead link
    // Why it gave up: a dead link that it stood before; none: no path led to the receiver.
    std::optional<LinkId> waited_for{};
};

// For traces: flow `flow` moved at `rate` on path `path` from `begin` to `end`.
struct RateSpan {
    std::uint32_t flow = 0;
    std::uint32_t path = 0;  // in FlowRunner::paths()
    Time begin;
    Time end;
    Bandwidth rate;
};

struct FlowRunnerOptions {
    std::vector<LinkChange> changes{};                      // in any order
    Time convergence = Time::picoseconds(100'000'000'000);  // routing protocol and hardware
    // NCCL_IB_TIMEOUT 20 and NCCL_IB_RETRY_CNT 7: 7 x 4.096 us x 2^20.
    Time timeout = Time::picoseconds(30'064'771'072'000);
    // Completions within this of the first are taken together with the last of them; 0: exact.
    Time batch{};
    bool keep_spans = false;
};

class FlowRunner {
public:
    FlowRunner(std::span<const LinkInfo> links, SharedRates& rates, FlowRunnerOptions options);

    // All flows of one phase. Starts may not lie before now(). Runs until none is in flight.
    std::vector<FlowEnd> run(const std::vector<RunnerFlow>& flows, const PathOf& path_of);

    Time now() const { return now_; }
    // Bytes that each link has carried so far.
    const std::vector<std::int64_t>& link_bytes() const { return link_bytes_; }
    const std::vector<RateSpan>& spans() const { return spans_; }
    const std::vector<std::vector<LinkShare>>& paths() const { return paths_; }

private:
    struct Active {
        FlowId id{};
        std::uint32_t path = 0;
        Bytes left;  // when it came onto the path
        Time latency;
        Time since;      // of its present rate
        Bandwidth rate;  // as last recorded
        bool in_flight = false;
        bool stalled = false;
        bool parked = false;  // without a path: not on any link
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
    std::vector<std::uint8_t> down_;  // as the switches know it
    std::vector<std::uint8_t> dead_;  // as it is
    std::size_t next_change_ = 0;
    std::multimap<Time, Convergence> convergences_;
    std::vector<std::uint32_t> load_;
    std::vector<std::int64_t> link_bytes_;
    std::vector<std::vector<LinkShare>> paths_;
    std::vector<FootprintId> footprints_;
    std::map<std::vector<std::pair<std::uint32_t, std::uint32_t>>, std::uint32_t> path_ids_;
    std::vector<RateSpan> spans_;
    Time now_;

    // The arguments of the present run().
    const std::vector<RunnerFlow>* flows_ = nullptr;
    const PathOf* path_of_ = nullptr;
    std::vector<std::uint32_t> order_;  // by start
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
