// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/diagnose/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/base/statistics.h"
#include "models/lowering/lowering.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

constexpr double kSlow = 1.05;  // times the median; MegaScale's slow hosts are at 1.10

// Names nodes whose ranks are all slow, and single slow ranks.
std::vector<std::string> slow_places(const HeatMap& map) {
    std::vector<std::string> slow;
    const std::size_t per_node = map.ranks_per_node;
    for (std::size_t first = 0; first < map.relative.size(); first += per_node) {
        const std::size_t end = std::min(first + per_node, map.relative.size());
        double least = map.relative[first];
        double sum = 0;
        for (std::size_t i = first; i < end; ++i) {
            least = std::min(least, map.relative[i]);
            sum += map.relative[i];
        }
        if (least > kSlow) {
            slow.push_back(fmt::format(
                "node {}: {:.2f} times its peers{}",
                first / per_node,
                sum / static_cast<double>(end - first),
                end - first > 1 ? fmt::format(", all {} devices", end - first) : std::string{}));
            continue;
        }
        for (std::size_t i = first; i < end; ++i) {
            if (map.relative[i] > kSlow) {
                slow.push_back(fmt::format("node {}, device {}: {:.2f} times its peers",
                                           first / per_node,
                                           i - first,
                                           map.relative[i]));
            }
        }
    }
    return slow;
}

std::vector<std::uint32_t> roles_of(const Program& program) {
    std::vector<std::uint32_t> roles;
    for (std::uint32_t rank = 0; rank < program.num_ranks(); ++rank) {
        roles.push_back(static_cast<std::uint32_t>(index(program.role_of(to_id<RankId>(rank)))));
    }
    return roles;
}

// Kernel time of a rank in a recorded step.
double kernels_s(const Program& program, std::uint32_t rank, const RecordedStep& step) {
    const Role& role = program.roles[index(program.role_of(to_id<RankId>(rank)))];
    std::int64_t ns = 0;
    for (const RecordedOp& op : step.ops) {
        const Op& of = program.segment_of(role.slots[op.slot]).ops[op.op];
        ns += of.kind() == OpKind::kernel ? op.end_ns - op.begin_ns : 0;
    }
    return static_cast<double>(ns) * 1e-9;
}

}  // namespace

HeatMap heat_map(std::string title,
                 const std::vector<double>& times_s,
                 const std::vector<std::uint32_t>& role,
                 const std::vector<std::uint32_t>& place,
                 std::uint32_t ranks_per_node) {
    std::map<std::uint32_t, std::vector<double>> of_role;
    for (std::size_t r = 0; r < times_s.size(); ++r) {
        of_role[role[r]].push_back(times_s[r]);
    }
    std::map<std::uint32_t, double> medians;
    for (const auto& [one, times] : of_role) {
        medians[one] = nearest_rank_of(times, 50);
    }
    HeatMap map{.title = std::move(title),
                .ranks_per_node = std::max(1U, ranks_per_node),
                .times_s = std::vector<double>(times_s.size()),
                .relative = std::vector<double>(times_s.size(), 1)};
    for (std::size_t r = 0; r < times_s.size(); ++r) {
        const std::size_t at = place.empty() ? r : place[r];
        if (at >= map.times_s.size()) {  // places may have gaps
            map.times_s.resize(at + 1);
            map.relative.resize(at + 1, 1);
        }
        map.times_s[at] = times_s[r];
        map.relative[at] = medians[role[r]] > 0 ? times_s[r] / medians[role[r]] : 1;
    }
    map.slow = slow_places(map);
    return map;
}

Result<HeatMap> heat_map_of(const Scenario& scenario) {
    std::vector<double> times;
    SimulationOptions options;
    options.look = [&](const SimulationResult& result) {
        for (const std::uint32_t one : result.fold_class_of_rank) {
            times.push_back(result.rank_compute[one].seconds());
        }
    };
    const Result<Answer> answer = simulate_scenario(scenario, options);
    if (!answer) {
        return unexpected<Error>(answer.error());
    }
    if (answer->hang) {
        return fail("faults", "the step never ends: there are no times", "faults that slow down");
    }
    const Program program = lower(scenario.model, scenario.plan);
    return heat_map(fmt::format("{}, simulated", scenario.name),
                    times,
                    roles_of(program),
                    scenario.cluster.gpu_of_rank,
                    scenario.cluster.node.gpus_per_node);
}

HeatMap heat_map_of(const RecordedRun& run) {
    std::vector<double> times;
    for (std::uint32_t rank = 0; rank < run.ranks.size(); ++rank) {
        std::vector<double> steps;
        for (const RecordedStep& step : run.ranks[rank].steps) {
            steps.push_back(kernels_s(run.program, rank, step));
        }
        // The mean of the best half of the steps: other processes disturb a machine at times, but a
        // slow host is always slow.
        std::sort(steps.begin(), steps.end());
        steps.resize((steps.size() + 1) / 2);
        double sum = 0;
        for (const double step : steps) {
            sum += step;
        }
        times.push_back(steps.empty() ? 0 : sum / static_cast<double>(steps.size()));
    }
    return heat_map(fmt::format("{}, recorded on {}", run.scenario.name, run.description.machine),
                    times,
                    roles_of(run.program),
                    run.scenario.cluster.gpu_of_rank,
                    run.scenario.cluster.node.gpus_per_node);
}

}  // namespace orrery
