// SPDX-License-Identifier: Apache-2.0
#include "engine/world.h"

#include <utility>

#include "engine/check.h"
#include "engine/deadlock.h"
#include "engine/execution.h"
#include "engine/hang.h"
#include "engine/verifier.h"

namespace orrery {

namespace {

void check_input(const SimulationInput& input) {
    ORRERY_CHECK(input.program != nullptr && input.network != nullptr);
    ORRERY_CHECK(input.runs.empty() || input.runs.size() == input.program->parties.size());
    ORRERY_CHECK(!input.devices.empty());
    ORRERY_CHECK(input.device_class.empty() ||
                 input.device_class.size() == input.program->num_ranks());
    for (const std::uint16_t device : input.device_class) {
        ORRERY_CHECK(device < input.devices.size());
    }
    for (const DeviceChange& change : input.events.devices) {
        ORRERY_CHECK(change.device < input.devices.size());
        ORRERY_CHECK(change.becomes == kLostDevice || change.becomes < input.devices.size());
    }
    for (const DeviceTimings& device : input.devices) {
        ORRERY_CHECK(device.kernels.size() >= input.program->kernels.size());
    }
}

}  // namespace

Result<std::unique_ptr<World>> World::make(const SimulationInput& input, SharedRates& rates) {
    check_input(input);
    const Errors errors = verify(*input.program);
    if (!errors.empty()) {
        return unexpected(errors.front());
    }
    return std::unique_ptr<World>{new World(input, rates)};
}

World::World(const SimulationInput& input, SharedRates& rates)
    : plan_(std::make_unique<const ExecutionPlan>(input, rates)),
      execution_(std::make_unique<Execution>(*plan_, rates)) {}

World::~World() = default;

void World::start(std::uint32_t party, Time at, std::uint32_t steps) {
    execution_->runs.start(party, at, steps);
}

bool World::start_at_barrier(std::uint32_t steps) {
    auto barriers = find_step_barrier(plan_->input, plan_->tapes, plan_->transfers);
    if (barriers) {
        execution_->runs.start_at_barrier(0, steps, std::move(*barriers));
    }
    return barriers.has_value();
}

std::optional<RunEnd> World::run_to_next_end() {
    if (stuck_ || !execution_->run_to_next_end()) {
        stuck_ = true;
        return std::nullopt;
    }
    return execution_->runs.any_ended() ? std::optional{execution_->runs.take_ended()}
                                        : std::nullopt;
}

Time World::now() const {
    return execution_->clock.instant;
}

std::optional<Hang> World::hang() const {
    return describe_hang(*execution_);
}

Error World::deadlock() const {
    return describe_deadlock(*execution_);
}

World::Totals World::take_totals() {
    if (!stuck_) {
        execution_->make_results();
    }
    Totals totals;
    totals.busy_sum = execution_->log.busy;
    for (const RankState& rank : execution_->state.ranks) {
        totals.rank_compute.push_back(rank.kernel_time);
    }
    totals.trace = execution_->log.take_trace();
    totals.events = execution_->clock.num_events;
    return totals;
}

}  // namespace orrery
