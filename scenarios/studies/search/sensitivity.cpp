// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/sensitivity.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/parallel.h"
#include "scenarios/studies/search/plan_goodput.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

void scale(Bandwidth& value, double factor) {
    value = Bandwidth::bits_per_second(static_cast<std::int64_t>(
        std::llround(static_cast<double>(value.bits_per_second()) * factor)));
}

void scale(FlopRate& value, double factor) {
    value = FlopRate::per_second(value.per_second() * factor);
}

// A time is better when it is shorter.
void scale(Time& value, double factor) {
    value = Time::picoseconds(
        static_cast<std::int64_t>(std::llround(static_cast<double>(value.picoseconds()) / factor)));
}

struct Figure {
    const char* name;
    bool (*has)(const Scenario&);
    void (*change)(Scenario&, double);  // better for factors above 1
};

bool always(const Scenario& /*scenario*/) {
    return true;
}
bool several_nodes(const Scenario& s) {
    return s.cluster.num_nodes > 1;
}
bool has_nvlink(const Scenario& s) {
    return s.cluster.node.gpus_per_node > 1 &&
           s.cluster.node.nvlink_bandwidth.bits_per_second() > 0;
}

// Members of the devices, or of the nodes, of all kinds alike.
template <auto... kMembers>
void scale_devices(Scenario& s, double factor) {
    const auto change = [factor](DeviceSpec& device) { (scale(device.*kMembers, factor), ...); };
    change(s.device);
    std::ranges::for_each(s.devices, change);
}
template <auto kMember>
void scale_nodes(Scenario& s, double factor) {
    scale(s.cluster.node.*kMember, factor);
    for (NodeKind& kind : s.cluster.kinds) {
        scale(kind.node.*kMember, factor);
    }
}

const std::array kFigures{
    Figure{"peak of the arithmetic",
           always,
           scale_devices<&DeviceSpec::peak_fp32, &DeviceSpec::peak_fp16, &DeviceSpec::peak_fp8>},
    Figure{"memory bandwidth", always, scale_devices<&DeviceSpec::memory_bandwidth>},
    Figure{"latency of a kernel", always, scale_devices<&DeviceSpec::kernel_latency>},
    Figure{"launch of a kernel",
           always,
           scale_devices<&DeviceSpec::launch_cost, &DeviceSpec::graph_launch_cost>},
    Figure{"NVLink bandwidth", has_nvlink, scale_nodes<&NodeSpec::nvlink_bandwidth>},
    Figure{"NVLink latency", has_nvlink, scale_nodes<&NodeSpec::nvlink_latency>},
    Figure{"PCIe bandwidth", always, scale_nodes<&NodeSpec::pcie_bandwidth>},
    // Cables keep their ratios, so that the switches keep their ports.
    Figure{"bandwidth of the network",
           several_nodes,
           [](Scenario& s, double f) {
               scale(s.cluster.fabric.nic_bandwidth, f);
               scale(s.cluster.fabric.uplink_bandwidth, f);
               scale(s.cluster.fabric.core_bandwidth, f);
               scale(s.cluster.ethernet.nic_bandwidth, f);
               for (NodeKind& kind : s.cluster.kinds) {
                   scale(kind.nic_bandwidth, f);
               }
           }},
    Figure{"latency of the network",
           several_nodes,
           [](Scenario& s, double f) {
               scale(s.cluster.fabric.nic_latency, f);
               scale(s.cluster.fabric.link_latency, f);
               scale(s.cluster.ethernet.nic_latency, f);
               scale(s.cluster.ethernet.link_latency, f);
           }},
};

class SensitivityStudy {
public:
    SensitivityStudy(const Scenario& scenario,
                     const SearchSpec& spec,
                     const SearchResult& result,
                     const SensitivityOptions& options)
        : scenario_(scenario), spec_(spec), result_(result), options_(options) {}

    Result<std::vector<SensitiveFigure>> figures() {
        std::vector<SensitiveFigure> all;
        for (std::size_t i = 0; i < kFigures.size(); ++i) {
            if (options_.stop && options_.stop()) {
                break;
            }
            if (options_.progress) {
                options_.progress(static_cast<double>(i) / static_cast<double>(kFigures.size()));
            }
            const Figure& figure = kFigures[i];
            if (!figure.has(scenario_of(result_.best.front()))) {
                continue;
            }
            SensitiveFigure found{.figure = figure.name};
            const auto good = times(figure, options_.factor);
            const auto bad = good ? times(figure, 1 / options_.factor) : good;
            if (!bad) {
                return tl::unexpected(bad.error());
            }
            const double now = result_.best.front().answer.iteration.seconds();
            found.better = good->front() / now - 1;
            found.worse = bad->front() / now - 1;
            found.winner_if_better = winner(*good);
            found.winner_if_worse = winner(*bad);
            all.push_back(std::move(found));
        }
        std::ranges::stable_sort(all, std::greater{}, [](const SensitiveFigure& f) {
            return std::max(std::abs(f.better), std::abs(f.worse));
        });
        return all;
    }

private:
    Scenario scenario_of(const FoundPlan& found) const {
        Scenario scenario = with_faults_of_step(scenario_, spec_.objective);
        scenario.cluster = spec_.clusters[found.cluster].cluster;
        scenario.device = spec_.clusters[found.cluster].device;
        scenario.devices = spec_.clusters[found.cluster].devices;
        scenario.plan = found.plan;
        return scenario;
    }

    // Step times of the best plans.
    Result<std::vector<double>> times(const Figure& figure, double factor) const {
        const std::size_t plans = std::min(options_.plans, result_.best.size());
        std::vector<Result<Answer>> answers(plans);
        const bool one_engine = scenario_.network == NetworkFidelity::simgrid;
        for_each_index(plans, one_engine ? 1 : options_.jobs, [&](std::size_t i) {
            Scenario scenario = scenario_of(result_.best[i]);
            figure.change(scenario, factor);
            answers[i] = simulate_scenario(scenario, {.step_table = options_.step_table});
        });
        std::vector<double> times;
        for (const Result<Answer>& answer : answers) {
            if (!answer) {
                return tl::unexpected(answer.error());
            }
            times.push_back(answer->iteration.seconds());
        }
        return times;
    }

    // The plan with the least objective, if that changes in proportion to the step's time.
    std::size_t winner(const std::vector<double>& times) const {
        std::size_t best = 0;
        const auto value = [&](std::size_t i) {
            const FoundPlan& plan = result_.best[i];
            return plan.objective * times[i] / plan.answer.iteration.seconds();
        };
        for (std::size_t i = 1; i < times.size(); ++i) {
            best = value(i) < value(best) ? i : best;
        }
        return best;
    }

    const Scenario& scenario_;
    const SearchSpec& spec_;
    const SearchResult& result_;
    const SensitivityOptions& options_;
};

}  // namespace

Result<std::vector<SensitiveFigure>> sensitivity(const Scenario& scenario,
                                                 const SearchSpec& spec,
                                                 const SearchResult& result,
                                                 const SensitivityOptions& options) {
    if (result.best.empty()) {
        return std::vector<SensitiveFigure>{};
    }
    return SensitivityStudy{scenario, spec, result, options}.figures();
}

}  // namespace orrery
