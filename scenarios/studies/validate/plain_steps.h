// SPDX-License-Identifier: Apache-2.0
// Step times without contention: they tell by how much a changed column moves a step. Some rows of
// a table differ only in their number of replicas, their software, or a column that another row
// changes. Their steps are the same here, and each is simulated once.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

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

    bool operator==(const PlainStep& other) const;
};

// Threads may share it.
class PlainSteps {
public:
    explicit PlainSteps(CostTables tables) : tables_(std::move(tables)) {}

    // The step of the scenario with at most eight replicas and with sprayed packets, in seconds.
    // Nothing if it has to fit into memory and does not, or cannot be simulated.
    std::optional<double> of(Scenario scenario, bool fits);

    std::size_t distinct() const { return steps_.size(); }

private:
    struct Known {
        explicit Known(PlainStep given) : step(std::move(given)) {}
        PlainStep step;
        std::once_flag once{};
        std::optional<double> seconds{};
    };

    CostTables tables_;
    std::mutex mutex_;  // of the list, not of its entries
    std::list<Known> steps_;
};

}  // namespace orrery
