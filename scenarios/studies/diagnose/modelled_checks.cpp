// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/diagnose/modelled_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "engine/base/statistics.h"
#include "engine/world/rate_alone.h"
#include "network/nccl_network.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/simulate/step_disturbances.h"
#include "scenarios/studies/simulate/step_faults.h"

namespace orrery {
namespace {

constexpr double kFar = 0.03;              // distance from the median; the model has no noise
constexpr Bytes kBytes = Bytes{64 << 20};  // bytes of a collective
constexpr double kLost = -1;
const Time kKernel = Time::picoseconds(1'000'000'000);  // time on a healthy GPU

double answered_median(std::vector<double> values) {
    std::erase(values, kLost);
    return nearest_rank_of(std::move(values), 50);
}

class Checks {
public:
    // The checks test every GPU of the cluster, used by the job or not: rank r is GPU r.
    explicit Checks(const Scenario& scenario) : scenario_(scenario) {
        scenario_.cluster.gpu_of_rank.clear();
    }

    Result<ModelledChecks> run() {
        if (Result<void> ready = prepare(); !ready) {
            return unexpected<Error>(ready.error());
        }
        kernels();
        if (domains_ > 1) {
            loopback();
            rails();
        }
        if (scenario_.cluster.node.gpus_per_node > 1) {
            inside_domains();
        }
        if (domains_ > 1) {
            neighbours();
        }
        name_suspects();
        for (FaultClass& one : fault_classes(scenario_)) {
            if (one.form == FaultForm::standing &&
                why_left_out(FaultUser::step, one.form, one.kind).empty()) {
                out_.faults.push_back(std::move(one));
            }
        }
        return std::move(out_);
    }

private:
    Result<void> prepare() {
        domains_ = std::max(1U, scenario_.cluster.num_nodes);
        nodes_ = std::max(1U, scenario_.cluster.num_servers());
        per_node_ = std::max(1U, scenario_.cluster.gpus_per_server());
        nics_ = std::max(1U, scenario_.cluster.nics_per_server());
        std::vector<FaultEvent> standing;
        lost_.resize(nodes_ * per_node_);
        for (const FaultEvent& fault : step_faults(scenario_)) {
            if (info(fault.kind).effect != FaultEffect::stop) {
                standing.push_back(fault);
            } else if (fault.kind == FaultKind::nic_down || fault.kind == FaultKind::switch_down) {
                cut_adapters(fault);
            } else if (fault.at.scope == Scope::gpu) {
                lost_[fault.at.index] = true;
            } else {
                for (std::uint32_t g = fault.nodes.first * per_node_;
                     g < (fault.nodes.first + fault.nodes.count) * per_node_;
                     ++g) {
                    lost_[g] = true;
                }
            }
        }
        Result<Fabric> fabric = build_fabric(scenario_.cluster);
        if (!fabric) {
            return unexpected<Error>(fabric.error());
        }
        if (Result<void> slowed = slow_links(standing, scenario_, *fabric); !slowed) {
            return slowed;
        }
        for (const NicPort& port : cut_) {
            for (const LinkId link : {fabric->nic_out(port), fabric->nic_in(port)}) {
                fabric->set_capacity(link, Bandwidth{});
            }
        }
        KernelTime kernel;
        kernel.duration = kKernel;
        DeviceTimings timings{.kernels = {kernel}, .restart = {}, .num_sms = 0};
        classes_ = device_classes(standing, scenario_, std::span{&timings, 1}, nodes_ * per_node_);
        const Result<StepEvents> events = step_events(scenario_, *fabric, Time{}, classes_);
        if (!events) {
            return unexpected<Error>(events.error());
        }
        for (const CapacityChange& change : events->capacities) {
            const Bandwidth now = fabric->links()[index(change.link)].capacity;
            fabric->set_capacity(change.link, std::min(now, change.capacity));
        }
        for (const LinkOutage& outage : events->outages.list) {
            for (const LinkId link : outage.links) {
                fabric->set_capacity(link, Bandwidth{});
            }
        }
        changes_ = events->devices;
        network_ = std::make_unique<NcclNetwork>(std::move(*fabric), nccl_options(scenario_));
        return {};
    }

    // The fault disconnects its NIC, or the NICs on its switch. Their GPUs continue.
    void cut_adapters(const FaultEvent& fault) {
        const std::uint32_t rails = std::max(1U, scenario_.campaign.shape.leaves_per_set);
        for (std::uint32_t n = fault.nodes.first * nics_;
             n < (fault.nodes.first + fault.nodes.count) * nics_;
             ++n) {
            const bool own = fault.at.scope == Scope::nic ? n == fault.at.index
                             : fault.at.scope == Scope::leaf
                                 ? n % nics_ % rails == fault.at.index % rails
                                 : true;
            if (own) {
                cut_.push_back(port_of(n));
            }
        }
    }

    const Fabric& fabric() const { return network_->fabric(); }
    // Port of a NIC by its number in the cluster.
    NicPort port_of(std::uint32_t nic) const {
        const std::uint32_t of_domain = std::max(1U, scenario_.cluster.fabric.nics_per_node);
        return {.node = nic / of_domain, .nic = nic % of_domain};
    }
    std::string gpu_name(std::size_t g) const {
        return fmt::format("node {} gpu {}", g / per_node_, g % per_node_);
    }
    std::string nic_name(std::size_t n) const {
        return fmt::format("node {} nic {}", n / nics_, n % nics_);
    }
    bool node_lost(std::size_t node) const {
        return std::all_of(lost_.begin() + static_cast<std::ptrdiff_t>(node * per_node_),
                           lost_.begin() + static_cast<std::ptrdiff_t>((node + 1) * per_node_),
                           [](bool lost) { return lost; });
    }

    // Adds one test over all units. A failed unit has the value kLost. `bad` is called for values
    // far from the median.
    void add(const std::string& test,
             const std::string& unit,
             bool more_is_better,
             const std::vector<double>& values,
             const std::function<std::string(std::size_t)>& name,
             const std::function<void(std::size_t, double)>& bad) {
        const double middle = answered_median(values);
        ModelledCheck check{.test = test,
                            .unit = unit,
                            .median = middle,
                            .worst = middle,
                            .worst_at = {},
                            .failed = 0,
                            .count = static_cast<std::uint32_t>(values.size())};
        for (std::size_t i = 0; i < values.size(); ++i) {
            const bool failed = values[i] == kLost;
            check.failed += failed ? 1 : 0;
            const double share = failed           ? 0
                                 : more_is_better ? values[i] / middle
                                                  : middle / values[i];
            const double worst = more_is_better ? check.worst / middle : middle / check.worst;
            if (!failed && share < worst) {
                check.worst = values[i];
                check.worst_at = name(i);
            }
            if (failed || share < 1 - kFar) {
                bad(i, share);
            }
        }
        out_.tests.push_back(std::move(check));
    }

    bool domain_lost(std::uint32_t domain) const {
        const std::uint32_t trays = nodes_ / domains_;
        bool lost = true;
        for (std::uint32_t node = domain * trays; node < (domain + 1) * trays; ++node) {
            lost = lost && node_lost(node);
        }
        return lost;
    }
    std::string domain_name(std::size_t domain) const {
        return fmt::format("{} {}", nodes_ == domains_ ? "node" : "NVLink domain", domain);
    }

    bool same_on_node(const std::vector<double>& values, std::size_t node) const {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(node * per_node_);
        return per_node_ > 1 && std::all_of(first,
                                            first + static_cast<std::ptrdiff_t>(per_node_),
                                            [&](double value) { return value == *first; });
    }

    void kernels() {
        std::vector<double> times;
        for (std::size_t g = 0; g < lost_.size(); ++g) {
            const std::uint16_t own = classes_.of_rank.empty() ? 0 : classes_.of_rank[g];
            double time = classes_.devices[own].kernels[0].duration.seconds();
            for (const DeviceChange& change : changes_) {
                if (change.device == own && change.becomes == kLostDevice) {
                    lost_[g] = true;
                } else if (change.device == own) {
                    const Time then = classes_.devices[change.becomes].kernels[0].duration;
                    time = std::max(time, then.seconds());
                }
            }
            times.push_back(lost_[g] ? kLost : time);
        }
        add(
            "a kernel of 1 ms on every GPU",
            "s",
            false,
            times,
            [&](std::size_t g) { return gpu_name(g); },
            [&](std::size_t g, double share) {
                const std::size_t node = g / per_node_;
                const bool all = share > 0 && same_on_node(times, node);
                if (all && g % per_node_ == 0) {
                    out_.suspects.push_back(
                        fmt::format("node {}: all its GPUs are {:.2f} times as slow as the median",
                                    node,
                                    1 / share));
                } else if (!all && !node_lost(node)) {
                    out_.suspects.push_back(
                        share == 0 ? gpu_name(g) + ": does not answer"
                                   : fmt::format("{}: {:.2f} times as slow as the median",
                                                 gpu_name(g),
                                                 1 / share));
                }
            });
        for (std::size_t node = 0; node < nodes_; ++node) {
            if (node_lost(node)) {
                out_.suspects.push_back(fmt::format("node {}: does not answer", node));
            }
        }
    }

    double rate(const std::vector<LinkId>& links) const {
        double least = 1e18;
        for (const LinkId link : links) {
            const Bandwidth capacity = fabric().links()[index(link)].capacity;
            least = std::min(least, static_cast<double>(capacity.bits_per_second()) / 8e9);
        }
        return least > 0 ? least : kLost;
    }

    void count_nic(std::size_t nic, double share) {
        ++bad_tests_[nic];
        worst_share_[nic] = std::min(worst_share_.try_emplace(nic, 1.0).first->second, share);
    }

    void loopback() {
        std::vector<double> rates;
        for (std::uint32_t n = 0; n < nodes_ * nics_; ++n) {
            const NicPort port = port_of(n);
            rates.push_back(node_lost(n / nics_)
                                ? kLost
                                : rate({fabric().nic_out(port), fabric().nic_in(port)}));
        }
        add(
            "loopback through every NIC and its cable",
            "GB/s",
            true,
            rates,
            [&](std::size_t n) { return nic_name(n); },
            [&](std::size_t n, double share) { count_nic(n, share); });
    }

    void rails() {
        std::vector<double> rates;
        for (std::uint32_t n = 0; n < nodes_ * nics_; ++n) {
            const std::uint32_t next = (n + nics_) % (nodes_ * nics_);
            Path path;
            const bool lost = node_lost(n / nics_) || node_lost(next / nics_);
            const bool found = !lost && fabric().route_nics(port_of(n), port_of(next), 0, path);
            rates.push_back(found ? rate(path.links) : kLost);
        }
        add(
            "NIC to NIC of the next node, same rail",
            "GB/s",
            true,
            rates,
            [&](std::size_t n) { return fmt::format("{} to the next", nic_name(n)); },
            [&](std::size_t n, double share) {
                count_nic(n, share);
                count_nic((n + nics_) % (nodes_ * nics_), share);
            });
    }

    // Time on idle links: latency, then the bytes at the slowest link's rate.
    double time_of(CollectiveKind kind, const std::vector<RankId>& ranks) const {
        const TransferPlan plan = network_->plan(
            CollectiveCall{.kind = kind, .bytes = kBytes, .wire = Dtype::bf16}, ranks);
        const Time time = time_without_contention(plan, fabric().links());
        return time == Time::max() ? kLost : time.seconds();
    }

    std::vector<RankId> ranks_of(std::uint32_t domain) const {
        std::vector<RankId> ranks;
        for (std::uint32_t r = 0; r < fabric().num_ranks(); ++r) {
            if (fabric().node_of(to_id<RankId>(r)) == domain) {
                ranks.push_back(to_id<RankId>(r));
            }
        }
        return ranks;
    }

    void inside_domains() {
        std::vector<double> times;
        for (std::uint32_t domain = 0; domain < domains_; ++domain) {
            times.push_back(domain_lost(domain)
                                ? kLost
                                : time_of(CollectiveKind::all_to_all, ranks_of(domain)));
        }
        add(
            fmt::format("all-to-all inside every {}, 64 MiB",
                        nodes_ == domains_ ? "node" : "NVLink domain"),
            "s",
            false,
            times,
            [&](std::size_t domain) { return domain_name(domain); },
            [&](std::size_t domain, double share) {
                if (!domain_lost(static_cast<std::uint32_t>(domain))) {
                    out_.suspects.push_back(
                        fmt::format("{}: its all-to-all has {:.2f} of the median's speed",
                                    domain_name(domain),
                                    share));
                }
            });
    }

    void neighbours() {
        std::vector<double> times;
        for (std::uint32_t domain = 0; domain < domains_; ++domain) {
            const std::uint32_t next = (domain + 1) % domains_;
            std::vector<RankId> both = ranks_of(domain);
            const std::vector<RankId> theirs = ranks_of(next);
            both.insert(both.end(), theirs.begin(), theirs.end());
            std::sort(both.begin(), both.end());
            times.push_back(domain_lost(domain) || domain_lost(next)
                                ? kLost
                                : time_of(CollectiveKind::all_reduce, both));
        }
        add(
            fmt::format("all-reduce with the next {}, 64 MiB",
                        nodes_ == domains_ ? "node" : "NVLink domain"),
            "s",
            false,
            times,
            [&](std::size_t domain) { return domain_name(domain) + " and the next"; },
            [](std::size_t, double) {});
    }

    // Suspects are bad in their loopback and in both of their pairs. The other side of a bad pair
    // is no suspect.
    void name_suspects() {
        for (const auto& [nic, bad] : bad_tests_) {
            if (bad >= 3 && !node_lost(nic / nics_)) {
                out_.suspects.push_back(
                    fmt::format("{}: {:.2f} of the median bandwidth, in each of its 3 tests",
                                nic_name(nic),
                                worst_share_[nic]));
            }
        }
    }

    Scenario scenario_;
    std::uint32_t domains_ = 1;   // of NVLink
    std::uint32_t nodes_ = 1;     // servers: the NVLink domains, or their trays
    std::uint32_t per_node_ = 1;  // GPUs per server
    std::uint32_t nics_ = 1;      // NICs per server
    std::vector<bool> lost_;      // by GPU
    std::vector<NicPort> cut_;
    DeviceClasses classes_;
    std::vector<DeviceChange> changes_;
    std::unique_ptr<NcclNetwork> network_;
    std::map<std::size_t, int> bad_tests_;  // by NIC
    std::map<std::size_t, double> worst_share_;
    ModelledChecks out_;
};

}  // namespace

Result<ModelledChecks> modelled_checks(const Scenario& scenario) {
    if (const Result<void> one = check_one_kind(scenario, "orrery diagnose"); !one) {
        return unexpected<Error>(one.error());
    }
    return Checks{scenario}.run();
}

}  // namespace orrery
