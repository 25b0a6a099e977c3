// SPDX-License-Identifier: Apache-2.0
// The only user of the SimGrid library; network/simgrid/simgrid.cpp loads this module.
#include <algorithm>
#include <array>
#include <cmath>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/module.h"
#include "engine/program/network_model.h"
#include "network/fluid/footprint_table.h"

namespace orrery {
namespace {

namespace s4u = simgrid::s4u;
using simgrid::kernel::resource::Action;
using simgrid::kernel::resource::Model;
using ActivityImpl = simgrid::kernel::activity::ActivityImpl;

// A zone in which the links of the next starting flow connect every pair of hosts.
class FootprintZone : public simgrid::kernel::routing::NetZoneImpl {
public:
    explicit FootprintZone(const std::string& name) : NetZoneImpl(name) {}
    void get_local_route(const simgrid::kernel::routing::NetPoint*,
                         const simgrid::kernel::routing::NetPoint*,
                         simgrid::kernel::routing::Route* into,
                         double*) override {
        for (const s4u::Link* link : next_route) {
            into->link_list_.push_back(link->get_impl());
        }
    }
    void get_graph(const s_xbt_graph_t*,
                   std::map<std::string, xbt_node_t, std::less<>>*,
                   std::map<std::string, xbt_edge_t, std::less<>>*) override {}

    std::vector<const s4u::Link*> next_route;
};

// The only engine of the process. Its clock never goes back, so that each SimgridRates measures
// time from its own start.
struct Platform {
    explicit Platform(std::size_t num_links) {
        std::array<std::string, 7> flags = {"orrery",
                                            "--log=root.thresh:critical",
                                            "--cfg=network/model:CM02",
                                            "--cfg=network/crosstraffic:0",
                                            "--cfg=network/weight-S:0",
                                            "--cfg=network/TCP-gamma:0",
                                            "--cfg=surf/precision:1e-12"};
        std::array<char*, 8> arguments{};
        std::transform(flags.begin(), flags.end(), arguments.begin(), [](std::string& flag) {
            return flag.data();
        });
        int count = static_cast<int>(flags.size());
        engine = new s4u::Engine(&count, arguments.data());  // lives as long as the process
        zone = new FootprintZone("fabric");                  // owned by the engine
        s4u::NetZone* root = zone->get_iface();
        sender = root->create_host("sender", 1.0);
        receiver = root->create_host("receiver", 1.0);
        for (std::size_t l = 0; l < num_links; ++l) {
            links.push_back(root->create_link("link " + std::to_string(l), 1.0)->seal());
        }
        root->seal();
        for (Model* each : engine->get_all_models()) {
            model = each->get_name().starts_with("Network") ? each : model;
        }
        ORRERY_CHECK(model != nullptr);
    }

    s4u::Engine* engine;
    FootprintZone* zone;
    s4u::Host* sender;
    s4u::Host* receiver;
    std::vector<s4u::Link*> links;
    Model* model = nullptr;
};

Platform& platform(std::size_t num_links) {
    constexpr std::size_t kLeast = 8192;  // later rates may have more links; takes a few ms
    static Platform* const only = new Platform(std::max(num_links, kLeast));
    return *only;
}

class SimgridRates final : public SharedRates {
public:
    explicit SimgridRates(std::span<const LinkInfo> links)
        : platform_(platform(links.size())), begin_s_(s4u::Engine::get_clock()) {
        ORRERY_CHECK(current_ == nullptr && links.size() <= platform_.links.size());
        for (std::size_t l = 0; l < links.size(); ++l) {
            set_bandwidth(l, links[l].capacity);
        }
        if (!listening_) {
            listening_ = true;
            s4u::Activity::on_completion_cb([](const s4u::Activity& activity) {
                if (current_ != nullptr) {
                    current_->note_end(activity.get_impl());
                }
            });
        }
        current_ = this;
    }
    ~SimgridRates() override {
        current_ = nullptr;
        for (Flow& flow : flows_) {
            if (flow.comm) {
                cancel(flow.comm);
            }
        }
        pass_an_instant();
    }
    SimgridRates(const SimgridRates&) = delete;
    SimgridRates& operator=(const SimgridRates&) = delete;

    FootprintId add_footprint(std::span<const LinkShare> footprint) override {
        return footprints_.add(footprint, platform_.links.size());
    }
    FlowId start(Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max) override {
        return enter(now, footprint, static_cast<double>(bytes.count()), rate_max);
    }
    FlowId start_under_way(
        Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max, Time since) override {
        const double moved =
            (now - since).seconds() * static_cast<double>(rate_max.bits_per_second()) / 8;
        return enter(now, footprint, static_cast<double>(bytes.count()) - moved, rate_max);
    }
    void settle(Time now) override {
        advance(now);
        num_solves_ += changed_ ? 1 : 0;
        changed_ = false;
    }
    Time next_completion() const override;
    void pop_completed(Time now, std::vector<FlowId>& ended) override;
    Bytes stop(Time now, FlowId flow) override;
    void set_capacity(Time now, LinkId link, Bandwidth capacity) override {
        advance(now);
        set_bandwidth(index(link), capacity);
        changed_ = true;
    }
    Bandwidth rate(FlowId flow) const override {
        platform_.model->next_occurring_event(s4u::Engine::get_clock());  // computes the rates
        const double bits = std::floor(8 * flows_[index(flow)].action->get_rate() + 0.5);
        return Bandwidth::bits_per_second(static_cast<std::int64_t>(bits));
    }
    std::int64_t num_solves() const override { return num_solves_; }
    std::int64_t num_flows_started() const override { return num_flows_started_; }

private:
    struct Flow {
        s4u::CommPtr comm;
        Action* action = nullptr;
    };
    FlowId enter(Time now, FootprintId footprint, double bytes, Bandwidth rate_max);
    // SimGrid uses a cancelled communication once more, and removes it from its links, at its next
    // instant.
    static void cancel(const s4u::CommPtr& comm) {
        static auto* const kept = new std::vector<s4u::CommPtr>;
        kept->push_back(comm);
        comm->cancel();
    }
    void pass_an_instant() {
        constexpr double kInstant = 1e-12;
        platform_.engine->run_until(s4u::Engine::get_clock() + kInstant);
    }
    void note_end(const ActivityImpl* activity) {
        const auto flow = flow_of_.find(activity);
        if (flow != flow_of_.end()) {
            completed_.push_back(flow->second);
            flow_of_.erase(flow);
        }
    }
    void set_bandwidth(std::size_t link, Bandwidth capacity) {
        constexpr double kDead = 1e-9;  // byte/s
        const double bytes = static_cast<double>(capacity.bits_per_second()) / 8;
        platform_.links[link]->set_bandwidth(std::max(bytes, kDead));
    }
    void advance(Time now) {
        if (const double at = begin_s_ + now.seconds(); at > s4u::Engine::get_clock()) {
            platform_.engine->run_until(at);
        }
        now_ = std::max(now_, now);
    }

    static inline SimgridRates* current_ = nullptr;
    static inline bool listening_ = false;
    Platform& platform_;
    double begin_s_;
    Time now_;
    FootprintTable footprints_;
    std::vector<Flow> flows_;
    std::vector<std::uint32_t> free_ids_;
    std::unordered_map<const ActivityImpl*, FlowId> flow_of_;
    std::vector<FlowId> completed_;
    std::int64_t num_solves_ = 0;
    std::int64_t num_flows_started_ = 0;
    bool changed_ = false;
};

FlowId SimgridRates::enter(Time now, FootprintId footprint, double bytes, Bandwidth rate_max) {
    advance(now);
    platform_.zone->next_route.clear();
    for (const LinkShare& share : footprints_[footprint]) {
        // A link named k times carries k times the flow's rate.
        platform_.zone->next_route.insert(
            platform_.zone->next_route.end(), share.count, platform_.links[index(share.link)]);
    }
    std::uint32_t id = static_cast<std::uint32_t>(flows_.size());
    if (free_ids_.empty()) {
        flows_.emplace_back();
    } else {
        id = free_ids_.back();
        free_ids_.pop_back();
    }
    Flow& flow = flows_[id];
    flow.comm = s4u::Comm::sendto_init(platform_.sender, platform_.receiver);
    flow.comm->set_payload_size(
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(bytes))));
    flow.comm->start();
    flow.action = &platform_.model->get_started_action_set()->back();
    ORRERY_CHECK(flow.action->get_activity() == flow.comm->get_impl());
    if (rate_max != Bandwidth{}) {
        flow.action->set_bound(static_cast<double>(rate_max.bits_per_second()) / 8);
    }
    flow_of_.emplace(flow.comm->get_impl(), to_id<FlowId>(id));
    ++num_flows_started_;
    changed_ = true;
    return to_id<FlowId>(id);
}

// Rounded up to whole picoseconds.
Time SimgridRates::next_completion() const {
    if (!completed_.empty()) {
        return now_;
    }
    const double clock = s4u::Engine::get_clock();
    const double left = platform_.model->next_occurring_event(clock);
    constexpr double kNever_s = 9e6;
    if (left < 0 || clock - begin_s_ + left > kNever_s) {
        return Time::max();
    }
    const double ps = std::ceil((clock - begin_s_ + left) * 1e12);
    return std::max(now_, Time::picoseconds(static_cast<std::int64_t>(ps)));
}

void SimgridRates::pop_completed(Time now, std::vector<FlowId>& ended) {
    const bool due = next_completion() <= now;
    advance(now);
    // The clock is a floating-point number: an end may be slightly after `now`.
    for (double later = 1e-15; due && completed_.empty() && later < 1e-6; later *= 2) {
        platform_.engine->run_until(s4u::Engine::get_clock() + later);
    }
    ended = std::move(completed_);
    completed_.clear();
    std::sort(ended.begin(), ended.end());
    for (const FlowId flow : ended) {
        flows_[index(flow)] = {};
        free_ids_.push_back(static_cast<std::uint32_t>(index(flow)));
        changed_ = true;
    }
}

Bytes SimgridRates::stop(Time now, FlowId id) {
    advance(now);
    Flow& flow = flows_[index(id)];
    const double left = std::ceil(flow.comm->get_remaining());
    flow_of_.erase(flow.comm->get_impl());
    std::erase(completed_, id);
    cancel(flow.comm);
    pass_an_instant();
    flow = {};
    free_ids_.push_back(static_cast<std::uint32_t>(index(id)));
    changed_ = true;
    return Bytes(std::max<std::int64_t>(1, static_cast<std::int64_t>(left)));
}

}  // namespace

}  // namespace orrery

// The caller owns the result.
ORRERY_MODULE_FUNCTION orrery::SharedRates* orrery_simgrid_rates(const orrery::LinkInfo* links,
                                                                 std::size_t num_links) {
    return new orrery::SimgridRates(std::span{links, num_links});
}
