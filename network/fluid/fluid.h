// SPDX-License-Identifier: Apache-2.0
// Weighted max-min fair sharing of links between coupled transfers, in integers.
//
// A transfer f in flight progresses at x_f bit/s and loads link l with count_fl * x_f. THE RULE,
// which any other implementation must follow to the bit. All flows are free. Repeat until none is:
//   t_l = floor((C_l - sum of count_fl * x_f over frozen f) / (sum of count_fl over free f)), >= 0,
//   t*  = the least of all t_l and of all rate_max of free flows;
//   freeze at t*, at once, every free flow that crosses a link with t_l = t* or has rate_max = t*.
// A rate_max of zero means no cap. The result does not depend on any order, so that folded and
// unfolded runs agree.
//
// The same rates are the only fixed point of
//   x_f = min(rate_max_f, min over links l of f of s_l),
//   s_l = the least v with floor((C_l - sum_{x_g < v} count_gl x_g) / sum_{x_g >= v} count_gl) <= v
// (never, if there is none): the *level* at which link l saturates. A settle sweeps upwards through
// the levels and visits only changes. A link is visited if flows were added to it or removed from
// it, or if one of its flows got a rate above or below its old one, and only from the level on at
// which that can matter. Below that level all rates stay. A flow at level v stays there while one
// link with s_l = v (or its cap) holds it. A change is thus re-solved by levels, not by connected
// components, because hashed paths join nearly all flows into one component.
//
// Links that can never bind are excluded in advance. Each flow's rate is at most bound_f =
// min(rate_max_f, min floor(C_l / count_fl)). A link is *slack* if only one flow uses it, or if it
// has room to spare with every flow at its bound.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/program/network_model.h"
#include "network/fluid/crossing_pool.h"
#include "network/fluid/flow_progress.h"

namespace orrery {

class FluidRates : public SharedRates {
public:
    explicit FluidRates(std::span<const LinkInfo> links);

    FootprintId add_footprint(std::span<const LinkShare> footprint) override;
    // Joined parts are one flow while links that all of them cross equally hold them at their rate:
    // each part then has the rate that it would have as a separate flow. As soon as the flow is
    // held by a link that only some of the parts cross, they become separate flows.
    std::optional<FootprintId> join_footprints(std::span<const FootprintId> parts) override;
    std::optional<FootprintId> join_flows(std::span<const FootprintId> flows) override;
    std::span<const PartedFlow> parted() const override { return parted_; }
    // A footprint without links needs a rate_max.
    FlowId start(Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max) override;
    FlowId start_under_way(
        Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max, Time since) override;
    void settle(Time now) override;
    Time next_completion() const override { return progress_.next_end(); }
    // Replaces `ended`.
    void pop_completed(Time now, std::vector<FlowId>& ended) override;
    Bytes stop(Time now, FlowId flow) override;
    void set_capacity(Time now, LinkId link, Bandwidth capacity) override;
    Bandwidth rate(FlowId flow) const override { return progress_.rate(flow); }
    std::int64_t num_solves() const override { return num_solves_; }
    std::int64_t num_flows_started() const override { return num_flows_started_; }

private:
    using Level = std::int64_t;  // a rate per unit of count, bit/s
    static constexpr Level kNever = std::numeric_limits<Level>::max();
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    // One cache line: most of the data of a link that a starting or ending flow needs.
    struct alignas(64) Link {
        Level capacity = 0;
        Level level = kNever;  // s_l; never for a slack link
        Level key = kNever;    // the level at which the sweep visits the link; never if it need not
        Level bound_sum = 0;   // sum of count * bound
        std::int64_t count_sum = 0;
        CrossingList crossings;
        bool touched = false;  // since the last settle
        bool slack = true;
        bool stale = false;  // its key must be recomputed after this level
    };
    struct Footprint {
        std::uint32_t first = 0;  // index into shares_
        std::uint32_t size = 0;
        std::uint32_t joined = kNone;     // index into joined_ if it has several parts
        Level bound = 0;                  // min floor(C_l / count)
        std::uint64_t bound_version = 0;  // value of capacities_version_; an older bound is invalid
    };
    struct Flow {
        Level bound = 0;
        Level rate_max = 0;  // never, if there is no cap
        FootprintId footprint{};
        std::uint32_t joined = kNone;  // index into joined_ if it represents several parts
        std::uint32_t whole = kNone;   // the separated flow that it is a part of
        std::uint32_t parts_left = 0;  // of a separated flow; while not zero, its id is in use
    };
    // Parts that are one flow.
    struct Joined {
        std::vector<FootprintId> parts;
        // The links that all parts cross equally. For flows that end separately: those links of
        // each.
        std::vector<FootprintId> holders;
        std::uint32_t num_flows = 0;
        bool flows = false;  // join_flows()
        // The bound that each of the holders gives the flow, if they are equal; else never.
        Level bound = kNever;
        std::uint64_t bound_version = 0;  // value of capacities_version_
    };
    struct Event {
        Level level;
        std::uint32_t id;  // a link or a flow
    };

    void enter(Time now, FlowId id, FootprintId footprint, Bandwidth rate_max);
    void describe(std::uint32_t flow, FootprintId footprint, Level rate_max);
    void enter_links();
    void add_to_links(std::uint32_t flow);
    FootprintId add_joined(std::span<const LinkShare> shares, Joined joined);
    bool part_flows();
    void part(std::uint32_t flow);
    bool has_level(FootprintId footprint, Level level) const;
    Level common_bound(Joined& joined);
    Level bound_of(FootprintId id) {
        Footprint& footprint = footprints_[index(id)];
        if (footprint.bound_version != capacities_version_) {
            find_bound(id, footprint);
        }
        return footprint.bound;
    }
    void find_bound(FootprintId id, Footprint& footprint);
    std::span<const LinkShare> shares_of(FootprintId footprint) const {
        const Footprint& of = footprints_[index(footprint)];
        return {shares_.data() + of.first, of.size};
    }
    void prefetch_links(std::span<const LinkShare> shares) const;
    void touch(std::uint32_t link);
    void remove(std::uint32_t flow);
    void change_bound(std::uint32_t flow);

    void seed();
    Level next_level();
    void sweep_level(Level level);
    void look_at_link(Level level, std::uint32_t link);
    void look_at_flow(Level level, std::uint32_t flow);
    Level saturation(const Link& link, Level from) const;
    bool is_slack(const Link& link) const;
    static bool has_room(const Link& link);
    bool is_held(std::uint32_t flow, Level level);
    void freeze(std::uint32_t flow, Level level);
    void release(std::uint32_t flow);
    void mark_stale(std::uint32_t link);
    void find_stale_keys(Level level);
    void schedule_link(std::uint32_t link, Level level);

    std::vector<Link> links_;
    std::vector<Footprint> footprints_;
    std::vector<LinkShare> shares_;  // footprint by footprint
    std::uint64_t capacities_version_ = 1;

    std::vector<Joined> joined_;
    std::vector<PartedFlow> parted_;

    std::vector<Flow> flows_;
    std::vector<Level> rates_;  // by flow; never: free, without a rate in this sweep
    FlowProgress progress_;
    CrossingPool crossings_;

    // The input of the next settle.
    std::vector<std::uint32_t> touched_links_;
    std::vector<std::uint32_t> entering_;  // flows that are not yet on their links
    std::vector<std::uint32_t> new_flows_;
    std::vector<std::uint32_t> rebound_flows_;  // flows whose bound a capacity changed

    // The sweep: heaps by level.
    std::vector<Event> link_events_;
    std::vector<Event> flow_events_;
    std::size_t num_new_seen_ = 0;  // processed flows of new_flows_, which is ordered by bound
    std::vector<std::uint32_t> stale_links_;
    std::vector<std::uint32_t> frozen_flows_;
    bool changed_ = false;  // since the last settle

    Time now_;
    std::int64_t num_solves_ = 0;
    std::int64_t num_flows_started_ = 0;
};

}  // namespace orrery
