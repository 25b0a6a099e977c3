// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/campaign/fault_classes.h"

#include <fmt/format.h>

#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/format/specs/cluster_shape.h"
#include "scenarios/format/specs/fault_use.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {
namespace {

// Merges the processes of one fault's cycles into one class.
struct Times {
    std::uint32_t count = 1;
    double expected = 0;
};

std::string when_of(const FaultProcess& process, const Times& times, WallTime span) {
    const std::string more =
        times.count > 1 ? fmt::format(", {} times", times.count) : std::string{};
    switch (form_of(process)) {
        case FaultForm::trace:
            return "of a trace";
        case FaultForm::at_step:
            return fmt::format("after step {}", process.once_step) + more;
        case FaultForm::at_time:
            return "after " + to_short_text(*process.once) + more;
        case FaultForm::standing:
            return (process.probability < 1
                        ? fmt::format("from the start on, p {:g}", process.probability)
                        : "from the start on") +
                   more;
        default:
            break;
    }
    return times.expected > 0
               ? "one every " + to_short_text(WallTime::seconds(span.seconds() / times.expected))
               : "never";
}

bool same_class(const FaultProcess& a, const FaultProcess& b) {
    return a.once && b.once && a.name == b.name && a.kind == b.kind && a.at == b.at;
}

FaultClass fault_class(const FaultProcess& process, const ClusterShape& shape) {
    const FaultForm form = form_of(process);
    const bool traced = form == FaultForm::trace;
    const std::uint32_t number = traced ? shape.nodes : population(process, shape);
    const bool one = !traced && process.at.index != kEvery;
    const bool ages = process.interval.kind == DistributionKind::weibull ||
                      process.interval.kind == DistributionKind::lognormal;
    return {.name = process.name,
            .kind = process.kind,
            .form = form,
            .components = one ? to_text(shape, process.at)
                              : count_of(traced ? Scope::node : process.at.scope, number),
            .population = number,
            .when = {},
            .stops = info(process.kind).effect == FaultEffect::stop,
            .from_new = form == FaultForm::process && ages};
}

}  // namespace

std::vector<FaultClass> fault_classes(const Scenario& scenario) {
    const ClusterShape shape = cluster_shape(scenario.cluster, scenario.campaign);
    const WallTime span = scenario.campaign.length;
    const std::vector<FaultProcess>& processes = scenario.faults.processes;
    std::vector<FaultClass> classes;
    for (std::size_t i = 0; i < processes.size();) {
        Times times{.count = 0};
        std::size_t next = i;
        for (; next < processes.size() && (next == i || same_class(processes[i], processes[next]));
             ++next) {
            times.expected += expected_faults(processes[next], shape, span);
            ++times.count;
        }
        classes.push_back(fault_class(processes[i], shape));
        classes.back().when = when_of(processes[i], times, span);
        classes.back().expected = times.expected;
        i = next;
    }
    return classes;
}

}  // namespace orrery
