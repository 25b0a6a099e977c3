// SPDX-License-Identifier: Apache-2.0
// Step times without contention: they tell by how much a changed column moves a step. Some rows of
// a table differ only in their number of replicas, their software, or a column that another row
// changes. Their steps are the same here, and each is simulated once.
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/search/cluster_costs.h"

namespace orrery {

// What decides a step without contention of a row of measured steps. The rest of a scenario is as
// scenario_of() leaves it, or has no effect: names, software.
struct PlainStep {
    ClusterSpec cluster;  // of one kind of nodes
    DeviceSpec device;
    Transformer model;
    ParallelPlan plan;
    bool fits = true;  // else it is also simulated if it does not fit into memory

    bool operator==(const PlainStep&) const = default;
};

// Threads may share it.
class PlainSteps {
public:
    explicit PlainSteps(CostTables tables) : tables_(std::move(tables)) {}

    // The step of the scenario with at most eight replicas, sprayed packets and balanced experts,
    // in seconds. Nothing if it has to fit into memory and does not, or cannot be simulated.
    std::optional<double> of(const Scenario& scenario, bool fits);

    // The same of each scenario that there is. Steps that another thread has begun come last: rows
    // of like work are next to each other, and their threads share the steps that they have in
    // common.
    std::vector<std::optional<double>> of_each(
        const std::vector<std::optional<Scenario>>& scenarios, bool fits);

    std::size_t distinct() const { return steps_.size(); }

private:
    struct Known {
        explicit Known(Scenario few, bool whether_fits);
        Scenario scenario;  // with few replicas
        PlainStep step;
        std::atomic<bool> begun = false;
        std::once_flag once{};
        std::optional<double> seconds{};
    };

    Known& find(Scenario scenario, bool fits);
    std::optional<double> seconds_of(Known& known);

    CostTables tables_;
    std::mutex mutex_;  // of the list, not of its entries
    std::list<Known> steps_;
};

}  // namespace orrery
