// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/served_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/counter_random.h"
#include "engine/faults/detection.h"
#include "scenarios/format/specs/fault_use.h"
#include "scenarios/format/specs/fault_weather.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

namespace {

constexpr std::uint32_t kNotice = 0x4e6f7465;  // a stream of random numbers of its own
// Latest time of a fault: Time ends at 9.2e6 s.
constexpr double kLatest_s = 8e6;
constexpr double kLongestStartUp_s = 86'400;

Time bounded(double seconds) {
    return Time::seconds(std::min(seconds, kLatest_s));
}

double factor_of(const FaultEvent& fault) {
    return fault.factor > 0 ? fault.factor : info(fault.kind).slowdown;
}

struct PlacedInstance {
    std::size_t pool = 0;
    std::uint32_t first_gpu = 0;
    std::uint32_t gpus = 0;
};

class Translator {
public:
    Translator(const Scenario& scenario, const ServingSpec& spec, const Fabric* fabric)
        : scenario_(scenario),
          spec_(spec),
          fabric_(fabric),
          gpus_per_node_(scenario.cluster.gpus_per_server()),
          nics_per_node_(std::max(1U, scenario.cluster.nics_per_server())) {
        std::uint32_t first = 0;
        for (std::size_t pool = 0; pool < spec.pools.size(); ++pool) {
            const auto ranks = static_cast<std::uint32_t>(spec.pools[pool].plan.num_ranks());
            for (std::int64_t i = 0; i < spec.pools[pool].instances; ++i) {
                placed_.push_back({.pool = pool, .first_gpu = first, .gpus = ranks});
                first += ranks;
            }
            start_up_.push_back(
                start_up_of(spec, spec.pools[pool], scenario.model, gpus_per_node_));
        }
    }

    void add(const FaultEvent& event) {
        if (!acts_on_instances(event.kind)) {
            return;
        }
        ServedFault fault{
            .at = bounded(event.time.seconds()),
            .what = fmt::format(
                "{} at {}", name(event.kind), to_text(scenario_.campaign.shape, event.at))};
        if (event.duration > WallTime{}) {
            fault.end = bounded(event.time.seconds() + event.duration.seconds());
        }
        const FaultEffect effect = info(event.kind).effect;
        if (slows_adapters(event.kind) || effect == FaultEffect::stall) {
            fault.factor = effect == FaultEffect::stall ? 0 : factor_of(event);
            slow_links(event, fault);
        } else if (slows_gpus(event.kind)) {
            fault.factor = factor_of(event);
            slow_instances(event, fault);
        } else {
            stop_instances(event, fault);
        }
        made_.faults.push_back(std::move(fault));
    }

    ServedFaults finish() {
        for (const auto& [link, slow] : slow_links_) {
            add_changes(link, slow);
        }
        std::stable_sort(made_.links.begin(), made_.links.end(), [](const auto& a, const auto& b) {
            return a.at < b.at;
        });
        made_.instances.lost_cache = spec_.recovery.lost_cache;
        return std::move(made_);
    }

private:
    struct SlowLink {
        Time begin;
        Time end;
        double factor = 0;  // slowdown; 0: nothing moves
    };

    bool needs_network(const PlacedInstance& one) const {
        const bool spans =
            one.first_gpu / gpus_per_node_ != (one.first_gpu + one.gpus - 1) / gpus_per_node_;
        return spans || spec_.pools.size() > 1;
    }

    bool stands_on(const FaultEvent& event, const PlacedInstance& one) const {
        if (event.at.scope == Scope::gpu) {
            return event.at.index >= one.first_gpu && event.at.index < one.first_gpu + one.gpus;
        }
        const bool of_network = event.at.scope == Scope::nic || event.at.scope == Scope::leaf;
        if (of_network && !needs_network(one)) {
            return false;
        }
        const std::uint32_t first = one.first_gpu / gpus_per_node_;
        const std::uint32_t last = (one.first_gpu + one.gpus - 1) / gpus_per_node_;
        return event.nodes.first <= last && event.nodes.first + event.nodes.count > first;
    }

    void slow_instances(const FaultEvent& event, ServedFault& fault) {
        for (std::size_t i = 0; i < placed_.size(); ++i) {
            if (stands_on(event, placed_[i])) {
                fault.instances.push_back(i);
                made_.instances.slowdowns.push_back(
                    {.instance = i, .begin = fault.at, .end = fault.end, .factor = fault.factor});
            }
        }
    }

    // A fault of a stopped instance extends its outage.
    void stop_instances(const FaultEvent& event, ServedFault& fault) {
        CounterRandom random(spec_.seed, event.id, kNotice);
        const Detection detection = detect(spec_.recovery.detection, event.kind, random.uniform());
        const double noticed_s =
            detection.latency == WallTime::max() ? kLatest_s : detection.latency.seconds();
        for (std::size_t i = 0; i < placed_.size(); ++i) {
            if (!stands_on(event, placed_[i])) {
                continue;
            }
            fault.instances.push_back(i);
            const Time noticed = bounded(fault.at.seconds() + noticed_s);
            const Time repaired = std::max(noticed, fault.end == Time::max() ? noticed : fault.end);
            const Time back = bounded(repaired.seconds() + start_up_[placed_[i].pool].seconds());
            const auto last = last_outage_.find(i);
            if (last != last_outage_.end() &&
                fault.at < made_.instances.outages[last->second].end) {
                InstanceOutage& outage = made_.instances.outages[last->second];
                outage.end = std::max(outage.end, back);
                continue;
            }
            fault.outages.push_back(made_.instances.outages.size());
            last_outage_[i] = made_.instances.outages.size();
            made_.instances.outages.push_back(
                {.instance = i, .begin = fault.at, .noticed = noticed, .end = back});
        }
        fault.end = Time::max();
    }

    void slow_links(const FaultEvent& event, ServedFault& fault) {
        if (fabric_ == nullptr || scenario_.cluster.num_nodes < 2) {
            return;
        }
        NodeRange nics{event.nodes.first * nics_per_node_, event.nodes.count * nics_per_node_};
        if (event.at.scope == Scope::nic) {
            nics = {event.at.index, 1};
        }
        const std::uint32_t per_node = std::max(1U, scenario_.cluster.fabric.nics_per_node);
        for (std::uint32_t n = nics.first; n < nics.first + nics.count; ++n) {
            const NicPort port{.node = n / per_node, .nic = n % per_node};
            for (const LinkId link : {fabric_->nic_out(port), fabric_->nic_in(port)}) {
                slow_links_[link].push_back(
                    {.begin = fault.at, .end = fault.end, .factor = fault.factor});
            }
        }
        for (std::size_t i = 0; i < placed_.size(); ++i) {
            if (stands_on(event, placed_[i])) {
                fault.instances.push_back(i);
            }
        }
    }

    // Adds the capacity of a link at the begin and end of each of its faults: the worst present
    // fault counts.
    void add_changes(LinkId link, const std::vector<SlowLink>& slow) {
        const Bandwidth full = fabric_->links()[index(link)].capacity;
        std::set<Time> times;
        for (const SlowLink& one : slow) {
            times.insert({one.begin, one.end});
        }
        times.erase(Time::max());
        for (const Time at : times) {
            double share = 1;
            for (const SlowLink& one : slow) {
                if (one.begin <= at && at < one.end) {
                    share = std::min(share, one.factor == 0 ? 0 : 1 / one.factor);
                }
            }
            made_.links.push_back({at,
                                   link,
                                   Bandwidth::bits_per_second(static_cast<std::int64_t>(
                                       static_cast<double>(full.bits_per_second()) * share))});
        }
    }

    const Scenario& scenario_;
    const ServingSpec& spec_;
    const Fabric* fabric_;
    std::uint32_t gpus_per_node_;
    std::uint32_t nics_per_node_;
    std::vector<PlacedInstance> placed_;
    std::vector<Time> start_up_;  // by pool
    std::map<LinkId, std::vector<SlowLink>> slow_links_;
    std::map<std::size_t, std::size_t> last_outage_;  // latest outage by instance
    ServedFaults made_;
};

}  // namespace

Time start_up_of(const ServingSpec& spec,
                 const ServingPoolSpec& pool,
                 const Transformer& model,
                 std::int64_t gpus_per_node) {
    std::int64_t most = 0;
    for (std::int64_t stage = 0; stage < pool.plan.pipeline_model_parallel_size; ++stage) {
        most = std::max(most, serving_weight_bytes(model, pool.plan, stage).count());
    }
    const double of_node =
        static_cast<double>(most * std::min(pool.plan.num_ranks(), gpus_per_node));
    return bounded(spec.recovery.start_up.seconds() +
                   of_node * 8 /
                       static_cast<double>(spec.recovery.weight_loading.bits_per_second()));
}

Result<void> check_start_up(Time start_up) {
    if (start_up > Time::seconds(kLongestStartUp_s)) {
        return fail("serving.recovery",
                    fmt::format("an instance would take {:.0f} days to start up",
                                start_up.seconds() / 86'400),
                    "a shorter start_up, or a larger weight_loading");
    }
    return {};
}

Result<ServedFaults> served_faults(const Scenario& scenario,
                                   const ServingSpec& spec,
                                   Time until,
                                   const Fabric* fabric) {
    Translator translator(scenario, spec, fabric);
    std::vector<FaultProcess> processes;
    for (const FaultProcess& process : scenario.faults.processes) {
        if (why_left_out(FaultUser::serving, form_of(process), process.kind).empty()) {
            processes.push_back(process);
        }
    }
    const ClusterShape& shape = scenario.campaign.shape;
    const WallTime horizon = WallTime::of(until);
    const FaultWeather weather = fault_weather(scenario.faults, shape, horizon);
    constexpr double kMostFaults = 1e6;
    double expected = 0;
    for (const FaultProcess& process : processes) {
        expected += expected_faults(process, shape, horizon);
    }
    if (expected > kMostFaults) {
        return fail("faults",
                    fmt::format("{:.0f} faults would come while the load is served", expected),
                    "a larger mtbf, or a shorter load");
    }
    for (const ServingPoolSpec& pool : spec.pools) {
        const auto good = check_start_up(
            start_up_of(spec, pool, scenario.model, scenario.cluster.gpus_per_server()));
        if (!good) {
            return tl::unexpected(good.error());
        }
    }
    for (const FaultEvent& event : make_schedule(processes, weather, shape, horizon, spec.seed)) {
        translator.add(event);
    }
    return translator.finish();
}

void report_faults(const ServedFaults& faults,
                   const ServingResult& served,
                   std::size_t instances,
                   ServingAnswer& answer) {
    double down_s = 0;
    for (const InstanceOutage& outage : faults.instances.outages) {
        down_s += std::max(0.0, (std::min(outage.end, served.end) - outage.begin).seconds());
    }
    if (served.end > Time{}) {
        answer.availability = 1 - down_s / (served.end.seconds() * static_cast<double>(instances));
    }
    for (const ServedFault& fault : faults.faults) {
        if (fault.at >= served.end) {
            break;
        }
        ServingAnswer::Fault& shown = answer.faults.emplace_back(
            ServingAnswer::Fault{.at = fault.at,
                                 .what = fault.what,
                                 .instances = std::ssize(fault.instances),
                                 .factor = fault.factor});
        if (fault.end != Time::max()) {
            shown.back = fault.end;
        }
        for (const std::size_t number : fault.outages) {
            const InstanceOutage& outage = faults.instances.outages[number];
            shown.noticed = std::max(shown.noticed.value_or(Time{}), outage.noticed);
            shown.back = std::max(shown.back.value_or(Time{}), outage.end);
            shown.moved_requests += served.outages[number].moved_requests;
            shown.lost_tokens += served.outages[number].lost_tokens;
        }
    }
}

}  // namespace orrery
